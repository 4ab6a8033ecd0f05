//! A document as an example of itself: every list cut to its first entries, every large table to its first rows.

/// Items of a list that are kept: both of a pair, and enough to see that a list is one.
const ITEMS_MAX: usize = 2;

/// Members of an object that are kept: more than any object of ours has that is not a table by id.
const MEMBERS_MAX: usize = 24;

/// Returns `document` without white space, each array with at most its first 2 items and each object with at most its
/// first 24 members, or `None` where it is no JSON. One pass, 1 ns a byte.
///
/// The document is one that was checked, so no deeper than the parser that checked it goes.
pub(super) fn abridged(document: &[u8]) -> Option<Vec<u8>> {
    let mut cut = Cut {
        rest: document,
        out: Vec::new(),
    };
    cut.value(true)?;
    Some(cut.out)
}

struct Cut<'d> {
    rest: &'d [u8],
    out: Vec<u8>,
}

impl Cut<'_> {
    /// Reads one value and the white space around it.
    fn value(&mut self, kept: bool) -> Option<()> {
        self.space();
        match self.rest.first()? {
            b'[' => self.list(kept)?,
            b'{' => self.table(kept)?,
            b'"' => self.string(kept)?,
            _ => {
                let ends =
                    |byte: &u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
                let end = self.rest.iter().position(ends).unwrap_or(self.rest.len());
                self.take(end, kept)?;
            }
        }
        self.space();
        Some(())
    }

    fn list(&mut self, kept: bool) -> Option<()> {
        self.take(1, kept)?;
        self.space();
        let mut count = 0;
        while *self.rest.first()? != b']' {
            let kept = kept && count < ITEMS_MAX;
            if count > 0 {
                self.take(1, kept)?;
            }
            self.value(kept)?;
            count += 1;
        }
        self.take(1, kept)
    }

    fn table(&mut self, kept: bool) -> Option<()> {
        self.take(1, kept)?;
        self.space();
        let mut count = 0;
        while *self.rest.first()? != b'}' {
            let kept = kept && count < MEMBERS_MAX;
            if count > 0 {
                self.take(1, kept)?;
                self.space();
            }
            self.string(kept)?;
            self.space();
            self.take(1, kept)?;
            self.value(kept)?;
            count += 1;
        }
        self.take(1, kept)
    }

    fn string(&mut self, kept: bool) -> Option<()> {
        let mut at = 1;
        loop {
            at += memchr::memchr2(b'"', b'\\', self.rest.get(at..)?)?;
            if self.rest.get(at) == Some(&b'"') {
                return self.take(at + 1, kept);
            }
            at += 2;
        }
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn take(&mut self, bytes: usize, kept: bool) -> Option<()> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        if kept {
            self.out.extend_from_slice(taken);
        }
        self.rest = rest;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(document: &str) -> Option<String> {
        abridged(document.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    #[test]
    fn lists_keep_their_first_items_at_every_depth() {
        for (document, expected) in [
            ("[1,2,3]", "[1,2]"),
            (" [ ] ", "[]"),
            (
                "{\"a\":[{\"b\":[true,false,null]},{},{}],\"c\":\"x,]\\\"\\\\\"}",
                "{\"a\":[{\"b\":[true,false]},{}],\"c\":\"x,]\\\"\\\\\"}",
            ),
            (
                "{ \"a\" : [ \"}\" , 2 , [ ] ] , \"b\" : null }",
                "{\"a\":[\"}\",2],\"b\":null}",
            ),
            ("-1.5e3", "-1.5e3"),
            ("{}", "{}"),
        ] {
            assert_eq!(cut(document).as_deref(), Some(expected), "{document}");
        }
    }

    #[test]
    fn tables_keep_their_first_rows() {
        let table = |rows: usize| {
            let rows: Vec<String> = (0..rows).map(|row| format!("\"{row}\":{{}}")).collect();
            format!("{{{}}}", rows.join(","))
        };
        assert_eq!(cut(&table(24)), Some(table(24)));
        assert_eq!(cut(&table(25)), Some(table(24)));
    }

    #[test]
    fn what_breaks_off_is_nothing() {
        for document in [
            "", "[", "[1,", "{\"a\"", "{\"a\":", "\"a", "\"a\\", "{\"a\":1",
        ] {
            assert_eq!(cut(document), None, "{document}");
        }
    }
}
