//! Memory of the real program during and after a fan-out of a large document.

use std::fs;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::authority;
use super::rig::{serve, subscribe};
use super::subscriber::{Received, Reply, Subscriber};
use crate::support::dataset::{DataDir, reviews_json};
use crate::support::{Program, send, wait_until};

const SUBSCRIBERS: usize = 30;

/// A document of some 4 MB.
fn document(day: u8) -> String {
    let long = format!("of this practice {}.", "x".repeat(8_000));
    reviews_json(500, &format!("2026-01-{day:02}T00:00:00Z")).replace("of this practice.", &long)
}

/// Returns the program's memory in MB: the most since the last call, and now.
fn memory(program: &Program) -> [u64; 2] {
    let file = |name: &str| format!("/proc/{}/{name}", program.id());
    let status = fs::read_to_string(file("status")).unwrap();
    let read = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<u64>().unwrap() / 1024
    };
    let found = ["VmHWM:", "VmRSS:"].map(read);
    fs::write(file("clear_refs"), "5").unwrap();
    found
}

/// A document of 4 MB for 30 subscribers is in memory once, not thirty times (120 MB), and afterwards what the fan-out used is
/// given back.
#[test]
fn a_fan_out_reads_a_large_document_once_and_keeps_no_memory() {
    let data = DataDir::empty();
    data.write("reviews.json", &document(1));
    let state = tempfile::tempdir().unwrap();
    let program = serve(&data, ["--state", state.path().to_str().unwrap()], &[]);
    let names: Vec<String> = (1..=SUBSCRIBERS)
        .map(|last| format!("127.0.0.{last}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let config = authority::server_config(&names);
    let delivered = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&delivered);
    let behaviour = move |request: &Received| {
        if request.method == "POST" {
            assert!(request.body.len() > 4_000_000);
            counting.fetch_add(1, Ordering::SeqCst);
        }
        Reply::good(request)
    };
    let certificates = move |_: IpAddr| Some(Arc::clone(&config));
    let subscriber = Subscriber::everywhere(certificates, behaviour);
    // A change that is read while there is no subscriber, for comparison.
    let _start = memory(&program);
    data.write("reviews.json", &document(2));
    wait_until("it is served", || {
        let head = send(program.address(), "HEAD", "/reviews.json", &[], b"");
        head.field("last-modified").unwrap().contains("02 Jan 2026")
    });
    let [peak, before] = memory(&program);
    for name in names {
        subscribe(&program, &subscriber.callback_at(name, "/cb"));
    }
    data.write("reviews.json", &document(3));
    let all = || delivered.load(Ordering::SeqCst) == SUBSCRIBERS;
    wait_until("all have it", all);
    let [peak_of_fan_out, after] = memory(&program);
    println!("peak {peak} and {peak_of_fan_out} MB, resident {before} and {after} MB");
    assert!(peak_of_fan_out < peak + 50);
    wait_until("it is given back", || memory(&program)[1] < before + 60);
}
