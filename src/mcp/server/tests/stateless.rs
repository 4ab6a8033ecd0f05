//! The era without sessions, 2026-07-28: what every request says of itself, and what every result does.

use serde_json::{Value, json};

use super::code;
use crate::mcp::tests::{catalog, head, meta, post, server};
use crate::mcp::{Field, Head};

fn stateless(method: &str, params: Value, change: impl FnOnce(&mut Head<'_>)) -> (u16, Value) {
    let name = params["name"]
        .as_str()
        .or(params["uri"].as_str())
        .unwrap_or("")
        .to_owned();
    let mut params = params;
    params["_meta"] = meta();
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string();
    let mut head = Head {
        protocol_version: Field::One(b"2026-07-28"),
        mcp_method: Field::One(method.as_bytes()),
        ..head()
    };
    if !name.is_empty() {
        head.mcp_name = Field::One(name.as_bytes());
    }
    change(&mut head);
    post(&head, body.as_bytes())
}

#[test]
fn stateless_results_say_that_they_are_complete_and_how_long_they_last() {
    let (status, answer) = stateless("server/discover", json!({}), |_| {});
    let result = &answer["result"];
    assert_eq!((status, &answer["id"]), (200, &json!(7)));
    let versions = [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ];
    assert_eq!(result["supportedVersions"], json!(versions));
    assert_eq!(result["protocolVersion"], "2026-07-28");
    assert!(result["instructions"].is_string() && result["serverInfo"]["name"].is_string());
    for (method, params, is_cacheable) in [
        ("server/discover", json!({}), true),
        ("tools/list", json!({}), true),
        ("prompts/list", json!({}), true),
        ("resources/list", json!({}), true),
        ("resources/templates/list", json!({}), true),
        ("resources/read", json!({"uri": "reviews://business"}), true),
        ("tools/call", json!({"name": "get_business"}), false),
        ("prompts/get", json!({"name": "summarize_reviews"}), false),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "y", "value": ""}}),
            false,
        ),
    ] {
        let (status, answer) = stateless(method, params, |_| {});
        let result = &answer["result"];
        assert_eq!(
            (status, &result["resultType"]),
            (200, &json!("complete")),
            "{method}"
        );
        assert_eq!(
            result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
            "reviewd"
        );
        assert_eq!(
            result["ttlMs"].is_u64() && result["cacheScope"] == "public",
            is_cacheable,
            "{method}"
        );
    }
}

#[test]
fn stateless_requests_never_touch_sessions() {
    let (status, _) = stateless("tools/list", json!({}), |head| {
        head.session = Field::One(b"unknown")
    });
    assert_eq!(status, 200);
    let version = Field::One(b"2026-07-28".as_slice());
    let delete = Head {
        protocol_version: version,
        method: b"DELETE",
        ..Head::default()
    };
    assert_eq!(server().handle(catalog(), &delete, b"").status, 405);
}

#[test]
fn methods_that_do_not_exist_are_404_in_one_era_and_200_in_the_other() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "nothing",
        "",
    ] {
        let (status, answer) = stateless(method, json!({}), |_| {});
        assert_eq!(
            (status, code(&answer), &answer["id"]),
            (404, -32_601, &json!(7)),
            "{method}"
        );
    }
    for method in [
        "server/discover",
        "logging/setLevel",
        "resources/subscribe",
        "nothing",
        "",
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
        let (status, answer) = post(&head(), body.as_bytes());
        assert_eq!((status, code(&answer)), (200, -32_601), "{method}");
    }
}

#[test]
fn stateless_headers_must_agree_with_the_body() {
    let refused = |change: &dyn Fn(&mut Head<'_>)| {
        let params = json!({"name": "get_business"});
        let (status, answer) = stateless("tools/call", params, |head| change(head));
        (status, code(&answer))
    };
    let field = |text: &'static str| match text {
        "-" => Field::Absent,
        "+" => Field::Repeated,
        text => Field::One(text.as_bytes()),
    };
    for text in ["-", "+", "", "tools/list", "tools/Call"] {
        assert_eq!(
            refused(&|head| head.mcp_method = field(text)),
            (400, -32_020),
            "{text}"
        );
    }
    for text in ["-", "+", "2025-06-18", "2025-11-25", "2026-07-29"] {
        assert_eq!(
            refused(&|head| head.protocol_version = field(text)),
            (400, -32_020),
            "{text}"
        );
    }
    for text in [
        "-",
        "+",
        "",
        "get_faq",
        "Get_business",
        "=?base64?Z2V0X2J1c2luZXNz",
        "=?base64?Z2V0X2J1c2luZXNz=?=",
        "=?base64?Z2V0X2J1c2luZXN!?=",
        "=?base64?Z2V0X2J1c2luZXM?=",
        "=?BASE64?Z2V0X2J1c2luZXNz?=",
    ] {
        assert_eq!(
            refused(&|head| head.mcp_name = field(text)),
            (400, -32_020),
            "{text}"
        );
    }
    let encoded = field("=?base64?Z2V0X2J1c2luZXNz?=");
    assert_eq!(refused(&|head| head.mcp_name = encoded), (200, 0));
}

#[test]
fn the_header_alone_makes_a_request_stateless_and_its_meta_must_be_whole() {
    let ask = |version: &'static str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params})
            .to_string();
        let version = Field::One(version.as_bytes());
        post(
            &Head {
                protocol_version: version,
                ..head()
            },
            body.as_bytes(),
        )
    };
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    for params in [
        json!({}),
        json!({"_meta": {}}),
        json!({"_meta": 1}),
        json!({"_meta": {VERSION: "2026-07-28"}}),
        json!({"_meta": {VERSION: 1, CAPABILITIES: {}}}),
        json!({"_meta": {VERSION: "2026-07-28", CAPABILITIES: []}}),
    ] {
        for version in ["2026-07-28", "2027-01-01", "9999-99-99"] {
            let (status, answer) = ask(version, params.clone());
            assert_eq!((status, code(&answer)), (400, -32_602), "{params}");
        }
    }
    let later = json!({"_meta": {VERSION: "2027-01-01", CAPABILITIES: {}}});
    let (status, answer) = ask("2027-01-01", later);
    assert_eq!((status, code(&answer)), (400, -32_022));
    let expected = json!({"supported": ["2026-07-28"], "requested": "2027-01-01"});
    assert_eq!(answer["error"]["data"], expected);
}
