//! How often one client may ask, and who it is behind proxies: over sockets from addresses of this machine.

use reviewd::http::{Proxies, ProxyField};
use reviewd::server::Config;

use crate::support::{Connection, Program, Response, Server, connect_from, send};

/// What an MCP client sends.
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn post_mcp(server: &Server) -> Response {
    let fields = [("Content-Type", "application/json")];
    send(server.address(), "POST", "/mcp", &fields, PING)
}

fn limited(change: impl FnOnce(&mut Config)) -> Server {
    Server::start_with(|config| {
        config.limits.rates.reads = 3;
        change(config);
    })
}

/// Trusts every address of this machine, as proxies that write `field`.
pub(crate) fn behind_proxies(field: ProxyField) -> impl FnOnce(&mut Config) {
    move |config| {
        config.proxies = Proxies {
            networks: vec!["127.0.0.0/8".parse().unwrap()],
            field,
        };
    }
}

#[test]
fn the_fourth_of_three_reads_is_429_and_says_when_to_come_back() {
    let server = limited(|_| {});
    let mut connection = server.connect();
    for (path, status, left) in [
        ("/reviews.json", 200, 2),
        ("/nowhere", 404, 1),
        ("/feed.xml", 200, 0),
    ] {
        let response = connection.get(path);
        assert_eq!(response.status, status);
        let policy = response.field("ratelimit-policy");
        assert_eq!(policy, Some("\"reads\";q=3;w=60"));
        let limit = response.field("ratelimit").unwrap();
        assert!(
            limit.starts_with(&format!("\"reads\";r={left};t=")),
            "{limit}"
        );
    }
    let response = connection.get("/reviews.json");
    response.assert_error(429, "too_many_requests");
    let wait_s: u64 = response.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=20).contains(&wait_s), "{wait_s}");
    assert_eq!(
        response.field("ratelimit"),
        Some(&*format!("\"reads\";r=0;t={wait_s}"))
    );
    // The connection goes on, and a HEAD is told the same.
    let head = connection.send("HEAD", "/reviews.json", &[]);
    assert_eq!((head.status, head.body.len()), (429, 0));
}

#[test]
fn probes_preflights_and_other_parts_of_the_service_are_not_counted_as_reads() {
    let server = limited(|_| {});
    for _ in 0..4 {
        server.get("/reviews.json");
    }
    assert_eq!(server.get("/reviews.json").status, 429);
    for path in ["/healthz", "/readyz"] {
        let response = server.get(path);
        assert_eq!((response.status, response.field("ratelimit")), (200, None));
    }
    assert_eq!(post_mcp(&server).status, 200);
    let asks = [
        ("Origin", "https://elsewhere.example"),
        ("Access-Control-Request-Method", "GET"),
    ];
    let preflight = send(server.address(), "OPTIONS", "/feed.xml", &asks, b"");
    assert_eq!(
        (preflight.status, preflight.field("ratelimit")),
        (204, None)
    );
    let plain = send(server.address(), "OPTIONS", "/feed.xml", &[], b"");
    assert_eq!(plain.status, 429);
}

#[test]
fn one_message_too_many_to_mcp_is_429_with_a_json_rpc_error() {
    let server = Server::start_with(|config| config.limits.rates.mcp = 2);
    for left in [1, 0] {
        let response = post_mcp(&server);
        assert_eq!(response.status, 200);
        let limit = response.field("ratelimit").unwrap();
        assert!(
            limit.starts_with(&format!("\"mcp\";r={left};t=")),
            "{limit}"
        );
    }
    // An escaped address of it has its rate all the same.
    let fields = [("Content-Type", "application/json")];
    let escaped = send(server.address(), "POST", "/%6Dcp", &fields, PING);
    assert_eq!(escaped.status, 429);
    let response = post_mcp(&server);
    assert_eq!(response.status, 429);
    assert!(response.field("retry-after").is_some());
    assert!(response.json()["error"]["code"].is_i64());
    assert_eq!(response.field("connection"), Some("close"));
    assert_eq!(server.get("/reviews.json").status, 200);
}

#[test]
fn the_hub_counts_every_method_of_the_client_that_the_proxy_names() {
    let server = Server::start_with(|config| {
        behind_proxies(ProxyField::XForwardedFor)(config);
        config.limits.rates.hub = 2;
    });
    let ask = |method: &str, client: &str| {
        let fields = [("X-Forwarded-For", client)];
        send(server.address(), method, "/api/websub/hub", &fields, b"x").status
    };
    let (one, other) = ("192.0.2.1", "192.0.2.2");
    // There is no hub here: 503 is what every client gets that may ask.
    assert_eq!([ask("GET", one), ask("POST", one)], [405, 503]);
    assert_eq!([ask("DELETE", one), ask("POST", one)], [429, 429]);
    assert_eq!(ask("POST", other), 503);
}

#[test]
fn an_address_has_its_share_of_connections_and_others_theirs() {
    let server = Server::start_with(|config| config.limits.connections_per_address = 2);
    let mut held: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for connection in &mut held {
        assert_eq!(connection.get("/healthz").status, 200);
    }
    let other = connect_from([127, 0, 0, 2].into(), server.address());
    let mut other = Connection::over(other.unwrap());
    assert_eq!(other.get("/healthz").status, 200);
    // One more is served in place of that address's own that is idle longest.
    let mut new = server.connect();
    assert_eq!(new.get("/healthz").status, 200);
    assert_eq!(held[0].rest(), b"");
    for open in [&mut held[1], &mut other] {
        assert_eq!(open.get("/healthz").status, 200);
    }
    // Where none of its own is idle, it is closed.
    crate::shutdown::begin(&mut held[1]);
    crate::shutdown::begin(&mut new);
    assert_eq!(server.connect().rest(), b"");
    assert_eq!(server.running().counters().rejected_per_address.get(), 1);
    assert_eq!(server.running().counters().rejected_total.get(), 0);
}

#[test]
fn a_trusted_proxy_may_have_any_number_of_connections() {
    let server = Server::start_with(|config| {
        behind_proxies(ProxyField::XForwardedFor)(config);
        config.limits.connections_per_address = 1;
    });
    let mut held: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for connection in &mut held {
        assert_eq!(connection.get("/healthz").status, 200);
    }
}

#[test]
fn a_proxy_that_may_have_been_forgotten_is_told_of_at_the_start() {
    let public = ["--base-url", "https://reviews.example"];
    for (more, line) in [
        (&[][..], Some("which --trusted-proxy does not name")),
        (&["--trusted-proxy", "127.0.0.1,::1"], None),
        (&["--hub-rate", "0", "--address-connections", "0"], None),
    ] {
        let program = Program::serve(&[&public, more].concat());
        match line {
            Some(line) => assert!(program.has_seen(line)),
            None => assert!(!program.has_seen("-proxy"), "{more:?}"),
        }
    }
}

#[test]
fn a_page_can_read_its_429_from_mcp() {
    const PAGE: (&str, &str) = ("Origin", "http://localhost:3000");
    let server = Server::start_with(|config| config.limits.rates.mcp = 1);
    let ask = |method: &str, more: &[(&str, &str)]| {
        let fields = [&[("Content-Type", "application/json")], more].concat();
        send(server.address(), method, "/mcp", &fields, PING)
    };
    for _ in 0..3 {
        let preflight = [PAGE, ("Access-Control-Request-Method", "POST")];
        let free = ask("OPTIONS", &preflight);
        assert_eq!((free.status, free.field("ratelimit")), (204, None));
        // A page that may not ask does not spend what its visitor has.
        let foreign = ask("POST", &[("Origin", "https://elsewhere.example")]);
        assert_eq!((foreign.status, foreign.field("ratelimit")), (403, None));
    }
    assert_eq!(ask("POST", &[PAGE]).status, 200);
    let refused = ask("POST", &[PAGE]);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.field("access-control-allow-origin"), Some(PAGE.1));
    let exposed = refused.field("access-control-expose-headers").unwrap();
    for name in ["RateLimit", "RateLimit-Policy", "Retry-After"] {
        assert!(exposed.split(", ").any(|field| field == name), "{exposed}");
    }
    // A question that is none of a browser's counts.
    assert_eq!(ask("OPTIONS", &[]).status, 429);
}

#[test]
fn a_quotation_mark_left_open_hides_nobody() {
    let server = limited(behind_proxies(ProxyField::Forwarded));
    let ask = |says: &str| server.get_with("/feed.xml", &[("Forwarded", says)]).status;
    let says = [
        "for=192.0.2.1",
        "for=\"x, for=192.0.2.1",
        "x=\", for=192.0.2.1",
    ];
    assert_eq!(says.map(ask), [200; 3]);
    assert_eq!(ask("\", for=192.0.2.1"), 429);
    assert_eq!(ask("\", for=192.0.2.2"), 200);
}
