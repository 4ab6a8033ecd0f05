//! Reference implementation of `wire::negotiate`: looks up the quality of each coding separately, and parses members
//! with a regular expression.

use std::sync::LazyLock;

use regex::Regex;

use super::lines;
use reviewd::wire::negotiate::{Coding, choose_coding};

/// A name, and a quality with at most three decimals.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    let quality = r"(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)";
    let member = format!(r"^[ \t\r\f]*([^;]*?)[ \t\r\f]*(?:;[ \t\r\f]*[qQ]={quality}[ \t\r\f]*)?$");
    Regex::new(&member).expect("a regular expression")
});

/// Checks the choice for an Accept-Encoding of one field per line of `data`, with every set of available codings.
///
/// # Panics
/// If code and reference differ.
pub fn check_accept_encoding(data: &[u8]) {
    // Of the first 32 members, those that fit the grammar count.
    let members: Vec<(String, f64)> = lines(data)
        .flat_map(|line| line.split(|&byte| byte == b','))
        .map(|member| String::from_utf8_lossy(member).into_owned())
        .filter(|member| !member.trim_ascii().is_empty())
        .take(32)
        .filter_map(|member| {
            let parts = MEMBER.captures(&member)?;
            let quality = parts.get(2).map_or("1", |quality| quality.as_str());
            Some((parts[1].to_ascii_lowercase(), quality.parse().ok()?))
        })
        .collect();
    let sets: [&[Coding]; 4] = [
        &[],
        &[Coding::Gzip],
        &[Coding::Brotli],
        &[Coding::Gzip, Coding::Brotli],
    ];
    for available in sets {
        let chosen = choose_coding(lines(data), |coding| available.contains(&coding));
        let expected = reference_choose(&members, available);
        assert_eq!(chosen, expected, "{available:?}");
    }
}

fn reference_choose(members: &[(String, f64)], available: &[Coding]) -> Coding {
    // Smallest body first; the sort is stable, so the smallest wins among equal qualities.
    let mut codings = [
        (Coding::Brotli, reference_quality(members, &["br"])),
        (
            Coding::Gzip,
            reference_quality(members, &["gzip", "x-gzip"]),
        ),
        (Coding::Identity, reference_quality(members, &["identity"])),
    ];
    codings.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    for (coding, quality) in codings {
        if quality > 0.0 && (coding == Coding::Identity || available.contains(&coding)) {
            return coding;
        }
    }
    Coding::Identity
}

/// Returns the quality of a coding with these names: that of the first member with one of them, else of the first `*`.
fn reference_quality(members: &[(String, f64)], names: &[&str]) -> f64 {
    let named = members.iter().find(|(name, _)| names.contains(&&**name));
    let member = named.or_else(|| members.iter().find(|(name, _)| name == "*"));
    member.map_or(0.0, |(_, quality)| *quality)
}
