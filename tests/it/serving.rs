//! The server as a whole: it starts, answers on both protocols, and stops.

use crate::support::Server;

#[test]
fn a_started_server_answers_its_first_request() {
    let server = Server::start();
    let response = server.get("/reviews.json");
    assert_eq!(response.status, 200);
    assert!(!response.json()["reviews"].as_array().unwrap().is_empty());
    assert!(server.shutdown());
}

#[test]
fn one_connection_serves_many_requests_in_turn_and_pipelined() {
    let server = Server::start();
    let mut connection = server.connect();
    for _ in 0..3 {
        assert_eq!(connection.get("/healthz").status, 200);
    }
    let head = connection.head("GET", "/healthz", &[], 0);
    connection.write(head.repeat(50).as_bytes());
    for _ in 0..50 {
        assert_eq!(connection.response("GET").status, 200);
    }
}
