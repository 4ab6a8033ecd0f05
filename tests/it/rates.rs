//! Rate limits per client, also behind proxies, and connection limits per address, tested from several local addresses.

use crate::support::CLIENT;
use crate::support::program::command;
use crate::support::{Connection, PING, Program, Response, Server};
use crate::support::{connect_from, get, post_mcp};

/// Asserts the status of a response, and the remaining quota of `scope` that it announces.
fn assert_left(response: &Response, status: u16, scope: &str, left: u32) {
    let limit = response.field("ratelimit").expect("the field");
    let start = format!("\"{scope}\";r={left};t=");
    assert_eq!(response.status, status);
    assert!(limit.starts_with(&start), "{limit}");
}

#[test]
fn the_fourth_of_three_allowed_reads_is_429_with_retry_after() {
    let server = Server::start_behind_proxy(|config| config.limits.rates.reads = 3);
    let mut connection = server.connect();
    for (path, status, left) in [
        ("/reviews.json", 200, 2),
        ("/nowhere", 404, 1),
        ("/feed.xml", 200, 0),
    ] {
        let response = connection.send("GET", path, &[CLIENT]);
        assert_left(&response, status, "reads", left);
        let policy = response.field("ratelimit-policy");
        assert_eq!(policy, Some("\"reads\";q=3;w=60"));
    }
    let response = connection.send("GET", "/reviews.json", &[CLIENT]);
    response.assert_error(429, "too_many_requests");
    let wait_s: u64 = response.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=20).contains(&wait_s), "{wait_s}");
    let limit = format!("\"reads\";r=0;t={wait_s}");
    assert_eq!(response.field("ratelimit"), Some(&*limit));
    // The connection stays open, and a HEAD gets the same status.
    let head = connection.send("HEAD", "/reviews.json", &[CLIENT]);
    assert_eq!(head.status, 429);
    // Probes, preflights and other parts of the service are not counted as reads.
    let preflight = [
        CLIENT,
        ("Origin", "https://elsewhere.example"),
        ("Access-Control-Request-Method", "GET"),
    ];
    for (method, path, fields, status) in [
        ("GET", "/healthz", &[CLIENT][..], 200),
        ("GET", "/readyz", &[CLIENT], 200),
        ("OPTIONS", "/feed.xml", &preflight, 204),
    ] {
        let response = connection.send(method, path, fields);
        let found = (response.status, response.field("ratelimit"));
        assert_eq!(found, (status, None), "{path}");
    }
    let options = connection.send("OPTIONS", "/feed.xml", &[CLIENT]);
    assert_eq!(options.status, 429);
    assert_eq!(server.post_mcp(&[CLIENT], PING).status, 200);
}

#[test]
fn an_mcp_message_over_the_limit_is_429_with_a_json_rpc_error_that_a_page_can_read() {
    let page = [("Origin", "http://localhost:3000"), CLIENT];
    let server = Server::start_behind_proxy(|config| config.limits.rates.mcp = 2);
    for _ in 0..3 {
        let preflight = [page[0], CLIENT, ("Access-Control-Request-Method", "POST")];
        let free = server.send("OPTIONS", "/mcp", &preflight);
        assert_eq!((free.status, free.field("ratelimit")), (204, None));
        // A page with a refused origin does not use up its visitor's quota.
        let foreign = server.post_mcp(&[("Origin", "https://elsewhere.example"), CLIENT], PING);
        assert_eq!((foreign.status, foreign.field("ratelimit")), (403, None));
    }
    for left in [1, 0] {
        assert_left(&server.post_mcp(&page, PING), 200, "mcp", left);
    }
    let refused = server.post_mcp(&page, PING);
    assert_left(&refused, 429, "mcp", 0);
    assert!(refused.field("retry-after").is_some());
    assert!(refused.json()["error"]["code"].is_i64());
    assert_eq!(refused.field("connection"), Some("close"));
    let origin = refused.field("access-control-allow-origin");
    assert_eq!(origin, Some(page[0].1));
    let exposed = "Mcp-Session-Id, RateLimit, RateLimit-Policy, Retry-After";
    let names = refused.field("access-control-expose-headers");
    assert_eq!(names, Some(exposed));
    // An OPTIONS request that is not a preflight counts, and an escaped path has the same limit.
    for (method, path) in [("OPTIONS", "/mcp"), ("POST", "/%6Dcp")] {
        assert_eq!(server.send(method, path, &[CLIENT]).status, 429);
    }
    assert_eq!(server.get("/reviews.json").status, 200);
}

/// Tells of each answer to a batch whether it is an error.
fn are_errors(response: &Response) -> Vec<bool> {
    let answers = response.json();
    let answers = answers.as_array().expect("an array").iter();
    answers.map(|answer| answer["error"].is_object()).collect()
}

#[test]
fn every_message_of_a_batch_counts_and_those_over_the_limit_are_refused_one_by_one() {
    let server = Server::start_behind_proxy(|config| config.limits.rates.mcp = 4);
    let client = [CLIENT];
    let batch = format!("[{PING},{PING},{PING}]");
    let first = server.post_mcp(&client, &batch);
    assert_left(&first, 200, "mcp", 1);
    let second = server.post_mcp(&client, &batch);
    assert_left(&second, 200, "mcp", 0);
    assert_eq!(are_errors(&first), [false; 3]);
    assert_eq!(are_errors(&second), [false, true, true]);
    let message = &second.json()[1]["error"]["message"];
    let message = message.as_str().expect("a message");
    assert!(message.contains("too many requests"), "{message}");
    assert_eq!(server.post_mcp(&client, &batch).status, 429);
}

#[test]
fn the_hub_counts_every_method_of_the_client_that_the_proxy_names() {
    let server = Server::start_behind_proxy(|config| config.limits.rates.hub = 2);
    let ask = |method: &str, client: &str| {
        let fields = [("X-Forwarded-For", client)];
        server.send(method, "/api/websub/hub", &fields).status
    };
    let one = "192.0.2.1";
    let other = "192.0.2.2";
    // A POST within the limit gets 415, as it has no form.
    assert_eq!([ask("GET", one), ask("POST", one)], [405, 415]);
    assert_eq!([ask("DELETE", one), ask("POST", one)], [429, 429]);
    assert_eq!(ask("POST", other), 415);
}

#[test]
fn loopback_and_a_proxy_that_names_no_client_have_no_rate() {
    let alone = Server::start_with(|config| config.limits.rates.reads = 1);
    let behind = Server::start_behind_proxy(|config| config.limits.rates.reads = 1);
    for server in [alone, behind] {
        for _ in 0..3 {
            let response = server.get("/reviews.json");
            assert_eq!(response.status, 200);
            assert_eq!(response.field("ratelimit"), None);
        }
    }
}

#[test]
fn the_hub_also_counts_by_ipv6_network() {
    let server = Server::start_behind_proxy(|config| config.limits.rates.hub = 2);
    let ask = |network: &str, number: usize| {
        let client = format!("{network}:{number}::1");
        let fields = [("X-Forwarded-For", client.as_str())];
        server.send("GET", "/api/websub/hub", &fields).status
    };
    // Eight requests of a /48 are permitted, whatever their /64.
    let statuses: Vec<u16> = (1..=9).map(|number| ask("2001:db8:7", number)).collect();
    assert_eq!(statuses[7..], [405, 429]);
    assert_eq!(ask("2001:db8:8", 1), 405);
}

#[test]
fn connections_are_limited_per_address() {
    let server = Server::start_with(|config| config.limits.connections_per_address = 2);
    let [mut first, mut second] = [server.kept(), server.kept()];
    let other = connect_from([127, 0, 0, 2].into(), server.address());
    let mut other = Connection::over(other.unwrap());
    other.assert_served();
    // One more connection replaces the longest idle one of the same address.
    let mut new = server.kept();
    assert_eq!(first.rest(), b"");
    second.assert_served();
    other.assert_served();
    // If none of that address is idle, the new connection is closed.
    crate::shutdown::begin(&mut second);
    crate::shutdown::begin(&mut new);
    assert_eq!(server.connect().rest(), b"");
    assert_eq!(server.running().counters().rejected_per_address.get(), 1);
    assert_eq!(server.running().counters().rejected_total.get(), 0);
}

#[test]
fn a_loopback_listener_without_a_trusted_proxy_says_so_once_at_startup() {
    let public = ["--base-url", "https://reviews.test"];
    let line = "have no rates and no memory budget of a client";
    for (arguments, level) in [
        (&[][..], Some("INFO")),
        (&public, Some("WARN")),
        (
            &[public[0], public[1], "--trusted-proxy", "127.0.0.1,::1"],
            None,
        ),
    ] {
        let program = Program::serve(arguments);
        assert_eq!(program.has_seen(line), level.is_some(), "{arguments:?}");
        if let Some(level) = level {
            let told = program.seen(line);
            assert!(told.contains(level), "{told}");
        }
    }
}

#[test]
fn a_proxy_on_another_machine_that_is_not_trusted_is_logged_at_startup() {
    for (more, is_told) in [
        (&[][..], true),
        (&["--trusted-proxy", "10.0.0.0/8"], false),
        (
            &[
                "--hub-rate",
                "0",
                "--address-connections",
                "0",
                "--read-rate",
                "0",
                "--mcp-rate",
                "0",
            ],
            false,
        ),
    ] {
        let mut command = command();
        command.args(["serve", "--listen", "0.0.0.0:0", "--log-format", "json"]);
        command
            .args(["--base-url", "https://reviews.test"])
            .args(more);
        let program = Program::spawn(command);
        let line = "which --trusted-proxy does not name";
        assert_eq!(program.has_seen(line), is_told, "{more:?}");
        let line = "have no rates and no memory budget of a client";
        assert!(!program.has_seen(line), "{more:?}");
    }
}

#[test]
fn the_default_limits_are_far_above_honest_load_and_apply_to_each_client() {
    let program = Program::serve(&["--trusted-proxy", "127.0.0.1", "--no-hub"]);
    let address = program.address();
    let client = [("X-Forwarded-For", "192.0.2.7")];
    let other = [("X-Forwarded-For", "192.0.2.8")];
    assert_left(&get(address, "/reviews.json", &client), 200, "reads", 5_999);
    assert_left(&get(address, "/feed.xml", &other), 200, "reads", 5_999);
    assert_left(&post_mcp(address, &client, PING), 200, "mcp", 1_199);
    // A proxy that names no client has no limit.
    let unnamed = get(address, "/feed.xml", &[]);
    assert_eq!(unnamed.field("ratelimit"), None);
}
