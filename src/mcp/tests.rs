//! What the tests of the protocol share: the sample as a catalog, a server, and messages to send.
//!
//! # Which test holds what
//!
//! Tests without a path are in `mcp::server::tests`; `stateless` is 2026-07-28, `handshake` all revisions before it.
//!
//! | requirement | revisions | test |
//! |---|---|---|
//! | JSON-RPC 2.0 messages; ids are strings or integers and come back unchanged | all | `bodies_that_are_no_message_get_400_and_their_code`, `ids_come_back_as_they_were`, `oracle::check_jsonrpc` |
//! | version negotiation: the same if served, else another that is served | handshake | `initialize_settles_on_a_revision_and_hands_out_a_session` |
//! | `ping` is answered with an empty result | handshake | `ids_come_back_as_they_were` |
//! | notifications and responses get 202 without a body | all | `notifications_and_responses_get_202_without_a_body` |
//! | batches are received | 2025-03-26 | `batches_are_for_2025_03_26_alone` |
//! | batches are refused | 2025-06-18 on | `batches_are_for_2025_03_26_alone` |
//! | `MCP-Protocol-Version` that is not served gets 400; none is taken for 2025-03-26 | 2025-06-18 on | `version_headers_that_are_not_served_get_400`, `the_session_tells_the_revision_where_the_header_does_not` |
//! | session ids are visible ASCII, unique, unguessable | handshake | `mcp::session::tests` |
//! | a session that was ended gets 404; DELETE ends one | handshake | `sessions_are_optional_and_end_only_by_delete`, `it::mcp::a_session_begins_serves_and_ends` |
//! | Origin is validated; a foreign one gets 403 | 2025-03-26 on | `foreign_pages_and_hosts_get_403_with_a_json_rpc_error`, `mcp::guard::tests` |
//! | GET is answered with an event stream or 405 | 2025-03-26 on | `other_methods_get_405_in_json_and_options_204` |
//! | POST is answered as `application/json` or as events | 2025-03-26 on | `a_client_that_accepts_only_events_gets_one_event` |
//! | the order of checks on a request | stateless | `oracle::check_mcp_head`, `stateless_headers_must_agree_with_the_body` |
//! | `_meta` must name version and capabilities; `clientInfo` is not required | stateless | `mcp::stateless::tests`, `the_header_alone_makes_a_request_stateless_too` |
//! | headers at odds with the body get 400 -32020; `Mcp-Name` may be base64 | stateless | `stateless_headers_must_agree_with_the_body` |
//! | a version that is not served gets 400 -32022 with those that are | stateless | `the_header_alone_makes_a_request_stateless_too` |
//! | an unknown method, and one of the other era, gets 404 -32601 | stateless | `methods_that_do_not_exist_are_404_in_one_era_and_200_in_the_other` |
//! | no session is handed out, and one that comes is ignored | stateless | `stateless_requests_never_touch_sessions` |
//! | every result has `resultType`; six have `ttlMs` and `cacheScope` | stateless | `stateless_results_say_that_they_are_complete_and_how_long_they_last` |
//! | `server/discover` names versions, capabilities and the server | stateless | `stateless_results_say_that_they_are_complete_and_how_long_they_last` |
//! | an unknown resource gets -32002 | handshake | `mcp::dispatch::tests::unknown_resources_have_the_code_of_their_era` |
//! | an unknown resource gets -32602 and never -32002 | stateless | `mcp::dispatch::tests::unknown_resources_have_the_code_of_their_era` |
//! | an invalid list cursor gets -32602 | all | `mcp::tools::tests::protocol_errors_are_for_tools_and_shapes_that_do_not_exist` |
//! | tools have a name, a description and an object as input schema, in one order | all | `mcp::tools::tests::tools_say_what_clients_need_of_them`, `the_lists_are_what_they_were` |
//! | structured content satisfies the output schema and equals the text | 2025-06-18 on | `mcp::tools::tests::every_answer_fits_its_schema_and_its_bound` |
//! | an unknown tool gets -32602 | all | `mcp::tools::tests::protocol_errors_are_for_tools_and_shapes_that_do_not_exist` |
//! | values that a tool cannot use are a result with `isError` | 2025-11-25 on, here all | `mcp::tools::tests::wrong_arguments_are_told_one_line_each` |
//! | an unknown prompt or a missing argument gets -32602 | all | `mcp::dispatch::tests::prompts_say_what_is_wrong_with_their_arguments` |
//! | completion returns at most 100 values | all | `mcp::dispatch::tests::completion_offers_names_that_begin_with_the_value` |

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::*;
use crate::dataset::{self, Files};
use crate::search::index::IndexOptions;
use crate::snapshot::{self, Snapshot};
use crate::wire::date::Timestamp;

/// Long after every date of the sample.
const NOW_UNIX: i64 = 1_900_000_000;

/// The embedded sample.
pub(super) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| catalog_of(dataset::embedded()))
}

/// The directory that `REVIEWD_CORPUS` names, if it does.
pub(super) fn corpus() -> Option<&'static Catalog> {
    static CATALOG: OnceLock<Option<Catalog>> = OnceLock::new();
    CATALOG.get_or_init(read_corpus).as_ref()
}

fn read_corpus() -> Option<Catalog> {
    let directory = std::env::var_os("REVIEWD_CORPUS")?;
    let read = |name: &str| std::fs::read(Path::new(&directory).join(name)).ok();
    Some(catalog_of(Files {
        reviews: read("reviews.json")?,
        taxonomy: read("taxonomy.json"),
        editorial: read("editorial.json"),
        insights: read("insights.json"),
        ..Files::default()
    }))
}

pub(super) fn catalog_of(files: Files) -> Catalog {
    let dataset = dataset::decode(files, Timestamp::from_unix(NOW_UNIX))
        .expect("valid files")
        .dataset;
    let settings = snapshot::Settings {
        base_url: "https://reviews.example".into(),
        index: IndexOptions {
            memory_bytes: 64 << 20,
            threads: NonZeroUsize::MIN,
        },
        mentions_min: crate::insights::MENTIONS_MIN,
    };
    Catalog::new(Arc::new(Snapshot::build(dataset, &settings)))
}

pub(super) fn server() -> Server {
    Server::new(Settings {
        base_url: "https://reviews.example".into(),
        allowed_origins: vec!["https://app.example".into()],
        allowed_hosts: vec!["reviewd:8080".into()],
        body_bytes_max: 1 << 20,
    })
}

/// A POST as a client sends it, with nothing but its media type.
pub(super) fn head() -> Head<'static> {
    Head {
        content_type: Field::One(b"application/json"),
        method: b"POST",
        ..Head::default()
    }
}

/// The status and the parsed body of the answer to `body`; `null` where there is no body.
pub(super) fn post(head: &Head<'_>, body: &[u8]) -> (u16, Value) {
    let reply = server().handle(catalog(), head, body);
    let body = match reply.body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(&reply.body).expect("the body is JSON"),
    };
    (reply.status, body)
}

/// The result of a request of the handshake era.
pub(super) fn result(catalog: &Catalog, method: &str, params: Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let body = request.to_string();
    let reply = server().handle(catalog, &head(), body.as_bytes());
    let mut answer: Value = serde_json::from_slice(&reply.body).expect("the body is JSON");
    assert_eq!((reply.status, &answer["id"]), (200, &json!(1)), "{answer}");
    answer["result"].take()
}

/// The result of calling a tool.
pub(super) fn call(catalog: &Catalog, tool: &str, arguments: Value) -> Value {
    result(
        catalog,
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    )
}

/// `_meta` of a stateless request.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}
