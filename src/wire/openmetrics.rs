//! An append-only writer of OpenMetrics 1.0 text, the format that Prometheus and its kin read.

use super::json::push_u64;

/// The media type of the text.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a family of samples is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only ever grows; its samples end in `_total`.
    Counter,
    /// A number of the moment.
    Gauge,
    /// Cumulative buckets with `_count` and `_sum`.
    Histogram,
    /// Labels whose value is always 1; its sample ends in `_info`.
    Info,
}

/// A text that is being written; [`Exposition::finish`] ends it.
#[derive(Debug, Default)]
pub struct Exposition {
    out: Vec<u8>,
    /// The family that samples belong to.
    family: &'static str,
}

impl Exposition {
    /// Begins a text.
    #[must_use]
    pub fn new() -> Exposition {
        Exposition::default()
    }

    /// Begins a family. A name that ends in `_seconds` or `_bytes` says its unit as well.
    pub fn family(&mut self, name: &'static str, kind: Kind, help: &str) {
        self.family = name;
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Info => "info",
        };
        self.line("TYPE", kind);
        if let Some((_, unit @ ("seconds" | "bytes"))) = name.rsplit_once('_') {
            self.line("UNIT", unit);
        }
        self.line("HELP", &escaped(help));
    }

    /// Appends one sample of the family: `suffix` is what its name ends in, `""` on a gauge.
    pub fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: u64) {
        self.begin(suffix, labels);
        push_u64(&mut self.out, value);
        self.out.push(b'\n');
    }

    /// Appends one sample in seconds, exact to the nanosecond.
    pub fn nanoseconds(&mut self, suffix: &str, labels: &[(&str, &str)], value_ns: u64) {
        self.begin(suffix, labels);
        let (whole, rest) = (value_ns / 1_000_000_000, value_ns % 1_000_000_000);
        self.out
            .extend_from_slice(format!("{whole}.{rest:09}\n").as_bytes());
    }

    /// Ends the text.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.out.extend_from_slice(b"# EOF\n");
        self.out
    }

    fn line(&mut self, word: &str, rest: &str) {
        let line = format!("# {word} {} {rest}\n", self.family);
        self.out.extend_from_slice(line.as_bytes());
    }

    fn begin(&mut self, suffix: &str, labels: &[(&str, &str)]) {
        self.out.extend_from_slice(self.family.as_bytes());
        self.out.extend_from_slice(suffix.as_bytes());
        for (place, (name, value)) in labels.iter().enumerate() {
            let mark = if place == 0 { '{' } else { ',' };
            let label = format!("{mark}{name}=\"{}\"", escaped(value));
            self.out.extend_from_slice(label.as_bytes());
        }
        if !labels.is_empty() {
            self.out.push(b'}');
        }
        self.out.push(b' ');
    }
}

/// Returns `text` with what label values and help texts escape.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Exposition)) -> String {
        let mut exposition = Exposition::new();
        write(&mut exposition);
        String::from_utf8(exposition.finish()).expect("text")
    }

    #[test]
    fn an_empty_text_is_its_end() {
        assert_eq!(text(|_| {}), "# EOF\n");
    }

    #[test]
    fn a_family_with_a_unit_says_it() {
        let written = text(|out| {
            out.family("a_seconds", Kind::Gauge, "A \"time\".\n");
            out.nanoseconds("", &[], 1_000_000_007);
            out.nanoseconds("", &[], 999);
        });
        assert_eq!(
            written,
            "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds A \\\"time\\\".\\n\n\
             a_seconds 1.000000007\na_seconds 0.000000999\n# EOF\n"
        );
    }

    #[test]
    fn a_name_that_only_sounds_like_a_unit_has_none() {
        assert!(!text(|out| out.family("kilobytes", Kind::Gauge, "x")).contains("UNIT"));
    }

    #[test]
    fn labels_are_escaped() {
        let written = text(|out| {
            out.family("a", Kind::Info, "x");
            out.sample("_info", &[("b", "\\\"\n"), ("c", "é")], u64::MAX);
        });
        assert!(
            written.contains("a_info{b=\"\\\\\\\"\\n\",c=\"é\"} 18446744073709551615\n"),
            "{written}"
        );
    }
}
