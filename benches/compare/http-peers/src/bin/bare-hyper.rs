//! hyper without a framework, answering documents from a table: the least that a service on hyper can do.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use http_peers::{Documents, Result, arguments};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue, IF_NONE_MATCH};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mimalloc::MiMalloc;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

/// The beginning of the preface of an HTTP/2 client with prior knowledge (RFC 9113 §3.4).
const PREFACE: &[u8; 3] = b"PRI";

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn answer(documents: &Documents, headers: &HeaderMap, target: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let Some(document) = documents.get(target) else {
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let tag = headers.get(IF_NONE_MATCH);
    if tag.is_some_and(|tag| tag.as_bytes() == document.tag.as_bytes()) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.headers_mut() = document.maps[1].clone();
        return response;
    }
    *response.status_mut() = document.status;
    let accepts = headers.get(ACCEPT_ENCODING).map(HeaderValue::as_bytes);
    let (body, is_gzip) = document.body(accepts);
    *response.headers_mut() = document.maps[0].clone();
    if is_gzip {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(CONTENT_ENCODING, gzip);
    }
    *response.body_mut() = Full::new(body.clone());
    response
}

/// Serves a connection until it ends.
async fn serve(stream: TcpStream, documents: Arc<Documents>) -> hyper::Result<()> {
    let mut first = [0; PREFACE.len()];
    let is_http2 = stream.peek(&mut first).await.is_ok() && first == *PREFACE;
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let target = request
            .uri()
            .path_and_query()
            .map_or("/", |target| target.as_str());
        let response = answer(&documents, request.headers(), target);
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let io = TokioIo::new(stream);
    if is_http2 {
        let builder = http2::Builder::new(TokioExecutor::new());
        builder.serve_connection(io, service).await
    } else {
        let builder = http1::Builder::new();
        builder.serve_connection(io, service).await
    }
}

fn main() -> Result<()> {
    let (documents, address) = arguments()?;
    let documents = Arc::new(documents);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let mut end = signal(SignalKind::terminate())?;
        tokio::spawn(async move {
            end.recv().await;
            // Not killed by the signal, so that a build that counts what it executes writes its counts.
            std::process::exit(0);
        });
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let connection = serve(stream, Arc::clone(&documents));
            tokio::spawn(async move {
                // Errors of a connection, such as a client that disconnects, are ignored.
                let _ = connection.await;
            });
        }
    })
}
