//! Accept-Encoding and Accept-Language with q-values (RFC 9110 §12.5.3, §12.5.4 and §12.4.2), and whether Accept prefers
//! HTML.
//!
//! A field contains no white space except blanks and tabs (§5.5), so `trim_ascii` removes only these.

/// Members of the list that are read; real clients send fewer.
const MEMBERS_MAX: usize = 32;

/// A content coding in which a body may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// No coding: the bytes are unchanged.
    Identity,
    /// RFC 1952; `x-gzip` is an old name of it (RFC 9110 §8.4.1.3).
    Gzip,
    /// RFC 7932.
    Brotli,
}

impl Coding {
    /// All codings, those with the smallest bodies first: the order in which ties are decided.
    pub const ALL: [Coding; 3] = [Coding::Brotli, Coding::Gzip, Coding::Identity];

    /// Returns the name that Content-Encoding carries; `Identity` is never sent.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Coding::Identity => "identity",
            Coding::Gzip => "gzip",
            Coding::Brotli => "br",
        }
    }

    /// Returns the suffix of the entity-tag of a body in this coding, inside the quotation marks.
    #[must_use]
    pub fn tag_suffix(self) -> &'static str {
        match self {
            Coding::Identity => "",
            Coding::Gzip => "-gz",
            Coding::Brotli => "-br",
        }
    }

    /// The coding with this `name`, without regard to case.
    fn from_name(name: &[u8]) -> Option<Coding> {
        if name.eq_ignore_ascii_case(b"x-gzip") {
            return Some(Coding::Gzip);
        }
        Coding::ALL
            .into_iter()
            .find(|coding| name.eq_ignore_ascii_case(coding.name().as_bytes()))
    }
}

/// Returns the coding to send, from the values of all Accept-Encoding fields of a request, without allocating: of the
/// available codings (identity always is) the one with the highest quality, and among equals the smallest body.
///
/// Without an acceptable coding the result is identity: a client without Accept-Encoding may not be able to decode, and
/// an unwanted coding is more useful to a client than 406 (RFC 9110 §12.5.3 allows both). Malformed members and unknown
/// codings are ignored. Our choices: if a coding is named twice its first mention counts, and members
/// after the 32nd are not read.
pub fn choose_coding<'a>(
    field_values: impl IntoIterator<Item = &'a [u8]>,
    is_available: impl Fn(Coding) -> bool,
) -> Coding {
    // The quality of each coding (at `Coding as usize`) in thousandths, if it was named, and that of `*`.
    let mut named = [None; 3];
    let mut others = None;
    let members = field_values
        .into_iter()
        .flat_map(|value| value.split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty());
    for member in members.take(MEMBERS_MAX) {
        let Some((name, quality)) = parse_member(member) else {
            continue;
        };
        let slot = match Coding::from_name(name) {
            Some(coding) => &mut named[coding as usize],
            None if name == b"*" => &mut others,
            None => continue,
        };
        slot.get_or_insert(quality);
    }
    let mut best = Coding::Identity;
    let mut best_quality = 0;
    for coding in Coding::ALL {
        let quality = named[coding as usize].or(others).unwrap_or(0);
        if quality > best_quality && (coding == Coding::Identity || is_available(coding)) {
            best = coding;
            best_quality = quality;
        }
    }
    best
}

/// Returns the language that a client prefers of those that `find` knows, from the values of all Accept-Language fields
/// (RFC 9110 §12.5.4): the one with the highest quality, and among equals the first. `*` and malformed members are
/// ignored, as are members after the 32nd (our choice).
pub fn choose_language<'a, T>(
    field_values: impl Iterator<Item = &'a [u8]>,
    find: impl Fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let mut best = None;
    let mut best_quality = 0;
    let members = field_values.flat_map(|value| value.split(|&byte| byte == b','));
    for member in members.take(MEMBERS_MAX) {
        let Some((tag, quality)) = parse_member(member.trim_ascii()) else {
            continue;
        };
        if quality <= best_quality {
            continue;
        }
        if let Some(found) = find(tag) {
            best = Some(found);
            best_quality = quality;
        }
    }
    best
}

/// Tells from the values of all Accept fields whether a client prefers HTML to JSON (RFC 9110 §12.5.1): it lists
/// `text/html`, and does not list `application/json` with a higher quality. Browsers list `text/html`, programs do not;
/// `*/*` is ignored.
pub fn prefers_html<'a>(field_values: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut html = 0;
    let mut json = 0;
    for member in field_values.flat_map(|value| value.split(|&byte| byte == b',')) {
        let mut parts = member.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        let is_html = name.eq_ignore_ascii_case(b"text/html");
        if !is_html && !name.eq_ignore_ascii_case(b"application/json") {
            continue;
        }
        let quality = match parts.find_map(weight) {
            Some(value) => parse_quality(value).unwrap_or(0),
            None => 1000,
        };
        if is_html {
            html = html.max(quality);
        } else {
            json = json.max(quality);
        }
    }
    html > 0 && html >= json
}

/// Splits `coding [ OWS ";" OWS "q=" qvalue ]` into name and quality; without a weight the quality is 1000.
fn parse_member(member: &[u8]) -> Option<(&[u8], u16)> {
    let mut parts = member
        .splitn(2, |&byte| byte == b';')
        .map(<[u8]>::trim_ascii);
    let name = parts.next()?;
    let quality = match parts.next() {
        Some(part) => parse_quality(weight(part)?)?,
        None => 1000,
    };
    Some((name, quality))
}

/// Returns the value of the parameter `q`.
fn weight(parameter: &[u8]) -> Option<&[u8]> {
    match parameter {
        [b'q' | b'Q', b'=', value @ ..] => Some(value),
        _ => None,
    }
}

/// Reads a qvalue (RFC 9110 §12.4.2), `0` to `1` with at most three decimals, in thousandths.
fn parse_quality(value: &[u8]) -> Option<u16> {
    let (whole, decimals) = match value {
        [whole] => (whole, &[][..]),
        [whole, b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let mut thousandths = 0;
    for (unit, digit) in [100, 10, 1].into_iter().zip(decimals) {
        thousandths += unit * u16::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
    }
    match whole {
        b'0' => Some(thousandths),
        b'1' if thousandths == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_known_language_is_chosen() {
        for (value, expected) in [
            ("de-AT, de;q=0.9, fr;q=0.8", Some("de")),
            ("fr;q=0.5, de;q=0.6", Some("de")),
            ("fr, de", Some("fr")),
            ("tlh, fr;q=0.1", Some("fr")),
            ("de;q=0, *", None),
            ("de;q=2, ;;, fr", Some("fr")),
            ("", None),
        ] {
            let chosen = choose_language([value.as_bytes()].into_iter(), german_or_french);
            assert_eq!(chosen, expected, "{value}");
        }
    }

    fn german_or_french(tag: &[u8]) -> Option<&'static str> {
        ["de", "fr"]
            .into_iter()
            .find(|language| tag.starts_with(language.as_bytes()))
    }

    #[test]
    fn browsers_prefer_html_and_programs_do_not() {
        let prefers =
            |values: &[&'static str]| prefers_html(values.iter().map(|value| value.as_bytes()));
        let browsers = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8|TEXT/HTML ; Q=0.1|\
            application/json;q=0.5, text/html;q=0.5|text/html;level=1;q=0.4";
        for browser in browsers.split('|') {
            assert!(prefers(&[browser]), "{browser}");
        }
        let programs = "|*/*|text/*|application/json|application/json, text/html;q=0.9|text/html;q=0|text/html;q=x";
        for program in programs.split('|') {
            assert!(!prefers(&[program]), "{program}");
        }
        assert!(prefers(&["*/*", "text/html"]));
        assert!(!prefers(&["text/html;q=0.5", "application/json"]));
    }
}
