//! What a request for a page has given: kept as it came, so that the form, the chips and the links can repeat it.

use std::borrow::Cow;

use super::text::push_encoded;
use crate::search::issue::{Code, Issue, cut, cut_lossy};
use crate::search::query::{PAIRS_MAX, Parameter, TEXT_BYTES_MAX};
use crate::wire::form::{decode_into, pairs};

/// The parameter of the pages alone that names an aspect of the insights.
pub(super) const ASPECT: &str = "aspect";
/// The parameter of the pages alone that keeps mentions of one polarity.
pub(super) const POLARITY: &str = "polarity";

/// Names and decoded values of the parameters that a page knows; the first of each, empty ones left out.
#[derive(Debug, Default)]
pub(super) struct Given {
    values: Vec<(&'static str, String)>,
    /// What is wrong with the parameters of the pages alone before their values are looked at; the interface's search
    /// tells of the others.
    pub(super) faults: Vec<Issue>,
}

impl Given {
    /// Reads the query string; what cannot be decoded, or is too long to be repeated, is left out, as is a polarity
    /// without an aspect, which means nothing.
    pub(super) fn read(raw: &[u8]) -> Given {
        let mut given = Given::default();
        let mut text = String::new();
        for pair in pairs(raw).take(PAIRS_MAX) {
            text.clear();
            if decode_into(pair.name, &mut text).is_err() {
                continue;
            }
            let Some(name) = known(&text) else {
                continue;
            };
            text.clear();
            let decoded = decode_into(pair.value, &mut text);
            let is_own = name == ASPECT || name == POLARITY;
            let fault = match decoded {
                Err(error) => {
                    let received = cut_lossy(pair.value);
                    Some(issue(
                        name,
                        Code::InvalidEncoding,
                        error.to_string().into(),
                        &received,
                    ))
                }
                Ok(()) if text.is_empty() => continue,
                Ok(()) if text.len() > TEXT_BYTES_MAX => {
                    let message = format!("must be at most {TEXT_BYTES_MAX} bytes");
                    Some(issue(name, Code::TooLong, message.into(), &text))
                }
                Ok(()) if !given.value(name).is_empty() => Some(issue(
                    name,
                    Code::Duplicate,
                    "must be given once".into(),
                    &text,
                )),
                Ok(()) => None,
            };
            match fault {
                None => given.values.push((name, text.clone())),
                Some(fault) if is_own => given.faults.push(fault),
                Some(_) => {}
            }
        }
        given.forget_polarity_alone();
        given
    }

    /// The form sends a tone alone when no subject was chosen yet, which is no mistake of the person.
    fn forget_polarity_alone(&mut self) {
        let is_aspect = |issue: &Issue| issue.path.as_deref() == Some(ASPECT);
        if self.value(ASPECT).is_empty() && !self.faults.iter().any(is_aspect) {
            self.values.retain(|(name, _)| *name != POLARITY);
            self.faults.clear();
        }
    }

    /// Returns the value of a parameter, or nothing.
    pub(super) fn value(&self, name: &str) -> &str {
        self.values
            .iter()
            .find(|(known, _)| *known == name)
            .map_or("", |(_, value)| value.as_str())
    }

    /// Tells whether nothing was given that changes what is shown; faults are told before this is asked.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the parameters in the order in which they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
    }

    /// Returns the address of the same search without the parameters `left_out`, nor a place in the pages.
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

/// Makes an issue of the parameter `name`.
pub(super) fn issue(
    name: &'static str,
    code: Code,
    message: Cow<'static, str>,
    received: &str,
) -> Issue {
    Issue {
        path: Some(name.into()),
        code,
        message,
        received: cut(received).to_owned(),
    }
}

/// Returns the parameter of this name.
fn known(name: &str) -> Option<&'static str> {
    Parameter::named(name)
        .map(Parameter::name)
        .or_else(|| [ASPECT, POLARITY].into_iter().find(|known| *known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_parameters_are_kept_in_order_and_repeated_in_links() {
        let given = Given::read(b"utm=x&query=a+b%26&rating=&cursor=zz&rating=5&%zz=1&since=%zz");
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
        assert!(!Given::read(at_the_bound.as_bytes()).is_empty());
        assert!(Given::read(format!("{at_the_bound}x").as_bytes()).is_empty());
    }

    #[test]
    fn own_parameters_that_cannot_be_read_are_faults() {
        let at_the_bound = format!("aspect={}", "x".repeat(TEXT_BYTES_MAX));
        for (raw, codes) in [
            ("aspect=a&aspect=b&query=a&query=b", vec![Code::Duplicate]),
            ("aspect=%zz&polarity=%ff", vec![Code::InvalidEncoding; 2]),
            ("aspect=a&polarity=%zz", vec![Code::InvalidEncoding]),
            (&format!("{at_the_bound}x"), vec![Code::TooLong]),
            (&at_the_bound, vec![]),
            ("polarity=%zz&polarity=positive", vec![]),
        ] {
            let given = Given::read(raw.as_bytes());
            let found: Vec<Code> = given.faults.iter().map(|issue| issue.code).collect();
            assert_eq!(found, codes, "{}", cut(raw));
        }
        let given = Given::read(b"aspect=a&aspect=b");
        assert_eq!(given.value(ASPECT), "a");
    }

    #[test]
    fn a_polarity_without_an_aspect_is_not_given() {
        for raw in [
            "polarity=positive",
            "polarity=positive&aspect=",
            "polarity=good",
        ] {
            assert!(Given::read(raw.as_bytes()).is_empty(), "{raw}");
        }
        let given = Given::read(b"polarity=positive&aspect=a");
        assert_eq!(given.value(POLARITY), "positive");
    }
}
