//! reviewd: a public, read-only reviews service in one binary.
//!
//! A business keeps its verified customer reviews in a few files. reviewd checks them, builds from them everything that
//! can be built before a request, and publishes it to people, programs, feed readers and AI agents.
//!
//! # Map
//!
//! Each folder is one layer, and data flows one way, from the top of this table to its end. `tests/tidy.rs` reads the table
//! and fails when code leaves it. Only `http` and `server` name hyper.
//!
//! | module | turns what into what | may import |
//! |---|---|---|
//! | [`wire`] | bytes into values and back: dates, forms, JSON, entity-tags; no clock | nothing of ours |
//! | [`model`] | the types: review, rating, row, business, taxonomy, dataset | wire |
//! | [`dataset`] | the operator's files into a checked [`model::Dataset`], and that into documents | wire, model |
//! | [`import`] | exports of other services into reviews and the operator's files | wire, model, dataset |
//! | [`insights`] | reviews and taxonomy into what can be said about them | wire, model, dataset |
//! | [`search`] | parameters into a filter, reviews into an index, both into rows | wire, model, dataset |
//! | [`snapshot`] | all of it into one immutable [`snapshot::Snapshot`] | wire, model, dataset, insights, search |
//! | [`pages`] | a snapshot into pages, badge, widget, OpenAPI, linked data | wire, model, search, snapshot |
//! | [`mcp`] | JSON-RPC requests into responses | wire, model, search, snapshot |
//! | [`clock`] | the system's time into a value | wire |
//! | [`hub`] | WebSub requests and changed topics into stored state, and that into deliveries | wire, snapshot, clock |
//! | [`http`] | requests into responses: router, endpoints, every status and header name | all of the above |
//! | [`server`] | sockets, reload, shutdown: what runs around the service | all of the above |
//! | [`cli`] | arguments and environment into one configuration and one command | everything |
//!
//! # Three ways through the code
//!
//! **`GET /reviews.json`**, 13 files. `server::listener` accepts, `server::connections` admits, and a worker runs
//! `server::connection`, whose `deadline` ends what takes too long. hyper reads the request and calls `server::service`,
//! which calls `http::respond`: `http::head` borrows a `RequestHead`, `router` finds the route, and `http::endpoint`
//! selects the coding (`wire::negotiate`) from `http::served_state` and evaluates the conditions (`wire::conditional`);
//! `http::reply` writes the response, which hyper sends.
//!
//! **`GET /api/reviews/search?min_rating=4&query=probate&limit=5`**, 22 files. The same, but for the coding, as far as
//! `http::endpoint::search`: `search::query` turns the parameters (`wire::form`) into a `Query` (`filter`), or answers 400
//! with every issue; the entity-tag of dataset and query decides about a 304 before anything is searched; `search::run`
//! selects rows (`terms`, `rows`) from the `index` (`tree`), and `search::envelope` joins the reviews' stored bytes.
//!
//! **A changed file until a subscriber is told**, 30 files. A timer or a signal wakes `server::reload`. `server::files`
//! reads the files as one set, `server::load` has them checked (`dataset`: `json`, `reviews`,
//! `companions`, `lints`) and dated and builds a `snapshot` (`dataset::publish`, `snapshot::resource`, `insights`,
//! `search::index`, `search::tree` and its `build`, `pages`), which replaces `http::served_state` in `http::app_state`; any
//! error keeps the old one. `server::reload` then compresses and calls `hub::handle`, whose thread (`hub::engine`: `storage`,
//! `exchanges`) has the store (`hub::store`: `deliveries`, `connection`, `sqlite`) note the topics' new digests,
//! claims what is pending, sends (`hub::client`: `resolve`, `transport`) and records the results (`subscription`).
//! What is pending is state on disk, so that a crash loses nothing.
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
pub mod http;
pub mod hub;
pub mod import;
pub mod insights;
pub mod mcp;
pub mod model;
pub mod pages;
pub mod search;
pub mod server;
pub mod snapshot;
pub mod wire;
