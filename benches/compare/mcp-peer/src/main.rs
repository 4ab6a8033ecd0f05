//! The tool `search_reviews` on rmcp's server: the cost of the same service with the common library.
//!
//! Built as rmcp's documentation builds a server, with the choices that make it fast: no sessions, responses as plain
//! JSON, one prepared handler that is cloned for each request, hyper without a router around it, the same allocator
//! as reviewd's. The reviews are parsed and lowered once; a request only filters them.
//!
//!     mcp-peer REVIEWS.JSON ADDRESS:PORT

use std::error::Error;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use mimalloc::MiMalloc;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Json, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Reviews per page if the call sets no limit.
const LIMIT_DEFAULT: usize = 20;
/// Largest number of reviews per page.
const LIMIT_MAX: usize = 100;

/// The data file, as far as it matters here.
#[derive(Deserialize)]
struct Dataset {
    reviews: Vec<Review>,
}

/// A review in the short form of reviewd's answers, which leaves out what is absent.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Review {
    id: String,
    author: String,
    rating: u8,
    date: String,
    text: String,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mentioned_technicians: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mentioned_services: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner_reply: Option<OwnerReply>,
}

/// What the owner answered.
#[derive(Serialize, Deserialize, JsonSchema)]
struct OwnerReply {
    text: String,
    date: String,
}

/// What a search may ask for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Search {
    /// Exactly this star rating.
    #[serde(default)]
    rating: Option<u8>,
    /// Words or a part of them that the text contains, without regard to case.
    #[serde(default)]
    query: Option<String>,
    /// Most reviews of this page.
    #[serde(default)]
    limit: Option<usize>,
}

/// What a search answers with.
#[derive(Serialize, JsonSchema)]
struct Page {
    matched: usize,
    returned: usize,
    next_cursor: Option<String>,
    reviews: Vec<&'static Review>,
}

/// A review and its text in lower case.
struct Row {
    lowered: String,
    review: &'static Review,
}

#[derive(Clone)]
struct Peer {
    rows: Arc<[Row]>,
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Peer {
    /// Creates the peer with the reviews of a data file, sorted newest first.
    fn new(mut reviews: Vec<Review>) -> Peer {
        reviews.sort_by(|a, b| (&b.date, &b.id).cmp(&(&a.date, &a.id)));
        let reviews: &'static [Review] = Vec::leak(reviews);
        let row = |review: &'static Review| Row {
            lowered: review.text.to_lowercase(),
            review,
        };
        Peer {
            rows: reviews.iter().map(row).collect(),
            tool_router: Self::tool_router(),
        }
    }

    #[tool(
        name = "search_reviews",
        description = "Finds reviews by words and rating, newest first.",
        annotations(read_only_hint = true)
    )]
    async fn search_reviews(&self, Parameters(search): Parameters<Search>) -> Json<Page> {
        let query = search.query.map(|query| query.to_lowercase());
        let fits = |row: &&Row| {
            search
                .rating
                .is_none_or(|rating| row.review.rating == rating)
                && query
                    .as_ref()
                    .is_none_or(|query| row.lowered.contains(query))
        };
        let limit = search.limit.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
        let mut reviews = Vec::with_capacity(limit);
        let mut matched = 0;
        for row in self.rows.iter().filter(fits) {
            matched += 1;
            if reviews.len() < limit {
                reviews.push(row.review);
            }
        }
        let last = reviews.last().filter(|_| matched > reviews.len());
        Json(Page {
            matched,
            returned: reviews.len(),
            next_cursor: last.map(|last| format!("{}:{}", last.date, last.id)),
            reviews,
        })
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(address)) = (arguments.next(), arguments.next()) else {
        return Err("usage: mcp-peer REVIEWS.JSON ADDRESS:PORT".into());
    };
    let dataset: Dataset = serde_json::from_slice(&std::fs::read(file)?)?;
    let peer = Peer::new(dataset.reviews);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let manager = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(peer.clone()), manager, config);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                // Errors of a connection, such as a client that disconnects, are ignored.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    })
}
