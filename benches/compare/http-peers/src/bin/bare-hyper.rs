//! hyper without a framework, answering documents from a table: the least that a service on hyper can do. With a third
//! argument, `--http2`, it speaks HTTP/2 instead of HTTP/1.1.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use http_peers::{CACHE_CONTROL, Document, Documents, LAST_MODIFIED, Result, arguments};
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL as CACHE_CONTROL_NAME, CONTENT_ENCODING, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderValue, IF_NONE_MATCH, LAST_MODIFIED as LAST_MODIFIED_NAME, VARY,
};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mimalloc::MiMalloc;
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn answer(documents: &Documents, headers: &HeaderMap, target: &str) -> Response<Full<Bytes>> {
    let Some(document) = documents.get(target) else {
        let mut missing = Response::new(Full::default());
        *missing.status_mut() = StatusCode::NOT_FOUND;
        return missing;
    };
    let fresh = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|tag| tag.as_bytes() == document.tag.as_bytes());
    let (body, is_gzip) = document.body(headers.get(ACCEPT_ENCODING).map(HeaderValue::as_bytes));
    let mut response = Response::new(if fresh {
        Full::default()
    } else {
        Full::new(body.clone())
    });
    fields(document, is_gzip, fresh, response.headers_mut());
    if fresh {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    response
}

fn fields(document: &Document, is_gzip: bool, fresh: bool, headers: &mut HeaderMap) {
    let value = |text: &str| HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("-"));
    headers.insert(ETAG, value(&document.tag));
    headers.insert(CACHE_CONTROL_NAME, HeaderValue::from_static(CACHE_CONTROL));
    headers.insert(LAST_MODIFIED_NAME, HeaderValue::from_static(LAST_MODIFIED));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if fresh {
        return;
    }
    headers.insert(CONTENT_TYPE, value(&document.media_type));
    if is_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
}

fn main() -> Result<()> {
    let (documents, address) = arguments()?;
    let documents = Arc::new(documents);
    let is_http2 = std::env::args().any(|argument| argument == "--http2");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let documents = Arc::clone(&documents);
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let target = request
                    .uri()
                    .path_and_query()
                    .map_or("/", |target| target.as_str());
                let response = answer(&documents, request.headers(), target);
                std::future::ready(Ok::<_, Infallible>(response))
            });
            tokio::spawn(async move {
                let stream = TokioIo::new(stream);
                // A client that goes away is no concern of this program.
                let _ = match is_http2 {
                    true => {
                        let mut builder = http2::Builder::new(TokioExecutor::new());
                        // As many as the client asks for at once.
                        builder.max_concurrent_streams(256);
                        builder.serve_connection(stream, service).await
                    }
                    false => {
                        let builder = http1::Builder::new();
                        builder.serve_connection(stream, service).await
                    }
                };
            });
        }
    })
}
