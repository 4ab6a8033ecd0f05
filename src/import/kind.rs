//! What wrote a source, found from its first bytes.

use super::columns::normal;

/// What wrote a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A table with a header.
    Csv,
    /// Google Business Profile: answers of its API, or files of a Takeout export.
    Google,
    /// JSON objects, one a line or in an array.
    JsonLines,
    /// schema.org nodes, in a document of their own or in a saved page.
    JsonLd,
    /// Another reviewd's `/reviews.json`, or its file.
    Reviewd,
    /// The table that Trustpilot exports.
    Trustpilot,
}

impl Kind {
    /// The kind as people read it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Csv => "CSV",
            Kind::Google => "Google Business Profile",
            Kind::JsonLines => "JSON",
            Kind::JsonLd => "schema.org JSON-LD",
            Kind::Reviewd => "reviewd",
            Kind::Trustpilot => "Trustpilot CSV",
        }
    }

    /// Where the reviews of such a source were left, unless it or the operator says it.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Kind::Google => "google",
            Kind::Trustpilot => "trustpilot",
            Kind::Csv | Kind::JsonLines | Kind::JsonLd | Kind::Reviewd => "import",
        }
    }

    /// Whether dates can be numbers in any order.
    pub(crate) fn has_free_dates(self) -> bool {
        matches!(self, Kind::Csv | Kind::Trustpilot | Kind::JsonLines)
    }

    /// Finds the kind from the beginning of the text.
    pub(crate) fn detect(head: &str) -> Kind {
        let text = head.trim_start();
        if text.starts_with('<') {
            return Kind::JsonLd;
        }
        if text.starts_with(['{', '[']) {
            return json(text);
        }
        let header = head.lines().find(|line| !line.trim().is_empty());
        let header = normal(header.unwrap_or_default());
        if header.contains("reviewstars") && header.contains("reviewcreated") {
            Kind::Trustpilot
        } else {
            Kind::Csv
        }
    }
}

/// Tells the kinds of JSON apart by the first of the keys that only one of them has.
fn json(text: &str) -> Kind {
    let keys = [
        ("\"@context\"", Kind::JsonLd),
        ("\"@type\"", Kind::JsonLd),
        ("\"@graph\"", Kind::JsonLd),
        ("\"starRating\"", Kind::Google),
        ("\"reviewReply\"", Kind::Google),
        ("\"locationReviews\"", Kind::Google),
        ("\"aggregate_rating\"", Kind::Reviewd),
        ("\"author_avatar_url\"", Kind::Reviewd),
        ("\"owner_reply\"", Kind::Reviewd),
    ];
    let found = keys
        .iter()
        .filter_map(|(key, kind)| Some((text.find(key)?, *kind)))
        .min_by_key(|(at, _)| *at);
    found.map_or(Kind::JsonLines, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn each_kind_is_known_by_its_beginning() {
        for (head, kind) in [
            ("Name,Stars,Date\n", Kind::Csv),
            ("", Kind::Csv),
            (
                "\n\"Review Id\";\"Review Created (UTC)\";\"Review Stars\"\n",
                Kind::Trustpilot,
            ),
            (
                "{\"reviews\":[{\"reviewer\":{},\"starRating\":\"FIVE\"}]}",
                Kind::Google,
            ),
            ("{\"locationReviews\":[]}", Kind::Google),
            (" <!doctype html><html>", Kind::JsonLd),
            ("{\"@context\":\"https://schema.org\"}", Kind::JsonLd),
            ("[{\"@type\":\"Review\"}]", Kind::JsonLd),
            ("{\"business\":{},\"aggregate_rating\":{}}", Kind::Reviewd),
            ("{\"stars\":5}\n{\"stars\":4}\n", Kind::JsonLines),
            ("[{\"stars\":5}]", Kind::JsonLines),
        ] {
            assert_eq!(Kind::detect(head), kind, "{head}");
        }
    }
}
