//! hyper without a framework, answering documents from a table: the least that a service on hyper can do. With a third
//! argument, `--http2`, it speaks HTTP/2 instead of HTTP/1.1, with the windows and buffers that reviewd gives it. With
//! `--bounded` besides, the kernel takes no more bytes ahead of the network than it takes from reviewd.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use http_peers::{Document, Result, arguments, map};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue, IF_NONE_MATCH};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mimalloc::MiMalloc;
use socket2::SockRef;
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Bytes that a bounded socket takes ahead of what the network has taken: reviewd's `UNSENT_BYTES_MAX`.
const UNSENT_BYTES_MAX: u32 = 128 * 1024;

/// A document with its header fields, ready to be cloned.
struct Page {
    document: Document,
    fields: HeaderMap,
    not_modified: HeaderMap,
}

impl Page {
    fn new(document: Document) -> Result<Page> {
        Ok(Page {
            fields: map(&document.fields)?,
            not_modified: map(&document.not_modified)?,
            document,
        })
    }
}

fn answer(
    pages: &HashMap<String, Page>,
    headers: &HeaderMap,
    target: &str,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let Some(page) = pages.get(target) else {
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let tag = headers.get(IF_NONE_MATCH);
    if tag.is_some_and(|tag| tag.as_bytes() == page.document.tag.as_bytes()) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.headers_mut() = page.not_modified.clone();
        return response;
    }
    let accepts = headers.get(ACCEPT_ENCODING).map(HeaderValue::as_bytes);
    let (body, is_gzip) = page.document.body(accepts);
    *response.headers_mut() = page.fields.clone();
    if is_gzip {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(CONTENT_ENCODING, gzip);
    }
    *response.body_mut() = Full::new(body.clone());
    response
}

fn main() -> Result<()> {
    let (documents, address) = arguments()?;
    let pages = documents
        .into_iter()
        .map(|(target, document)| Ok((target, Page::new(document)?)));
    let pages = Arc::new(pages.collect::<Result<HashMap<_, _>>>()?);
    let has = |name: &str| std::env::args().any(|argument| argument == name);
    let (is_http2, is_bounded) = (has("--http2"), has("--bounded"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            if is_bounded {
                SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
            }
            let pages = Arc::clone(&pages);
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let target = request
                    .uri()
                    .path_and_query()
                    .map_or("/", |target| target.as_str());
                let response = answer(&pages, request.headers(), target);
                std::future::ready(Ok::<_, Infallible>(response))
            });
            tokio::spawn(async move {
                let stream = TokioIo::new(stream);
                // A client that goes away is no concern of this program.
                let _ = match is_http2 {
                    true => {
                        let mut builder = http2::Builder::new(TokioExecutor::new());
                        // As many as the client asks for at once; the others are reviewd's.
                        builder
                            .max_concurrent_streams(256)
                            .initial_stream_window_size(64 * 1024)
                            .initial_connection_window_size(256 * 1024)
                            .max_send_buf_size(64 * 1024);
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
