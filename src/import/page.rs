//! The JSON-LD scripts of a saved page.

/// The scripts of `page` that hold JSON-LD, each with the line on which it begins.
pub(super) fn scripts(page: &str) -> Vec<(u64, &str)> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (page, 1);
    while let Some(script) = find(rest, "<script") {
        let Some(open) = rest[script..].find('>').map(|end| script + end + 1) else {
            break;
        };
        let content = open..find(&rest[open..], "</script").map_or(rest.len(), |end| open + end);
        line += feeds(&rest[..open]);
        let attributes = rest[script..open].to_ascii_lowercase();
        if attributes.contains("application/ld+json") {
            found.push((line, unwrapped(&rest[content.clone()])));
        }
        line += feeds(&rest[content.clone()]);
        rest = &rest[content.end..];
    }
    found
}

/// Takes the comments away that old pages put around scripts.
fn unwrapped(script: &str) -> &str {
    let wrappings = [
        ("<!--", "-->"),
        ("//<![CDATA[", "//]]>"),
        ("/*<![CDATA[*/", "/*]]>*/"),
    ];
    let script = script.trim();
    let inner = wrappings
        .iter()
        .find_map(|(open, close)| script.strip_prefix(open)?.strip_suffix(close));
    inner.unwrap_or(script)
}

fn feeds(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

/// Finds ASCII letters in any case.
fn find(text: &str, what: &str) -> Option<usize> {
    let (first, what) = (what.as_bytes().first()?, what.as_bytes());
    let bytes = text.as_bytes();
    memchr::memchr_iter(*first, bytes).find(|at| {
        let candidate = bytes.get(*at..at + what.len());
        candidate.is_some_and(|candidate| candidate.eq_ignore_ascii_case(what))
    })
}

#[cfg(test)]
mod tests {
    use super::scripts;

    #[test]
    fn scripts_are_found_with_their_lines() {
        let page = "<html>\n<script>var a = '<b>';\n</script>\n<SCRIPT id=x type='application/ld+json'>\n{\"a\":1}\n</SCRIPT>\n<script type=\"application/ld+json\"><!--{}--></script>\n<script type=\"application/ld+json\">[]";
        assert_eq!(scripts(page), [(4, "{\"a\":1}"), (7, "{}"), (8, "[]")]);
        assert_eq!(scripts("<script"), []);
        assert_eq!(scripts("İ<script>ß"), []);
    }
}
