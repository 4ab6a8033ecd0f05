//! The documents on axum, one thread, as its documentation builds a small service.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http_peers::{CACHE_CONTROL, Documents, LAST_MODIFIED, Result, arguments};
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
    let fields = [
        (header::ETAG, document.tag.as_str()),
        (header::CACHE_CONTROL, CACHE_CONTROL),
        (header::LAST_MODIFIED, LAST_MODIFIED),
        (header::VARY, "Accept-Encoding"),
    ];
    let tag = headers.get(header::IF_NONE_MATCH);
    if tag.is_some_and(|tag| tag.as_bytes() == document.tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, fields).into_response();
    }
    let accepts = headers.get(header::ACCEPT_ENCODING);
    let (body, is_gzip) = document.body(accepts.map(|value| value.as_bytes()));
    let media_type = [(header::CONTENT_TYPE, document.media_type.as_str())];
    let body = Body::from(body.clone());
    if is_gzip {
        return (
            fields,
            media_type,
            [(header::CONTENT_ENCODING, "gzip")],
            body,
        )
            .into_response();
    }
    (fields, media_type, body).into_response()
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
                // Without it, small answers would wait for acknowledgements.
                let _ = stream.set_nodelay(true);
            }),
            router,
        )
        .await?;
        Ok(())
    })
}
