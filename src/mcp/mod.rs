//! The Model Context Protocol by hand: bytes and head fields in, reply out; knows no hyper.
//!
//! One address serves every revision from 2024-11-05 to 2026-07-28. [`Server::handle`] takes a request apart in a
//! fixed order: origin and host, method, media type, message, era, and only then the method itself. What it answers
//! from is a [`Catalog`], prepared once for each snapshot: lists, introductions and most results are ready bytes, and
//! a search is put together from the prepared bytes of its reviews. Nothing is remembered between two requests but
//! the sessions that have been ended.
//!
//! Our choices where the standard leaves one, each held by a test: a session id is handed out, verified and never
//! required; every `Accept` is welcome; a key that comes twice in one object is refused, because a gateway and this
//! server could read two different requests; wrong values of a tool's arguments are a result with `isError`, which a
//! model gets to read, and wrong shapes are -32602; batches are taken from 2025-03-26 alone.
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
//! | a session that is over gets 404; DELETE ends one | handshake | `sessions_are_optional_verified_ended_and_expire`, `it::mcp::a_session_begins_serves_and_ends` |
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

mod batch;
mod brief;
pub mod calls;
mod catalog;
mod completion;
mod dispatch;
mod fixtures;
mod guard;
pub mod head;
pub mod json;
mod jsonrpc;
mod prompts;
pub mod protocol;
mod reply;
mod resources;
mod server;
pub mod session;
mod stateless;
mod tools;

#[cfg(test)]
mod tests;

pub use catalog::Catalog;
pub use guard::Visitor;
pub use head::{Field, Form, Head};
pub use reply::{METHODS, REQUEST_HEADERS, Reply};
pub use server::{Server, Settings};
pub use session::{Key, Token};
