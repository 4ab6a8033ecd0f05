//! The sample subscriber of `/developers`, against a hub that this test simulates.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::support::client::{Response, read_request};
use crate::support::{get, send, wait_until};

/// A running subscriber; dropping it kills it.
struct Sample(Child);

impl Drop for Sample {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// An address without a listener.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Accepts the subscriber's next request to the hub, answers it with 202, and returns its fields.
fn take_request(hub: &TcpListener) -> Vec<(String, String)> {
    let (mut stream, _) = hub.accept().unwrap();
    let request = read_request(&mut BufReader::new(&stream)).unwrap();
    let answer = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    stream.write_all(answer).unwrap();
    let pairs = url::form_urlencoded::parse(&request.body);
    pairs.into_owned().collect()
}

fn value<'f>(fields: &'f [(String, String)], name: &str) -> &'f str {
    &fields.iter().find(|(known, _)| known == name).unwrap().1
}

/// Sends a verification request to the subscriber, as a hub does.
fn verify(subscriber: SocketAddr, callback: &str, mode: &str, topic: &str) -> Response {
    let mut asked = url::Url::parse(callback).unwrap();
    asked
        .query_pairs_mut()
        .append_pair("hub.mode", mode)
        .append_pair("hub.topic", topic)
        .append_pair("hub.challenge", "echo")
        .append_pair("hub.lease_seconds", "600");
    get(subscriber, &asked[url::Position::BeforePath..], &[])
}

#[test]
fn the_sample_subscribes_until_the_hub_is_reached_and_again_after_a_denial() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("SKIPPED: there is no python3");
        return;
    }
    let hub = free_address();
    let subscriber = free_address();
    let source = include_str!("../../../src/pages/assets/subscriber.py");
    let child = Command::new("python3")
        .args([
            "-c",
            &source.replace("{base_url}", &format!("http://{hub}")),
        ])
        .env("CALLBACK", "https://you.example/reviews")
        .env("PORT", subscriber.port().to_string())
        .env("RETRY", "0.2")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut sample = Sample(child);
    // The sample prints this when it could not reach the hub.
    let mut said = [0; 27];
    let output = sample.0.stdout.as_mut().unwrap();
    output.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"the hub cannot be asked: <u");
    wait_until("it listens", || TcpStream::connect(subscriber).is_ok());
    let fields = take_request(&TcpListener::bind(hub).unwrap());
    let callback = value(&fields, "hub.callback");
    let topic = value(&fields, "hub.topic");
    let begin = "https://you.example/reviews?";
    assert!(callback.starts_with(begin), "{callback}");
    let confirmed = verify(subscriber, callback, "subscribe", topic);
    assert_eq!((confirmed.status, confirmed.text()), (200, "echo"));
    assert_eq!(confirmed.field("x-content-type-options"), Some("nosniff"));
    let without = "https://you.example/reviews";
    for (callback, mode, topic) in [
        (callback, "unsubscribe", topic),
        (callback, "subscribe", "https://other.example/feed"),
        (without, "subscribe", topic),
    ] {
        let refused = verify(subscriber, callback, mode, topic);
        assert_eq!(refused.status, 404, "{callback} {mode} {topic}");
    }
    assert_eq!(send(subscriber, "POST", "/reviews", &[], b"{}").status, 410);
    let listener = TcpListener::bind(hub).unwrap();
    let told = verify(subscriber, callback, "denied", topic);
    assert_eq!(told.status, 200);
    let fields = take_request(&listener);
    assert_eq!(value(&fields, "hub.mode"), "subscribe");
}
