//! Finds the name that was meant by a misspelt one.

/// Longest misspelt name that is compared, in bytes. A longer one is similar to none, and to compare it would be slow.
const COMPARED_BYTES_MAX: usize = 40;

/// Most letters that differ.
const EDITS_MAX: usize = 2;

/// Returns the one of `names` that is nearest to `misspelt` without regard to case: at most two edits away, and fewer than
/// it has bytes; of equally near ones the first in alphabetical order.
pub fn similar_name<'n>(
    misspelt: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    if misspelt.len() > COMPARED_BYTES_MAX {
        return None;
    }
    let misspelt = misspelt.to_ascii_lowercase();
    let distances = names.into_iter().map(|name| {
        let edits = strsim::levenshtein(&misspelt, &name.to_ascii_lowercase());
        (edits, name)
    });
    let (edits, name) = distances.min()?;
    if edits > EDITS_MAX || edits >= name.len() {
        return None;
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_two_edits_are_similar() {
        for (misspelt, expected) in [
            ("REVIEWD_BNID", Some("REVIEWD_BIND")),
            ("reviewd_bind", Some("REVIEWD_BIND")),
            ("REVIEWD_BNDI_X", None),
            ("ix", Some("id")),
            ("b", None),
        ] {
            let names = ["REVIEWD_BIND", "id"];
            assert_eq!(similar_name(misspelt, names), expected, "{misspelt}");
        }
        let long = "a".repeat(COMPARED_BYTES_MAX + 1);
        assert_eq!(similar_name(&long, [&*long]), None);
    }
}
