//! A server on this machine that answers like the platforms' documentation, two reviews on a page, and injects faults.

use std::collections::VecDeque;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use crate::support::client::{ReadRequest, ReceivedFields, read_request};

/// Reviews on a page.
const PAGE: usize = 2;

/// All kinds of sources, as on the command line.
pub(super) const KINDS: [&str; 8] = [
    "google",
    "trustpilot",
    "judgeme",
    "yotpo",
    "shopify",
    "woocommerce",
    "json",
    "csv",
];

/// A review at the platform.
#[derive(Clone)]
pub(super) struct PlatformReview {
    pub(super) id: u32,
    pub(super) text: String,
    pub(super) stars: u32,
}

/// What goes wrong with one request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// A status, and `Retry-After` in seconds.
    Status(u16, u32),
    /// The connection ends in the middle of the body.
    HalfBody,
    /// The body is complete by its length, and half of the document.
    HalfDocument,
}

/// A platform.
#[derive(Clone)]
pub(super) struct Platform {
    port: u16,
    state: Arc<Mutex<PlatformState>>,
}

#[derive(Default)]
struct PlatformState {
    reviews: Vec<PlatformReview>,
    is_reversed: bool,
    /// The faults of the next requests; `None` for a right answer.
    faults: VecDeque<Option<Fault>>,
    /// Of each request the first line, and the values of the fields with tokens and of `If-None-Match`.
    asked: Vec<String>,
}

impl Platform {
    /// Starts a platform with reviews of these ids.
    pub(super) fn with(ids: &[u32]) -> Platform {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(Mutex::new(PlatformState::default()));
        let platform = Platform { port, state };
        for id in ids {
            platform.publish(*id, "Good.");
        }
        let served = platform.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                served.serve(stream);
            }
        });
        platform
    }

    /// The address of the reviews for a kind.
    pub(super) fn url(&self, kind: &str) -> String {
        format!("http://127.0.0.1:{}/{kind}", self.port)
    }

    fn state(&self) -> MutexGuard<'_, PlatformState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a review, or replaces that with the same id.
    pub(super) fn publish(&self, id: u32, text: &str) {
        self.remove(id);
        self.state().reviews.push(PlatformReview {
            id,
            text: text.to_owned(),
            stars: 4,
        });
    }

    pub(super) fn remove(&self, id: u32) {
        self.state().reviews.retain(|review| review.id != id);
    }

    /// Lists the reviews in the other order from now on.
    pub(super) fn reverse(&self) {
        let mut state = self.state();
        state.is_reversed = !state.is_reversed;
    }

    /// Lets the requests after the next `right` ones fail like this.
    pub(super) fn fail(&self, right: usize, faults: &[Fault]) {
        let mut state = self.state();
        state.faults.clear();
        state.faults.extend((0..right).map(|_| None));
        state.faults.extend(faults.iter().copied().map(Some));
    }

    /// Returns what was asked since the last call.
    pub(super) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state().asked)
    }

    /// Answers one request; a client that has gone is no fault.
    fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let Ok(ReadRequest {
            first_line,
            fields,
            body,
        }) = read_request(&mut stream)
        else {
            return;
        };
        let target = first_line.split(' ').nth(1).unwrap_or_default().to_owned();
        let answer = {
            let mut state = self.state();
            let tokens = fields.iter().filter(|(name, _)| {
                [
                    "authorization",
                    "apikey",
                    "x-shopify-access-token",
                    "if-none-match",
                ]
                .contains(&name.as_str())
            });
            let tokens: Vec<&str> = tokens.map(|(_, value)| value.as_str()).collect();
            let asked = format!("{first_line} {}", tokens.join(" "));
            state.asked.push(asked);
            let fault = state.faults.pop_front().flatten();
            let mut reviews = state.reviews.clone();
            reviews.sort_by_key(|review| review.id);
            if state.is_reversed {
                reviews.reverse();
            }
            render(&reviews, &target, &fields, &body, fault)
        };
        let stream = stream.get_mut();
        let _sent = stream.write_all(&answer).and_then(|()| stream.flush());
    }
}

/// Renders the response of a platform.
fn render(
    reviews: &[PlatformReview],
    target: &str,
    fields: &ReceivedFields,
    body: &[u8],
    fault: Option<Fault>,
) -> Vec<u8> {
    if let Some(Fault::Status(status, retry_after)) = fault {
        let head = format!(
            "HTTP/1.1 {status} Fault\r\nRetry-After: {retry_after}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        return head.into_bytes();
    }
    let kind = target
        .trim_start_matches('/')
        .split('?')
        .next()
        .unwrap_or_default();
    let page = page_of(kind, target, body);
    let on_page = reviews.chunks(PAGE).nth(page - 1).unwrap_or_default();
    let is_last = page * PAGE >= reviews.len();
    let mut more = String::new();
    let document = match kind {
        "csv" => csv(reviews),
        "json" => {
            let list: Vec<Value> = reviews.iter().map(plain).collect();
            json!({ "reviews": list }).to_string()
        }
        "google" => {
            let mark = if is_last {
                Value::Null
            } else {
                json!(format!("p{}", page + 1))
            };
            let list: Vec<Value> = on_page.iter().map(google).collect();
            json!({"reviews": list, "totalReviewCount": reviews.len(), "nextPageToken": mark})
                .to_string()
        }
        "woocommerce" => {
            let pages = reviews.len().div_ceil(PAGE);
            more = format!("X-WP-TotalPages: {pages}\r\n");
            let list: Vec<Value> = on_page.iter().map(woocommerce).collect();
            json!(list).to_string()
        }
        "shopify" => {
            let list: Vec<Value> = on_page.iter().map(shopify).collect();
            let info = json!({"hasNextPage": !is_last, "endCursor": format!("p{}", page + 1)});
            json!({"data": {"metaobjects": {"nodes": list, "pageInfo": info}}}).to_string()
        }
        "trustpilot" => list(on_page, trustpilot),
        "judgeme" => list(on_page, judgeme),
        "yotpo" => list(on_page, yotpo),
        other => panic!("{other} is no kind"),
    };
    let etag = format!("\"{}-{}\"", document.len(), reviews.len());
    let is_known = fields
        .iter()
        .any(|(name, value)| name == "if-none-match" && *value == etag);
    if is_known && fault.is_none() {
        return b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_vec();
    }
    let half = &document[..document.len() / 2];
    let (length, sent) = match fault {
        Some(Fault::HalfBody) => (document.len(), half),
        Some(Fault::HalfDocument) => (half.len(), half),
        _ => (document.len(), document.as_str()),
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nETag: {etag}\r\n{more}Connection: close\r\n\r\n"
    );
    [head.as_bytes(), sent.as_bytes()].concat()
}

/// The number of the page that is asked for, from 1.
fn page_of(kind: &str, target: &str, body: &[u8]) -> usize {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let mark = match kind {
        "shopify" => {
            let asked: Value = serde_json::from_slice(body).expect("a query");
            asked["variables"]["after"].as_str().map(str::to_owned)
        }
        "google" => pairs
            .find(|(name, _)| *name == "pageToken")
            .map(|(_, value)| value.to_owned()),
        _ => pairs
            .find(|(name, _)| *name == "page")
            .map(|(_, value)| value.to_owned()),
    };
    mark.map_or(1, |mark| {
        mark.trim_start_matches('p').parse().expect("a page")
    })
}

fn list(reviews: &[PlatformReview], render: fn(&PlatformReview) -> Value) -> String {
    let list: Vec<Value> = reviews.iter().map(render).collect();
    json!({ "reviews": list }).to_string()
}

fn csv(reviews: &[PlatformReview]) -> String {
    let mut table = "id,author,rating,date,text\n".to_owned();
    for review in reviews {
        let PlatformReview { id, text, stars } = review;
        table.push_str(&format!("{id},Ann {id},{stars},2024-03-04,{text}\n"));
    }
    table
}

fn plain(review: &PlatformReview) -> Value {
    json!({
        "id": review.id, "author": format!("Ann {}", review.id), "rating": review.stars,
        "date": "2024-03-04", "text": review.text,
    })
}

fn google(review: &PlatformReview) -> Value {
    json!({
        "name": format!("accounts/1/locations/2/reviews/r{}", review.id),
        "reviewId": format!("r{}", review.id),
        "reviewer": {"displayName": format!("Ann {}", review.id)},
        "starRating": "FOUR", "comment": review.text,
        "createTime": "2024-03-04T10:00:00Z", "updateTime": "2024-03-04T10:00:00Z",
    })
}

fn trustpilot(review: &PlatformReview) -> Value {
    json!({
        "id": format!("tp{}", review.id), "consumer": {"id": "c1", "displayName": format!("Ann {}", review.id)},
        "stars": review.stars, "title": "A title", "text": review.text, "language": "en",
        "createdAt": "2024-03-04T10:00:00Z", "companyReply": null, "isVerified": true, "status": "active",
    })
}

fn judgeme(review: &PlatformReview) -> Value {
    json!({
        "id": review.id, "title": "A title", "body": review.text, "rating": review.stars,
        "product_external_id": 7, "reviewer": {"id": 9, "email": "a@example.com", "name": format!("Ann {}", review.id)},
        "source": "email", "curated": "ok", "published": true, "hidden": false, "verified": "buyer",
        "created_at": "2024-03-04T10:17:43+00:00", "updated_at": "2024-03-04T10:17:43+00:00", "pictures": [],
    })
}

fn yotpo(review: &PlatformReview) -> Value {
    json!({
        "id": review.id, "title": "A title", "content": review.text, "score": review.stars, "votes_up": 0,
        "votes_down": 0, "created_at": "2024-03-04T10:17:43.000Z", "updated_at": "2024-03-04T10:17:43.000Z",
        "sentiment": 0.9, "sku": "7", "name": format!("Ann {}", review.id), "email": "a@example.com",
        "reviewer_type": "verified_buyer", "deleted": false, "archived": false, "escalated": false,
    })
}

fn woocommerce(review: &PlatformReview) -> Value {
    json!({
        "id": review.id, "date_created": "2024-03-04T17:59:17", "date_created_gmt": "2024-03-04T20:59:17",
        "product_id": 22, "status": "approved", "reviewer": format!("Ann {}", review.id),
        "reviewer_email": "a@example.com", "review": format!("<p>{}</p>\n", review.text),
        "rating": review.stars, "verified": true, "reviewer_avatar_urls": {"24": "https://img.example/24"},
    })
}

fn shopify(review: &PlatformReview) -> Value {
    let rating =
        json!({"value": format!("{}.0", review.stars), "scale_min": "1.0", "scale_max": "5.0"});
    json!({
        "id": format!("gid://shopify/Metaobject/{}", review.id),
        "rating": {"value": rating.to_string()}, "title": {"value": "A title"},
        "body": {"value": review.text}, "submitted_at": {"value": "2024-03-04T10:00:00Z"},
        "edited_at": null, "author_display_name": {"value": format!("Ann {}", review.id)},
        "merchant_reply": null, "merchant_replied_at": null,
    })
}
