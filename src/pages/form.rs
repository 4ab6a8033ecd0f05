//! The query parameters of a page as the visitor wrote them, so that the filters and the links can repeat them.

use super::PageLanguage;
use super::text::encoded;
use crate::search::query::{PAIRS_MAX, Parameter, TEXT_BYTES_MAX};
use crate::wire::form::{decode_into, pairs};

/// Names and decoded values of the parameters of a search. Of several with one name the first counts; empty values are
/// left out.
#[derive(Debug, Default)]
pub(super) struct QueryParams {
    values: Vec<(&'static str, String)>,
    /// The language that the visitor has chosen, which all links keep.
    language: Option<&'static str>,
    /// Whether a filter replaces the one in use, because a site of files has no pages for two filters.
    pub(super) is_single: bool,
}

impl QueryParams {
    /// Returns no parameters but the language that the visitor has chosen.
    pub(super) fn of_language(language: PageLanguage) -> QueryParams {
        let mut params = QueryParams::default();
        if language.is_explicit {
            params.language = Some(language.chosen.code());
        }
        params
    }

    /// Parses the query string; leaves out values that cannot be decoded or are too long.
    pub(super) fn read(raw: &[u8], language: PageLanguage) -> QueryParams {
        let mut params = QueryParams::of_language(language);
        let mut text = String::new();
        for pair in pairs(raw).take(PAIRS_MAX) {
            text.clear();
            if decode_into(pair.name, &mut text).is_err() {
                continue;
            }
            let Some(name) = Parameter::named(&text).map(Parameter::name) else {
                continue;
            };
            text.clear();
            let is_read = decode_into(pair.value, &mut text).is_ok();
            let fits = !text.is_empty() && text.len() <= TEXT_BYTES_MAX;
            if is_read && fits && params.value(name).is_empty() {
                params.values.push((name, text.clone()));
            }
        }
        params
    }

    /// Returns the value of a parameter, or "".
    pub(super) fn value(&self, name: &str) -> &str {
        match self.iter().find(|(other, _)| *other == name) {
            Some((_, value)) => value,
            None => "",
        }
    }

    /// Returns whether the query has none of these parameters; it may have a language.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the parameters in the order of the query.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let values = self.values.iter();
        values.map(|(name, value)| (*name, value.as_str()))
    }

    /// Returns the URL of the same search without the parameter `left_out`: of its first page, or of the page after
    /// `cursor`.
    pub(super) fn href(&self, left_out: Option<&str>, cursor: Option<&str>) -> String {
        let mut pairs = Vec::new();
        for (name, value) in self.iter() {
            if name != "cursor" && left_out != Some(name) {
                pairs.push(encoded(&format!("{name}="), value));
            }
        }
        if let Some(cursor) = cursor {
            pairs.push(encoded("cursor=", cursor));
        }
        self.joined(pairs)
    }

    /// Returns the URL of the first page of the same search with `name` set to `value`.
    pub(super) fn href_with(&self, name: &str, value: &str) -> String {
        let mut pairs = Vec::new();
        for (other, value_of_other) in self.iter() {
            if other != "cursor" && other != name && !self.is_single {
                pairs.push(encoded(&format!("{other}="), value_of_other));
            }
        }
        pairs.push(encoded(&format!("{name}="), value));
        self.joined(pairs)
    }

    /// Returns `href`, which has a query, with the language that the visitor has chosen.
    pub(super) fn with_language(&self, href: &str) -> String {
        match self.language {
            Some(language) => format!("{href}&lang={language}"),
            None => href.to_owned(),
        }
    }

    fn joined(&self, mut pairs: Vec<String>) -> String {
        if let Some(language) = self.language {
            pairs.push(format!("lang={language}"));
        }
        if pairs.is_empty() {
            return "/".to_owned();
        }
        format!("/?{}", pairs.join("&"))
    }

    /// Returns the parameters that the search form repeats: all but `words`, its own field, and `cursor`, as a new
    /// search begins at the first page.
    pub(super) fn hidden(&self) -> Vec<HiddenField<'_>> {
        let mut fields = Vec::new();
        for (name, value) in self.iter() {
            if !matches!(name, "words" | "cursor") {
                fields.push(HiddenField { name, value });
            }
        }
        let language = self.language.map(|value| HiddenField {
            name: "lang",
            value,
        });
        fields.extend(language);
        fields
    }
}

/// A parameter that the search form repeats.
pub(super) struct HiddenField<'p> {
    pub(super) name: &'static str,
    pub(super) value: &'p str,
}
