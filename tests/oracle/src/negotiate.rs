//! The reference implementation of `wire::negotiate`: each coding's quality looked up on its own, q-values read as fractions.

use super::lines;
use reviewd::wire::negotiate::{Coding, choose_coding};

/// Checks the choice for an Accept-Encoding of one field per line of `data`, against every set of codings at hand.
///
/// # Panics
/// If code and reference differ.
pub fn check_accept_encoding(data: &[u8]) {
    let members = reference_members(data);
    let sets: [&[Coding]; 4] = [
        &[],
        &[Coding::Gzip],
        &[Coding::Brotli],
        &[Coding::Gzip, Coding::Brotli],
    ];
    for available in sets {
        let chosen = choose_coding(lines(data), |coding| available.contains(&coding));
        assert_eq!(
            chosen,
            reference_choose(&members, available),
            "{available:?}"
        );
    }
}

fn reference_choose(members: &[(String, f64)], available: &[Coding]) -> Coding {
    // Smallest body first; the sort is stable, so that order decides between equals.
    let mut codings = [
        (Coding::Brotli, vec!["br"]),
        (Coding::Gzip, vec!["gzip", "x-gzip"]),
        (Coding::Identity, vec!["identity"]),
    ]
    .map(|(coding, names)| (coding, reference_quality(members, &names)));
    codings.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    let acceptable = |&&(coding, quality): &&(Coding, f64)| {
        quality > 0.0 && (coding == Coding::Identity || available.contains(&coding))
    };
    codings
        .iter()
        .find(acceptable)
        .map_or(Coding::Identity, |&(coding, _)| coding)
}

/// The quality of the first member called one of `names`, else that of the first `*`, else 0.
fn reference_quality(members: &[(String, f64)], names: &[&str]) -> f64 {
    let first = |names: &[&str]| {
        members
            .iter()
            .find(|(name, _)| names.contains(&name.as_str()))
    };
    first(names)
        .or_else(|| first(&["*"]))
        .map_or(0.0, |&(_, quality)| quality)
}

/// Names and qualities of the first 32 members, without those that do not fit the grammar.
fn reference_members(data: &[u8]) -> Vec<(String, f64)> {
    lines(data)
        .flat_map(|line| line.split(|&byte| byte == b','))
        .map(|member| String::from_utf8_lossy(member).into_owned())
        .filter(|member| !member.trim_matches([' ', '\t']).is_empty())
        .take(32)
        .filter_map(|member| reference_member(&member))
        .collect()
}

fn reference_member(member: &str) -> Option<(String, f64)> {
    let (name, quality) = match member.split_once(';') {
        None => (member, 1.0),
        Some((name, weight)) => {
            let weight = weight.trim_matches([' ', '\t']);
            (
                name,
                reference_fraction(weight.strip_prefix("q=").or(weight.strip_prefix("Q="))?)?,
            )
        }
    };
    Some((name.trim_matches([' ', '\t']).to_ascii_lowercase(), quality))
}

/// `0`, `0.` and up to three digits, or `1`, `1.` and up to three zeros.
fn reference_fraction(text: &str) -> Option<f64> {
    let shaped = text.len() <= 5
        && text.chars().enumerate().all(|(at, character)| match at {
            0 => matches!(character, '0' | '1'),
            1 => character == '.',
            _ => character.is_ascii_digit(),
        });
    let fraction: f64 = text.parse().ok()?;
    (shaped && fraction <= 1.0).then_some(fraction)
}
