//! reviewd: a public, read-only reviews service in one binary.
//!
//! A business stores its verified customer reviews in a few files. reviewd checks them, builds all documents and the search
//! index in advance, and serves them to people, programs, feed readers and AI agents.
//!
//! # Map
//!
//! Each module is one layer. A module imports only modules above it in this table. `tests/tidy.rs` reads the table and fails
//! if the code differs. Only `http` and `server` use hyper.
//!
//! | module | turns what into what | may import |
//! |---|---|---|
//! | [`wire`] | bytes into values and back: dates, forms, JSON, entity-tags; no clock | nothing of ours |
//! | [`substring_index`] | texts into exact counts and rows of any substring or word; no reviews, no parameters | nothing of ours |
//! | [`hub`] | WebSub requests and changed topics into stored state, and that into deliveries | wire |
//! | [`model`] | only types: review, rating, row, business, taxonomy, dataset | wire |
//! | [`dataset`] | the operator's files into a checked [`model::Dataset`], and that into documents | wire, substring_index, model |
//! | [`import`] | exports of other services into reviews in the operator's files | wire, model, dataset |
//! | [`insights`] | reviews and taxonomy into counts, sentiment and evidence for each aspect | wire, model, dataset |
//! | [`search`] | parameters into a filter, reviews into an index, both into rows | wire, substring_index, model, dataset |
//! | [`snapshot`] | dataset, insights and index into one immutable [`snapshot::Snapshot`] | wire, hub, model, dataset, insights, search |
//! | [`pages`] | a snapshot into pages, badge, widget, OpenAPI, linked data | wire, model, search, snapshot |
//! | [`notices`] | changed reviews into messages for the operator's own targets | wire, hub, model, dataset, search, snapshot, pages |
//! | [`mcp`] | JSON-RPC requests into responses | wire, model, search, snapshot |
//! | [`platform`] | what only Linux tells or does into values, with a fallback for other systems | nothing of ours |
//! | [`clock`] | the system's time into a value | wire, platform |
//! | [`limits`] | sizes of responses and bodies in flight into shares of budgets, or refusals | wire |
//! | [`http`] | requests into responses: router, endpoints, every status and header name | all of the above |
//! | [`server`] | sockets and signals into requests, reloads and shutdown | all of the above |
//! | [`cli`] | arguments and environment into one configuration and one command | everything |
//!
//! # Three walks through the code
//!
//! Each names the modules to read, in this order; small helpers and types are left out. Names without `crate` are modules of
//! this package.
//!
//! **`GET /reviews.json`**. `server::listener` accepts the connection, `server::connections` admits it, and
//! `server::connection` serves it on a worker thread; `deadline` enforces the timeouts. hyper parses the request and calls
//! `server::service`, which calls `http::respond`. There `http::head` makes a `RequestHead`, `router` finds the route, and
//! `http::endpoint` takes the document from `http::served_state` in the coding that the client prefers (`wire::negotiate`)
//! and evaluates the conditions (`wire::conditional`). `http::reply` renders the response with its `http::date`, and hyper
//! sends it.
//!
//! **`GET /api/reviews/search?min_rating=4&query=probate&limit=5`**. The first walk without `wire::negotiate`, as far as
//! `http::endpoint`, which calls its `search`. `search::query` parses the parameters (`wire::form`) into a `Query`
//! (`filter`), or all issues are answered with 400. If the client has the entity-tag of this dataset and query, the response
//! is 304 without a search. Else `search::run` selects rows (`terms`, and `rank` if they are ranked) from `search::index` and
//! the crate `substring-index` (`tree`, `rows`, and `fold` for what the client wrote), `search::envelope` renders what
//! surrounds the reviews, the endpoint joins it with their stored bytes, and `http::body` counts them by the budgets of
//! `limits` until they are sent.
//!
//! **From a changed file to a notified subscriber**. A timer or a signal wakes `server::watch`, which looks at the files and
//! wakes `server::reload`. `server::files` reads the files as one set. `server::load` has them checked (crate `reviewd-data`:
//! `dataset::json`, `reviews`, `companions`, `lints`), dates them, and builds a `snapshot` (`dataset::publish`,
//! `snapshot::resource`, `insights`, `search::index`, the tree of `substring-index`, `pages`), which replaces
//! `http::served_state` in `http::app_state`; after an error the old one stays. `server::reload` then gives the new topics to
//! the crate `websub-hub`: `handle` sends them to the hub's thread (`engine` with `storage` and `attempts`). That thread
//! stores their digests (`store` with `maintenance`, `connection`, `sqlite`), chooses what to send (`scheduler`), claims it
//! (`deliveries`, `rows`), has a thread of the `pool` send it (`client`, `resolve`, `transport`), and records the results
//! (`subscription`). Pending deliveries are state on disk, so a crash loses none.
//!
//! # Invariants
//!
//! - A snapshot never changes, except that compressed variants are added to it; a request uses one snapshot from its first
//!   to its last byte.
//! - A GET of a document never waits for the hub or a file; only pictures of reviews are read from their files. The only
//!   locks are those of its rate limit and of the table of clients with a budget, held while one entry is changed.
//! - Deliveries never share threads with requests.
//! - To send a stored document costs a reference count; the response to a search is one buffer.
//! - Body, media type, entity-tag and date of a document are stored together in one [`snapshot::Resource`].
//! - Untrusted bytes become a typed value in one place. The statuses of errors are chosen in `http::error`, all others in
//!   `http::reply`, those of `/mcp` in `mcp::reply`.
//! - A hub request that was answered 202 is on disk.
//! - Two replicas with the same files give the same bytes and the same entity-tags.

#![forbid(unsafe_code)]

pub mod cli;
pub mod clock;
pub mod http;
pub mod insights;
pub mod limits;
pub mod mcp;
pub mod notices;
pub mod pages;
pub mod platform;
pub mod search;
pub mod server;
pub mod snapshot;

pub use reviewd_data::{dataset, model};
pub use reviewd_wire as wire;
#[cfg(feature = "import")]
pub use reviews_import as import;
pub use substring_index;
pub use websub_hub as hub;
