//! JSON that was written by hand, without the white space that makes it readable.

/// Returns hand-written JSON without the white space between its tokens.
#[must_use]
pub fn minified(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut in_string = false;
    let mut escaped = false;
    for byte in text.bytes() {
        if in_string || !byte.is_ascii_whitespace() {
            out.push(byte);
        }
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_and_strings_stay() {
        let text = "{ \"a b\" : [ 1 ,\n\t\"x \\\" y\" , \"\\\\\" ] }";
        assert_eq!(minified(text), br#"{"a b":[1,"x \" y","\\"]}"#);
    }
}
