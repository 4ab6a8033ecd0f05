//! The requests of each platform, and where its pages say whether more follow, as documented in November 2026:
//!
//! - Google: Business Profile API v4, `accounts.locations.reviews.list`: `pageSize` up to 50, `pageToken`, Bearer token.
//! - Trustpilot: `GET /v1/business-units/{id}/reviews`: `page`, `perPage` up to 100, header `apikey`.
//! - Judge.me: `GET /api/v1/reviews?shop_domain=…`: `page`, `per_page` up to 100, `api_token`.
//! - Yotpo: `GET /v1/apps/{app_key}/reviews`: `page`, `count` up to 100, `utoken`.
//! - WooCommerce: `GET /wp-json/wc/v3/products/reviews`: `page`, `per_page` up to 100, `X-WP-TotalPages`, Basic.
//! - Shopify: the Admin API, `metaobjects(type: "product_review")`, the standard definition into which review apps write.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use thiserror::Error;
use url::Url;

use super::message::{RemoteBody, RemoteRequest, RemoteResponse};
use super::shopify::{self, ShopifyError};
use super::spec::{RemoteKind, RemoteSource};

/// Reviews in a page, where the platform has no smaller limit.
const PAGE_SIZE: &str = "100";

/// Reviews in a page of Google, its largest.
const GOOGLE_PAGE_SIZE: &str = "50";

/// A position in the pages of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageNumber {
    /// From 1.
    pub(super) number: u32,
    /// The platform's own mark of the page, where it has one.
    pub(super) mark: Option<String>,
}

impl PageNumber {
    pub(super) fn first() -> PageNumber {
        PageNumber {
            number: 1,
            mark: None,
        }
    }

    fn next(&self, mark: Option<String>) -> PageNumber {
        PageNumber {
            number: self.number + 1,
            mark,
        }
    }
}

/// Returns the request of a page.
pub(super) fn request(
    source: &RemoteSource,
    token: Option<&str>,
    page: &PageNumber,
) -> RemoteRequest {
    let token = token.unwrap_or_default();
    let number = page.number.to_string();
    let bearer = format!("Bearer {token}");
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let mut fields = vec![("Accept", "application/json".to_owned())];
    let mut body = None;
    match source.kind {
        RemoteKind::Google => {
            pairs.push(("pageSize", GOOGLE_PAGE_SIZE));
            if let Some(mark) = &page.mark {
                pairs.push(("pageToken", mark));
            }
            fields.push(("Authorization", bearer));
        }
        RemoteKind::Trustpilot => {
            pairs.extend([("perPage", PAGE_SIZE), ("page", &number)]);
            fields.push(("apikey", token.to_owned()));
        }
        RemoteKind::Judgeme => {
            pairs.extend([
                ("per_page", PAGE_SIZE),
                ("page", &number),
                ("api_token", token),
            ]);
        }
        RemoteKind::Yotpo => {
            pairs.extend([("count", PAGE_SIZE), ("page", &number), ("utoken", token)]);
        }
        RemoteKind::Woocommerce => {
            // Reviews that were hidden after they were read are listed, too.
            pairs.extend([
                ("per_page", PAGE_SIZE),
                ("page", &number),
                ("status", "all"),
            ]);
            fields.push(("Authorization", format!("Basic {}", STANDARD.encode(token))));
        }
        RemoteKind::Shopify => {
            fields.push(("X-Shopify-Access-Token", token.to_owned()));
            body = Some(RemoteBody {
                media_type: "application/json",
                text: json!({"query": shopify::QUERY, "variables": {"after": page.mark}})
                    .to_string(),
            });
        }
        RemoteKind::Json | RemoteKind::Csv => {
            fields = vec![("Accept", "application/json, text/csv, */*;q=0.5".to_owned())];
            if !token.is_empty() {
                fields.push(("Authorization", bearer));
            }
        }
    }
    RemoteRequest {
        url: with_pairs(&source.url, &pairs),
        fields,
        body,
    }
}

/// Returns the address with these parameters in place of those of the same name.
fn with_pairs(address: &str, pairs: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse(address) else {
        return address.to_owned();
    };
    if pairs.is_empty() {
        return address.to_owned();
    }
    let others: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| pairs.iter().all(|(ours, _)| ours != name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    url.query_pairs_mut()
        .clear()
        .extend_pairs(others)
        .extend_pairs(pairs);
    url.into()
}

/// What is wrong with a page.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PageError {
    /// The parser's message.
    #[error("it is no complete JSON ({0})")]
    Json(String),
    /// An error of Google with a status of success.
    #[error("it is an error")]
    Answered,
    /// Another value than a list.
    #[error("it is no list of reviews")]
    NoList,
    /// An object without a list of reviews.
    #[error("it has no list \"reviews\"")]
    NoReviews,
    /// A page of a source of one document.
    #[error("it has no pages")]
    NoPages,
    /// A page of Shopify.
    #[error(transparent)]
    Shopify(#[from] ShopifyError),
}

/// What a page says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageSummary {
    /// Number of reviews.
    pub(super) count: usize,
    /// The page that follows.
    pub(super) next: Option<PageNumber>,
}

/// Reads how many reviews a page has, and which page follows.
pub(super) fn read_page(
    kind: RemoteKind,
    response: &RemoteResponse,
    page: &PageNumber,
) -> Result<PageSummary, PageError> {
    if kind.is_single_document() {
        // Whether it has reviews is found when it is read as an export.
        return Ok(PageSummary {
            count: 1,
            next: None,
        });
    }
    let document: Value = serde_json::from_slice(&response.body)
        .map_err(|error| PageError::Json(error.to_string()))?;
    match kind {
        RemoteKind::Google => {
            if document.get("error").is_some() || !document.is_object() {
                return Err(PageError::Answered);
            }
            // A location without reviews answers with an empty object.
            let count = document["reviews"].as_array().map_or(0, Vec::len);
            let mark = document["nextPageToken"].as_str().unwrap_or_default();
            let mut summary = PageSummary { count, next: None };
            if !mark.is_empty() && count > 0 {
                summary.next = Some(page.next(Some(mark.to_owned())));
            }
            Ok(summary)
        }
        RemoteKind::Woocommerce => {
            let reviews = document.as_array().ok_or(PageError::NoList)?;
            let count = reviews.len();
            let page_count = response.page_count.as_deref().unwrap_or_default();
            let is_last = match page_count.trim().parse::<u32>() {
                Ok(page_count) => page.number >= page_count,
                Err(_) => count == 0,
            };
            Ok(PageSummary {
                count,
                next: if is_last { None } else { Some(page.next(None)) },
            })
        }
        RemoteKind::Shopify => {
            let summary = shopify::read_page(&document)?;
            Ok(PageSummary {
                count: summary.count,
                next: summary.end.map(|mark| page.next(Some(mark))),
            })
        }
        RemoteKind::Trustpilot | RemoteKind::Judgeme | RemoteKind::Yotpo => {
            let reviews = document["reviews"].as_array();
            let count = reviews.ok_or(PageError::NoReviews)?.len();
            // A page may be smaller than was asked for, so only an empty one is the end.
            let is_last = count == 0;
            Ok(PageSummary {
                count,
                next: if is_last { None } else { Some(page.next(None)) },
            })
        }
        RemoteKind::Json | RemoteKind::Csv => Err(PageError::NoPages),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(kind: RemoteKind, url: &str) -> RemoteSource {
        RemoteSource {
            id: "a".to_owned(),
            kind,
            url: url.to_owned(),
            token_env: None,
            token_file: None,
            location: None,
            verification: None,
        }
    }

    #[test]
    fn parameters_of_the_address_are_kept_and_ours_replaced() {
        let judgeme = source(
            RemoteKind::Judgeme,
            "https://judge.me/api/v1/reviews?shop_domain=a.example&page=7&per_page=5",
        );
        let request = request(&judgeme, Some("s&t"), &PageNumber::first());
        let expected = "https://judge.me/api/v1/reviews?shop_domain=a.example&per_page=100&page=1&api_token=s%26t";
        assert_eq!(request.url, expected);
    }

    #[test]
    fn a_half_page_is_an_error() {
        for kind in RemoteKind::ALL
            .into_iter()
            .filter(|kind| kind.needs_token())
        {
            let response = RemoteResponse {
                status: 200,
                body: br#"{"reviews": [{"id": 1}, {"id"#.to_vec(),
                ..RemoteResponse::default()
            };
            let error = read_page(kind, &response, &PageNumber::first()).unwrap_err();
            assert!(matches!(error, PageError::Json(_)), "{kind}: {error}");
        }
    }

    #[test]
    fn an_error_with_status_200_is_no_empty_page() {
        for kind in RemoteKind::ALL
            .into_iter()
            .filter(|kind| kind.needs_token())
        {
            let response = RemoteResponse {
                status: 200,
                body: br#"{"error": "try again", "errors": [{"message": "Throttled"}]}"#.to_vec(),
                ..RemoteResponse::default()
            };
            let read = read_page(kind, &response, &PageNumber::first());
            assert!(read.is_err(), "{kind}: {read:?}");
        }
    }
}
