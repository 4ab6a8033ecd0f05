//! The parameters of the interface, each described once.

use super::operation::{Kind, Parameter, Place, Value};
use crate::search::filter::Query;
use crate::search::query::{CURSOR_BYTES_MAX, TEXT_BYTES_MAX};

const fn query(
    name: &'static str,
    description: &'static str,
    kind: Kind,
    example: Value,
) -> Parameter {
    Parameter {
        name,
        place: Place::Query,
        description,
        kind,
        example,
        is_required: false,
        is_shown: false,
    }
}

const fn shown(parameter: Parameter) -> Parameter {
    Parameter {
        is_shown: true,
        ..parameter
    }
}

const fn choice(words: &'static [&'static str]) -> Kind {
    Kind::Choice {
        words,
        default: None,
    }
}

const TEXT: Kind = Kind::Text {
    bytes_max: TEXT_BYTES_MAX,
};

const RATING: Parameter = query(
    "rating",
    "Exactly so many stars",
    Kind::Integer {
        min: 1,
        max: 5,
        default: None,
    },
    Value::Fixed("5"),
);
const MIN_RATING: Parameter = query(
    "min_rating",
    "At least so many stars, such as 4 or 4.5; at most six digits behind the point",
    Kind::Decimal { min: 1, max: 5 },
    Value::Fixed("4"),
);
const SINCE: Parameter = query(
    "since",
    "From this day on, the day included",
    Kind::Date,
    Value::Date,
);
const UNTIL: Parameter = query(
    "until",
    "Up to this day, the day included",
    Kind::Date,
    Value::Date,
);
const QUERY: Parameter = query(
    "query",
    "Words or a part of a word in the review's text, without regard to case",
    TEXT,
    Value::Fixed("the"),
);
const TECHNICIAN: Parameter = query(
    "mentions_technician",
    "Somebody whom the review mentions: the whole name or an alias, without regard to case",
    TEXT,
    Value::Person,
);
const SERVICE: Parameter = query(
    "mentions_service",
    "A service that the review mentions: its id or its label, without regard to case",
    TEXT,
    Value::Service,
);
const LIMIT: Parameter = query(
    "limit",
    "Most reviews of a page",
    Kind::Integer {
        min: 1,
        max: 100,
        default: Some(Query::LIMIT_DEFAULT as u32),
    },
    Value::Fixed("5"),
);
const SORT: Parameter = query(
    "sort",
    "The order; reviews of the same rating come newest first",
    Kind::Choice {
        words: &["newest", "oldest", "highest", "lowest"],
        default: Some("newest"),
    },
    Value::Fixed("newest"),
);
const CURSOR: Parameter = query(
    "cursor",
    "next_cursor of the page before; everything else must stay as it was",
    Kind::Text {
        bytes_max: CURSOR_BYTES_MAX,
    },
    Value::None,
);

/// Those of the search.
pub(super) const SEARCH: &[Parameter] = &[
    RATING,
    shown(MIN_RATING),
    SINCE,
    UNTIL,
    QUERY,
    TECHNICIAN,
    SERVICE,
    shown(LIMIT),
    SORT,
    CURSOR,
];

/// Those of the framed reviews, which shows five unless told otherwise.
pub(super) const WIDGET: &[Parameter] = &[
    RATING,
    shown(MIN_RATING),
    SINCE,
    UNTIL,
    QUERY,
    TECHNICIAN,
    SERVICE,
    Parameter {
        kind: Kind::Integer {
            min: 1,
            max: 100,
            default: Some(5),
        },
        ..shown(LIMIT)
    },
    SORT,
    CURSOR,
];

/// Those of the page for people: the search's, and two of its own.
pub(super) const HOME: &[Parameter] = &[
    RATING,
    MIN_RATING,
    SINCE,
    UNTIL,
    QUERY,
    TECHNICIAN,
    SERVICE,
    LIMIT,
    SORT,
    CURSOR,
    query(
        "aspect",
        "The id of a subject of the insights: reviews whose words it was counted from",
        Kind::Aspect,
        Value::Aspect,
    ),
    query(
        "polarity",
        "Beside aspect: how those words sound",
        choice(&["positive", "neutral", "negative"]),
        Value::None,
    ),
];

/// The day of `/api/reviews/since/{date}`.
pub(super) const DATE: &[Parameter] = &[Parameter {
    name: "date",
    place: Place::Path,
    description: "The first day, YYYY-MM-DD",
    kind: Kind::Date,
    example: Value::Date,
    is_required: true,
    is_shown: true,
}];

/// The id of `/api/reviews/{id}`.
pub(super) const ID: &[Parameter] = &[Parameter {
    name: "id",
    place: Place::Path,
    description: "The review's id",
    kind: Kind::Pattern("^[A-Za-z0-9_-]{1,64}$"),
    example: Value::Id,
    is_required: true,
    is_shown: true,
}];

/// The colours of the badge.
pub(super) const THEME: &[Parameter] = &[query(
    "theme",
    "Colours; without it the reader's system decides. Anything else counts as not given",
    Kind::Hint(&["light", "dark"]),
    Value::None,
)];

/// The version of a file that pages load.
pub(super) const VERSION: &[Parameter] = &[query(
    "v",
    "The version that a page asks for; the current one may be kept for good",
    Kind::Hint(&[]),
    Value::None,
)];

/// The session of a later MCP message.
pub(super) const SESSION: &[Parameter] = &[
    header(
        "Mcp-Session-Id",
        "The session that initialize began; without it a request stands for itself",
    ),
    PROTOCOL_VERSION,
];

/// The session that ends.
pub(super) const SESSION_ENDED: &[Parameter] = &[
    Parameter {
        is_required: true,
        ..header("Mcp-Session-Id", "The session to end")
    },
    PROTOCOL_VERSION,
];

const PROTOCOL_VERSION: Parameter = Parameter {
    kind: choice(&["2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05"]),
    ..header(
        "MCP-Protocol-Version",
        "The revision that initialize settled on; 2026-07-28 has headers of its own",
    )
};

const fn header(name: &'static str, description: &'static str) -> Parameter {
    Parameter {
        name,
        place: Place::Header,
        description,
        kind: Kind::Pattern("^[\\x21-\\x7e]+$"),
        example: Value::None,
        is_required: false,
        is_shown: false,
    }
}
