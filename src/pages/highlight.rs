//! Highlighted parts of a text: matches of a search, and the evidence of the insights.

use std::ops::Range;

/// A text with highlighted ranges: ascending, disjoint, on character boundaries.
#[derive(Clone, Debug, Default)]
pub(super) struct Highlighted {
    text: String,
    marks: Vec<Range<usize>>,
}

/// A stretch of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch<'t> {
    pub(super) text: &'t str,
    pub(super) is_marked: bool,
}

impl Highlighted {
    /// Merges ranges that overlap or touch, and drops those outside of the text.
    pub(super) fn new(text: String, mut marks: Vec<Range<usize>>) -> Highlighted {
        marks.retain(|mark| mark.start < mark.end && text.get(mark.clone()).is_some());
        marks.sort_unstable_by_key(|mark| mark.start);
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(marks.len());
        for mark in marks {
            match joined.last_mut() {
                Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
                _ => joined.push(mark),
            }
        }
        Highlighted {
            text,
            marks: joined,
        }
    }

    /// Returns whether the text is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the length of the text in bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the text in stretches, marked or not.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Stretch<'_>> {
        let mut at = 0;
        let end = self.text.len();
        let last = end..end;
        self.marks
            .iter()
            .cloned()
            .chain([last])
            .flat_map(move |mark| {
                let before = &self.text[at..mark.start];
                at = mark.end;
                let stretch = |text, is_marked| Stretch { text, is_marked };
                [stretch(before, false), stretch(&self.text[mark], true)]
                    .into_iter()
                    .filter(|stretch| !stretch.text.is_empty())
            })
    }
}

/// Returns the bytes of the code points `points` of `text`; beyond its end there are none.
pub(super) fn bytes_of_points(text: &str, points: Range<u32>) -> Range<usize> {
    if text.is_ascii() {
        return text.len().min(points.start as usize)..text.len().min(points.end as usize);
    }
    let at = |point: u32| {
        text.char_indices()
            .nth(point as usize)
            .map_or(text.len(), |(at, _)| at)
    };
    at(points.start)..at(points.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, marks: &[Range<usize>]) -> String {
        let marked = Highlighted::new(text.to_owned(), marks.to_vec());
        marked
            .stretches()
            .map(|stretch| match stretch.is_marked {
                true => format!("[{}]", stretch.text),
                false => stretch.text.to_owned(),
            })
            .collect()
    }

    #[test]
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "one mark is a list of one range"
    )]
    fn marks_are_joined_and_the_text_stays_whole() {
        assert_eq!(shown("abcdef", &[]), "abcdef");
        assert_eq!(shown("abcdef", &[0..6]), "[abcdef]");
        assert_eq!(shown("abcdef", &[4..5, 1..3, 2..4]), "a[bcde]f");
        assert_eq!(shown("abcdef", &[1..2, 4..6]), "a[b]cd[ef]");
        assert_eq!(shown("", &[0..0]), "");
    }

    #[test]
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "one mark is a list of one range"
    )]
    fn marks_off_the_text_are_dropped() {
        assert_eq!(shown("é!", &[0..1]), "é!");
        assert_eq!(shown("abc", &[2..9]), "abc");
    }

    #[test]
    fn code_points_become_bytes() {
        assert_eq!(bytes_of_points("abc", 1..2), 1..2);
        assert_eq!(bytes_of_points("éabc", 1..2), 2..3);
        assert_eq!(bytes_of_points("é", 0..9), 0..2);
        assert_eq!(bytes_of_points("abc", 5..9), 3..3);
    }
}
