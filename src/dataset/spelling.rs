//! What an unknown key may have been meant to be.

/// Returns the known key that `key` is at most two edits away from.
pub(super) fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    if key.len() > 40 {
        return None;
    }
    let (edits, name) = known
        .iter()
        .map(|name| (edits(key.as_bytes(), name.as_bytes()), *name))
        .min()?;
    (edits <= 2 && edits < name.len()).then_some(name)
}

/// Counts the insertions, deletions and replacements that make `a` into `b`, without regard to ASCII case.
fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(!x.eq_ignore_ascii_case(y));
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
