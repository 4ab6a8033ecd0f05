//! Startup: the output of the program, refused data, and exit statuses.

use std::process::Stdio;

use crate::support::dataset::{DataDir, reviews_json};
use crate::support::program::{LISTEN, command, run};
use crate::support::{Program, get};

const DATE: &str = "2026-01-01T00:00:00Z";

#[test]
fn without_arguments_the_directory_named_data_or_a_sample_is_served() {
    let directory = DataDir::empty();
    let mut served = "reviewd serves a sample";
    for _ in 0..2 {
        let mut command = command();
        command.current_dir(directory.path()).stdout(Stdio::piped());
        command.env("REVIEWD_LISTEN", "127.0.0.1:0");
        command.env("REVIEWD_LOG_FORMAT", "json");
        let program = Program::spawn(command);
        let address = program.address();
        assert_eq!(get(address, "/healthz", &[]).status, 200);
        program.signal("TERM");
        let (status, printed) = program.wait();
        assert_eq!(status, Some(0));
        assert!(printed.starts_with(served), "{printed}");
        let example = format!("\n  curl 'http://{address}/");
        assert_eq!(printed.matches(&example).count(), 3, "{printed}");
        for path in ["/ ", "/developers ", "/reviews.json "] {
            let line = format!("\n  http://{address}{path}");
            assert!(printed.contains(&line), "{path}: {printed}");
        }
        std::fs::create_dir_all(directory.path().join("data")).unwrap();
        directory.write("data/reviews.json", &reviews_json(2, DATE));
        served = "reviewd serves the reviews in `data`";
    }
}

#[test]
fn broken_data_are_65_with_every_problem_and_missing_data_are_66() {
    let data = DataDir::empty();
    let broken = reviews_json(4, DATE)
        .replace("\"rating\":1", "\"rating\":9")
        .replace("\"rating\":3", "\"rating\":7");
    let missing = ["there is no such file"; 2];
    let each = ["reviews[0].rating", "reviews[2].rating"];
    for (status, parts) in [(66, missing), (65, each)] {
        let path = data.path().to_str().unwrap();
        let said = run(&["serve", "--listen", "127.0.0.1:0", "--data", path]).with(status);
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        data.write("reviews.json", &broken);
    }
}

#[test]
fn the_process_disables_transparent_huge_pages_by_itself() {
    let mut command = command();
    command.arg("serve").args(LISTEN);
    command.env_remove("MIMALLOC_ALLOW_THP");
    assert_eq!(Program::spawn(command).status("THP_enabled"), "0");
}
