//! The documents served by actix-web, with one worker.

use actix_web::http::{StatusCode, header};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use http_peers::{Documents, Result, arguments};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

async fn document(request: HttpRequest, documents: web::Data<Documents>) -> HttpResponse {
    let target = request
        .uri()
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let Some(document) = documents.get(target) else {
        return HttpResponse::NotFound().finish();
    };
    let tag = request.headers().get(header::IF_NONE_MATCH);
    let fresh = tag.is_some_and(|tag| tag.as_bytes() == document.tag.as_bytes());
    let (mut answer, fields) = if fresh {
        (HttpResponse::NotModified(), &document.not_modified)
    } else {
        let status = StatusCode::from_u16(document.status.as_u16());
        let status = status.expect("a recorded status is valid");
        (HttpResponse::build(status), &document.fields)
    };
    for (name, value) in fields {
        answer.append_header((name.as_str(), value.as_str()));
    }
    if fresh {
        return answer.finish();
    }
    let accepts = request.headers().get(header::ACCEPT_ENCODING);
    let (body, is_gzip) = document.body(accepts.map(|value| value.as_bytes()));
    if is_gzip {
        answer.insert_header((header::CONTENT_ENCODING, "gzip"));
    }
    answer.body(body.clone())
}

#[actix_web::main]
async fn main() -> Result<()> {
    let (documents, address) = arguments()?;
    let documents = web::Data::new(documents);
    HttpServer::new(move || {
        App::new()
            .app_data(documents.clone())
            .default_service(web::get().to(document))
    })
    .workers(1)
    .bind(address)?
    .run()
    .await?;
    Ok(())
}
