//! The flags of the data: where they are, how changes are noticed, and what they may take.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::values::{parse_file_size, parse_size, parse_time, render_time, whole};
use crate::insights;
use crate::server::DataSource;

/// The flags of the data.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub(super) struct DataFlags {
    /// Directory with reviews.json and its companions [default: `data` if that directory exists, else a sample]
    #[arg(long, env = "REVIEWD_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Do not ask the system to report changed files; SIGHUP and --poll remain
    #[arg(long, env = "REVIEWD_NO_WATCH")]
    pub(super) no_watch: bool,
    /// How often to look for changed files, for file systems that report none; 0 never looks
    #[arg(long, env = "REVIEWD_POLL", value_name = "TIME", default_value = "5s", value_parser = parse_poll)]
    pub(super) poll: Duration,
    /// Largest data file that is read
    #[arg(long, env = "REVIEWD_DATA_FILE_BYTES", value_name = "SIZE", default_value = "256MiB", value_parser = parse_file_size)]
    pub(super) data_file_bytes: u64,
    /// Mentions from which on an aspect of the insights is scored; with fewer it is counted only
    #[arg(long, env = "REVIEWD_MENTIONS_MIN", value_name = "NUMBER", default_value_t = insights::MENTIONS_MIN,
        value_parser = whole::<u32>(1, 1_000_000))]
    pub(super) mentions_min: u32,
    /// Most memory that the index of the texts may take; searches get slower with less, answers stay the same
    /// [default: five times the texts, at least 128MiB, at most a quarter of the memory]
    #[arg(long, env = "REVIEWD_SEARCH_MEMORY", value_name = "SIZE", value_parser = parse_size)]
    pub(super) search_memory: Option<u64>,
}

impl DataFlags {
    /// Takes what was asked for, else the usual directory where it exists, else the sample.
    pub(super) fn source(&self, usual: &Path) -> DataSource {
        match &self.data {
            Some(directory) => DataSource::Directory(directory.clone()),
            None if usual.is_dir() => DataSource::Directory(usual.to_owned()),
            None => DataSource::Sample,
        }
    }
}

fn parse_poll(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        Duration::ZERO => Ok(Duration::ZERO),
        time if (POLL_MIN..=POLL_MAX).contains(&time) => Ok(time),
        _ => Err(format!(
            "must be 0, or from {} to {}",
            render_time(POLL_MIN),
            render_time(POLL_MAX)
        )),
    }
}

/// How often files can be looked at, at most and at least: more often is work without end, and never is 0.
const POLL_MIN: Duration = Duration::from_millis(100);
const POLL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::DataFlags;
    use crate::server::DataSource;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        data: DataFlags,
    }

    fn source(flags: &[&str], usual: &Path) -> DataSource {
        let line = Line::parse_from([&["reviewd"], flags].concat());
        line.data.source(usual)
    }

    #[test]
    fn a_directory_that_was_asked_for_is_taken_even_if_it_is_missing() {
        let found = source(&["--data", "/nowhere"], Path::new("/"));
        assert_eq!(found, DataSource::Directory("/nowhere".into()));
    }

    #[test]
    fn without_one_the_usual_directory_is_taken_where_it_exists() {
        let usual = tempfile::tempdir().unwrap();
        let found = source(&[], usual.path());
        assert_eq!(found, DataSource::Directory(usual.path().to_owned()));
        let found = source(&[], &usual.path().join("none"));
        assert_eq!(found, DataSource::Sample);
    }
}
