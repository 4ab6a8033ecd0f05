//! The parameters of a request for a page, kept as given so that the form, the filter labels and the links repeat them.

use super::text::push_encoded;
use crate::search::query::{PAIRS_MAX, Parameter, TEXT_BYTES_MAX};
use crate::wire::form::{decode_into, pairs};

/// Names and decoded values of the parameters that a page knows; the first of each, empty ones left out.
#[derive(Debug, Default)]
pub(super) struct QueryParams {
    values: Vec<(&'static str, String)>,
}

impl QueryParams {
    /// Reads the query string; what cannot be decoded, or is too long to be repeated, is left out.
    pub(super) fn read(raw: &[u8]) -> QueryParams {
        let mut given = QueryParams::default();
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
            if is_read && fits && given.value(name).is_empty() {
                given.values.push((name, text.clone()));
            }
        }
        given
    }

    /// Returns the value of a parameter, or nothing.
    pub(super) fn value(&self, name: &str) -> &str {
        self.values
            .iter()
            .find(|(known, _)| *known == name)
            .map_or("", |(_, value)| value.as_str())
    }

    /// Tells whether nothing was given that changes what is shown.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the parameters in the order in which they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
    }

    /// Returns the address of the first page of the same search without the parameters `left_out`.
    pub(super) fn href_without(&self, left_out: &[&str]) -> String {
        self.href(left_out, None)
    }

    /// Returns the address of the page that begins after `cursor`.
    pub(super) fn href_after(&self, cursor: &str) -> String {
        self.href(&[], Some(cursor))
    }

    fn href(&self, left_out: &[&str], cursor: Option<&str>) -> String {
        let mut href = String::from("/");
        let kept = self
            .iter()
            .filter(|(name, _)| *name != "cursor" && !left_out.contains(name));
        for (name, value) in kept.chain(cursor.map(|cursor| ("cursor", cursor))) {
            href.push(if href.len() == 1 { '?' } else { '&' });
            href.push_str(name);
            href.push('=');
            push_encoded(&mut href, value);
        }
        href
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_parameters_are_kept_in_order_and_repeated_in_links() {
        let given =
            QueryParams::read(b"utm=x&query=a+b%26&rating=&cursor=zz&rating=5&%zz=1&since=%zz");
        let values: Vec<_> = given.iter().collect();
        assert_eq!(
            values,
            [("query", "a b&"), ("cursor", "zz"), ("rating", "5")]
        );
        assert_eq!(given.href_without(&[]), "/?query=a+b%26&rating=5");
        assert_eq!(given.href_without(&["query", "rating"]), "/");
        assert_eq!(
            given.href_after("c-_"),
            "/?query=a+b%26&rating=5&cursor=c-_"
        );
    }

    #[test]
    fn values_that_are_too_long_are_not_repeated() {
        let at_the_bound = format!("query={}", "x".repeat(TEXT_BYTES_MAX));
        assert!(!QueryParams::read(at_the_bound.as_bytes()).is_empty());
        assert!(QueryParams::read(format!("{at_the_bound}x").as_bytes()).is_empty());
    }
}
