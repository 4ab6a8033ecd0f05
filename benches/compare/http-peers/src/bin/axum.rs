//! The documents served by axum on one thread, as in axum's documentation of a small service.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_peers::{Documents, Result, arguments};
use mimalloc::MiMalloc;
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

async fn document(
    State(documents): State<Arc<Documents>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let Some(document) = documents.get(target) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = headers.get(header::IF_NONE_MATCH);
    if tag.is_some_and(|tag| tag.as_bytes() == document.tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, document.maps[1].clone()).into_response();
    }
    let accepts = headers.get(header::ACCEPT_ENCODING);
    let (body, is_gzip) = document.body(accepts.map(|value| value.as_bytes()));
    let body = Body::from(body.clone());
    if is_gzip {
        let coding = [(header::CONTENT_ENCODING, "gzip")];
        return (document.maps[0].clone(), coding, body).into_response();
    }
    (document.status, document.maps[0].clone(), body).into_response()
}

fn main() -> Result<()> {
    let (documents, address) = arguments()?;
    let router = Router::new()
        .route("/{*path}", get(document))
        .with_state(Arc::new(documents));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        axum::serve(
            axum::serve::ListenerExt::tap_io(listener, |stream| {
                // Without TCP_NODELAY, small responses would wait for acknowledgements.
                let _ = stream.set_nodelay(true);
            }),
            router,
        )
        .await?;
        Ok(())
    })
}
