//! reviewd: a public, read-only reviews service in one binary.
//!
//! A business keeps its verified customer reviews in a few files. reviewd checks them, builds everything that it
//! will ever answer from them, and publishes that to people, programs, feed readers and AI agents. Nothing is
//! computed for a request that could have been computed for the dataset.
//!
//! # Map
//!
//! Each folder is one layer, and data flows one way, from the top of this list to its end.
//!
//! | folder | what it turns into what |
//! |---|---|
//! | [`wire`] | bytes into values and back: dates, forms, JSON, XML, entity-tags, negotiation; no domain words, no clock |
//! | [`model`] | the nouns: review, rating, row, business, taxonomy, dataset |
//! | [`dataset`] | the operator's files into a checked [`model::Dataset`], and that into document bytes |
//! | [`import`] | other people's exports into reviews, and those into the operator's files |
//! | [`insights`] | reviews and taxonomy into what can be said about them |
//! | [`search`] | parameters into a filter (one rule set for REST and MCP), reviews into an index, both into rows |
//! | [`snapshot`] | dataset, documents and index into one immutable [`snapshot::Snapshot`] |
//! | [`pages`] | a snapshot into what people see: pages, badge, widget, linked data, and the description of the interface |
//! | [`mcp`] | JSON-RPC bytes and head fields into a reply; knows no hyper |
//! | [`websub`] | hub requests and events into decisions and stored state |
//! | [`clock`] | the operating system's time into a value; all that know the time were told it |
//! | [`delivery`] | decisions into HTTPS requests: threads, queues, the guard over callback addresses |
//! | [`http`] | hyper requests into replies: router, endpoints, every status and header name |
//! | [`server`] | sockets, reload, shutdown: what runs around the service |
//! | [`cli`] | arguments and environment into one plain configuration and one command |
//!
//! # Who may import whom
//!
//! | module | may import |
//! |---|---|
//! | wire | nothing of ours |
//! | model | wire |
//! | dataset | wire, model |
//! | import | wire, model, dataset |
//! | insights | wire, model, dataset |
//! | search | wire, model, dataset |
//! | snapshot | wire, model, dataset, insights, search |
//! | pages | wire, model, search, snapshot |
//! | mcp | wire, model, search, snapshot |
//! | websub | wire, snapshot |
//! | clock | wire |
//! | delivery | wire, snapshot, websub, clock |
//! | http | all of the above |
//! | server | all of the above |
//! | cli | everything |
//!
//! Only `http` and `server` name hyper; `tests/tidy.rs` reads this table and fails when code leaves it.
//!
//! # Five ways through the code
//!
//! **`GET /reviews.json`.** `server::listen` accepts, and `server::connection` begins on the fast path (`server::fast`):
//! `wire::simple_request` parses, `http::fast_path` makes a `RequestHead` (`http::head`) of it. `http::respond` routes
//! it (`http::router`), takes it from the client's rate, checks it and asks the endpoint (`http::endpoint::document`),
//! which selects the coding and evaluates the conditions (`wire::conditional`). Head and body are bytes that were ready,
//! and leave in one send (`server::send`). Anything unusual goes to hyper, which makes the same `RequestHead` of it.
//!
//! **`GET /api/reviews/search?min_rating=4&query=probate&limit=5`.** The same as far as the endpoint
//! (`http::endpoint::search`): `search::query` turns the parameters into a `Query`, or into issues and a 400; the
//! entity-tag of dataset and query decides about a 304 before anything is searched; `search::run` finds the rows; the
//! endpoint joins the reviews' ready-made bytes into one buffer of known size.
//!
//! **`GET /?query=probate&aspect=fees`.** The same parser reads the parameters; `pages` looks the aspect up in what it
//! kept of the insights, searches among the reviews of its evidence, reads each found review back from its stored bytes
//! and renders the page. Without parameters `/` is a stored document like the others.
//!
//! **A changed file.** A signal, the watched directory or a timer triggers the reload thread (`server::reload_trigger`). It
//! waits until the files are written, reads them as one set, validates and dates them, builds a snapshot, and swaps it in
//! (`server::reload`, `load`, `content_dates`); a build is dropped when the files change again. Any error keeps the old
//! snapshot and shows in `/readyz` and the log. Compressed variants follow (`post_reload`), and the hub is told the new
//! digests of its topics.
//!
//! **A subscription.** The form becomes a `HubRequest`; it is on disk before the 202 leaves. A delivery thread asks
//! the callback to confirm; a confirmed subscription is owed the topic's content whenever the digest of its last
//! acknowledged attempt is not the topic's. What is owed is state, so a crash loses nothing.
//!
//! # Invariants
//!
//! - A snapshot never changes, but for write-once places where compressed variants arrive; a request sees one
//!   snapshot from its first to its last byte.
//! - Nothing on the request path blocks, locks, or waits for the hub; deliveries never share threads with requests.
//! - A stored document costs a reference count; a search reply costs one buffer.
//! - Body, media type, entity-tag and date of a document travel together in one [`snapshot::Resource`].
//! - Untrusted bytes become a typed value in one place; statuses are chosen in one file.
//! - What the hub has answered 202 to is on disk.
//! - Two replicas with the same files give the same bytes and the same entity-tags.

#![forbid(unsafe_code)]

pub mod cli;
pub mod clock;
pub mod dataset;
pub mod delivery;
pub mod http;
pub mod import;
pub mod insights;
pub mod mcp;
pub mod model;
pub mod pages;
pub mod search;
pub mod server;
pub mod snapshot;
pub mod websub;
pub mod wire;
