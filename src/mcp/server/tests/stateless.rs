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
    let refused = |change: fn(&mut Head<'_>)| {
        let (status, answer) = stateless("tools/call", json!({"name": "get_business"}), change);
        assert_eq!(status, 400);
        code(&answer)
    };
    assert_eq!(refused(|head| head.mcp_method = Field::Absent), -32_020);
    assert_eq!(
        refused(|head| head.mcp_method = Field::One(b"tools/list")),
        -32_020
    );
    assert_eq!(refused(|head| head.mcp_method = Field::Repeated), -32_020);
    assert_eq!(refused(|head| head.mcp_name = Field::Absent), -32_020);
    assert_eq!(
        refused(|head| head.mcp_name = Field::One(b"get_faq")),
        -32_020
    );
    assert_eq!(
        refused(|head| head.mcp_name = Field::One(b"=?base64?!?=")),
        -32_020
    );
    assert_eq!(
        refused(|head| head.protocol_version = Field::Absent),
        -32_020
    );
    assert_eq!(
        refused(|head| head.protocol_version = Field::One(b"2025-06-18")),
        -32_020
    );
    let (status, _) = stateless("tools/call", json!({"name": "get_business"}), |head| {
        head.mcp_name = Field::One(b"=?base64?Z2V0X2J1c2luZXNz?=");
    });
    assert_eq!(status, 200);
}

#[test]
fn the_header_alone_makes_a_request_stateless_too() {
    let version = |version: &'static str| Head {
        protocol_version: Field::One(version.as_bytes()),
        ..head()
    };
    let list = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    for later in ["2026-07-28", "2027-01-01"] {
        let (status, answer) = post(&version(later), list);
        assert_eq!((status, code(&answer)), (400, -32_602), "{later}");
    }
    let mut params = json!({"_meta": meta()});
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}).to_string();
    let (status, answer) = post(&version("2027-01-01"), body.as_bytes());
    assert_eq!((status, code(&answer)), (400, -32_022));
    assert_eq!(
        answer["error"]["data"],
        json!({"supported": ["2026-07-28"], "requested": "2027-01-01"})
    );
}
