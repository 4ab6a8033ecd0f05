//! The entries that programs read: reviews, feeds, insights, discovery, and the state of the service.

use super::operation::{Answer, Body, Document, Entry, Operation, Tag, Verb};
use super::{Address, parameters};
use crate::pages::Page;

pub(super) const REVIEWS: Entry = Entry {
    parent: "/",
    last: "reviews.json",
    address: Address::Reviews,
    tag: Tag::Reviews,
    operations: &[Operation {
        id: "getReviews",
        summary: "Everything that is published",
        description: "Business, aggregate rating and all reviews, newest first. A topic of the hub.",
        ..stored("application/json", "Reviews", Document::Reviews, TOPIC)
    }],
};

pub(super) const SEARCH: Entry = Entry {
    parent: "/api/reviews/",
    last: "search",
    address: Address::Search,
    tag: Tag::Reviews,
    operations: &[Operation {
        id: "searchReviews",
        summary: "Search the reviews",
        description: "All parameters are optional and combine with AND; one without a value counts as not given, and names \
                      that are no parameters are ignored and listed. Filters that contradict each other find nothing. \
                      The count is exact. Pages neither skip nor repeat a review when new ones come in between.",
        parameters: parameters::SEARCH,
        others: ASKED,
        ..stored(
            "application/json",
            "SearchPage",
            Document::Search,
            &[
                ("ETag", "ETag"),
                ("Last-Modified", "LastModified"),
                ("Cache-Control", "CacheControl"),
                ("Vary", "Vary"),
                ("Access-Control-Allow-Origin", "AllowOrigin"),
                ("Link", "NextLink"),
            ],
        )
    }],
};

pub(super) const SINCE: Entry = Entry {
    parent: "/api/reviews/since/",
    last: "{date}",
    address: Address::Since,
    tag: Tag::Reviews,
    operations: &[Operation {
        id: "listReviewsSince",
        summary: "Every review of a day and later",
        description: "Without a limit, newest first; `removed` lists reviews that were removed for good since. The \
                      entity-tag changes only when these reviews do, so it is the cheapest way to keep a copy up to \
                      date.",
        parameters: parameters::DATE,
        others: ASKED,
        ..stored("application/json", "SinceList", Document::Since, VALIDATED)
    }],
};

pub(super) const REVIEW: Entry = Entry {
    parent: "/api/reviews/",
    last: "{id}",
    address: Address::Review,
    tag: Tag::Reviews,
    operations: &[Operation {
        id: "getReview",
        summary: "One review",
        description: "The bare review, as the lists hold it.",
        parameters: parameters::ID,
        others: &[
            ("304", "NotModified"),
            ("404", "NotFound"),
            ("412", "PreconditionFailed"),
            ("default", "Refused"),
        ],
        ..stored("application/json", "Review", Document::Review, VALIDATED)
    }],
};

pub(super) const INSIGHTS: Entry = Entry {
    parent: "/",
    last: "insights.json",
    address: Address::Insights,
    tag: Tag::Reviews,
    operations: &[Operation {
        id: "getInsights",
        summary: "What the reviews say",
        description: "Subjects with counts and evidence, people, services, months, questions and answers, and how often the \
                      method is right. 503 while it is being derived after a start.",
        others: &[
            ("304", "NotModified"),
            ("412", "PreconditionFailed"),
            ("503", "Unavailable"),
            ("default", "Refused"),
        ],
        ..stored("application/json", "Insights", Document::Insights, ENCODED)
    }],
};

pub(super) const FEED_JSON: Entry = Entry {
    parent: "/api/",
    last: "feed.json",
    address: Address::FeedJson,
    tag: Tag::Feeds,
    operations: &[Operation {
        id: "getJsonFeed",
        summary: "The 50 newest reviews as JSON Feed 1.1",
        description: "Each item carries the whole review as _review. A topic of the hub.",
        ..stored("application/json", "JsonFeed", Document::FeedJson, TOPIC)
    }],
};

pub(super) const FEED_XML: Entry = Entry {
    parent: "/",
    last: "feed.xml",
    address: Address::FeedXml,
    tag: Tag::Feeds,
    operations: &[Operation {
        id: "getAtomFeed",
        summary: "The 50 newest reviews as Atom",
        description: "RFC 4287, with the same ids as the JSON Feed. A topic of the hub.",
        ..stored("application/atom+xml", "Text", Document::None, TOPIC)
    }],
};

pub(super) const LINKED_DATA: Entry = page_entry(
    "reviews.jsonld",
    Page::ReviewsJsonLd,
    Tag::Feeds,
    &[Operation {
        id: "getLinkedData",
        summary: "The practice and its newest reviews as linked data",
        description: "JSON-LD in the words of schema.org, as the page for people carries it.",
        ..stored(
            "application/ld+json",
            "LinkedData",
            Document::LinkedData,
            ENCODED,
        )
    }],
);

pub(super) const OPENAPI: Entry = page_entry(
    "openapi.json",
    Page::OpenApi,
    Tag::Discovery,
    &[Operation {
        id: "getOpenApi",
        summary: "This description",
        description: "OpenAPI 3.1, with examples made from the data that is served.",
        ..stored("application/json", "AnyObject", Document::None, ENCODED)
    }],
);

pub(super) const LLMS: Entry = page_entry(
    "llms.txt",
    Page::LlmsText,
    Tag::Discovery,
    &[Operation {
        id: "getLlmsText",
        summary: "What is here, for language models",
        description: "A short summary with links, in Markdown.",
        ..stored("text/plain; charset=utf-8", "Text", Document::None, ENCODED)
    }],
);

pub(super) const ROBOTS: Entry = page_entry(
    "robots.txt",
    Page::Robots,
    Tag::Discovery,
    &[Operation {
        id: "getRobots",
        summary: "What crawlers may read",
        description: "RFC 9309: everything but the addresses that take messages.",
        ..stored("text/plain; charset=utf-8", "Text", Document::None, ENCODED)
    }],
);

pub(super) const SITEMAP: Entry = page_entry(
    "sitemap.xml",
    Page::Sitemap,
    Tag::Discovery,
    &[Operation {
        id: "getSitemap",
        summary: "The pages for people, for search engines",
        description: "With the day of the last change.",
        ..stored("application/xml", "Text", Document::None, ENCODED)
    }],
);

pub(super) const API_CATALOG: Entry = Entry {
    parent: "/.well-known/",
    ..page_entry(
        "api-catalog",
        Page::ApiCatalog,
        Tag::Discovery,
        &[Operation {
            id: "getApiCatalog",
            summary: "Where the descriptions are",
            description: "RFC 9727: a linkset that names the description, the documentation and the state of this interface.",
            ..stored(
                Page::LINKSET,
                "Linkset",
                Document::None,
                &[
                    ("ETag", "ETag"),
                    ("Last-Modified", "LastModified"),
                    ("Cache-Control", "CacheControl"),
                    ("Vary", "Vary"),
                    ("Content-Encoding", "ContentEncoding"),
                    ("Access-Control-Allow-Origin", "AllowOrigin"),
                    ("Link", "CatalogLink"),
                ],
            )
        }],
    )
};

pub(super) const SERVER_CARD: Entry = Entry {
    parent: "/mcp/",
    last: "server-card",
    address: Address::ServerCard,
    tag: Tag::Agents,
    operations: &[Operation {
        id: "getServerCard",
        summary: "What an agent should know before it connects",
        description: "The server card of the Model Context Protocol.",
        ..stored(
            "application/mcp-server-card+json",
            "AnyObject",
            Document::None,
            ENCODED,
        )
    }],
};

pub(super) const AI_CATALOG: Entry = Entry {
    parent: "/.well-known/",
    last: "ai-catalog.json",
    address: Address::AiCatalog,
    tag: Tag::Agents,
    operations: &[Operation {
        id: "getAiCatalog",
        summary: "Where the server card is",
        description: "The catalog by which agents find servers.",
        ..stored(
            "application/ai-catalog+json",
            "AnyObject",
            Document::None,
            ENCODED,
        )
    }],
};

pub(super) const HEALTH: Entry = Entry {
    parent: "/",
    last: "healthz",
    address: Address::Health,
    tag: Tag::State,
    operations: &[Operation {
        id: "getHealth",
        summary: "Whether the process is alive",
        description: "It is if it answers.",
        others: &[("default", "Refused")],
        ..stored(
            "application/json",
            "Health",
            Document::Fixed("{\"status\":\"ok\"}"),
            UNSTORED,
        )
    }],
};

pub(super) const READY: Entry = Entry {
    parent: "/",
    last: "readyz",
    address: Address::Ready,
    tag: Tag::State,
    operations: &[Operation {
        id: "getReadiness",
        summary: "Whether it is ready, and what it serves",
        description: "503 with the same body where traffic should not come here.",
        others: &[("503", "NotReady"), ("default", "Refused")],
        ..stored("application/json", "Readiness", Document::Ready, UNSTORED)
    }],
};

/// The entry of a document of the pages, below the root.
pub(super) const fn page_entry(
    last: &'static str,
    page: Page,
    tag: Tag,
    operations: &'static [Operation],
) -> Entry {
    Entry {
        parent: "/",
        last,
        address: Address::Page(page),
        tag,
        operations,
    }
}

/// A GET with validators and without parameters; the caller gives it its words.
pub(super) const fn stored(
    media_type: &'static str,
    schema: &'static str,
    example: Document,
    headers: &'static [(&'static str, &'static str)],
) -> Operation {
    Operation {
        verb: Verb::Get,
        id: "",
        summary: "",
        description: "",
        parameters: &[],
        body: Body::None,
        answer: Answer {
            status: "200",
            description: "What was asked for.",
            media_type,
            schema,
            headers,
            example,
        },
        others: &[
            ("304", "NotModified"),
            ("412", "PreconditionFailed"),
            ("default", "Refused"),
        ],
    }
}

/// The fields of an answer made per request.
pub(super) const VALIDATED: &[(&str, &str)] = &[
    ("ETag", "ETag"),
    ("Last-Modified", "LastModified"),
    ("Cache-Control", "CacheControl"),
    ("Vary", "Vary"),
    ("Access-Control-Allow-Origin", "AllowOrigin"),
];

/// The fields of a stored document.
pub(super) const ENCODED: &[(&str, &str)] = &[
    ("ETag", "ETag"),
    ("Last-Modified", "LastModified"),
    ("Cache-Control", "CacheControl"),
    ("Vary", "Vary"),
    ("Content-Encoding", "ContentEncoding"),
    ("Access-Control-Allow-Origin", "AllowOrigin"),
];

/// The fields of a stored document that the hub pushes.
const TOPIC: &[(&str, &str)] = &[
    ("ETag", "ETag"),
    ("Last-Modified", "LastModified"),
    ("Cache-Control", "CacheControl"),
    ("Vary", "Vary"),
    ("Content-Encoding", "ContentEncoding"),
    ("Access-Control-Allow-Origin", "AllowOrigin"),
    ("Link", "TopicLink"),
];

const UNSTORED: &[(&str, &str)] = &[
    ("Cache-Control", "NoStore"),
    ("Access-Control-Allow-Origin", "AllowOrigin"),
];

/// What else comes of parameters.
const ASKED: &[(&str, &str)] = &[
    ("304", "NotModified"),
    ("400", "Invalid"),
    ("412", "PreconditionFailed"),
    ("default", "Refused"),
];
