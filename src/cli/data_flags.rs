//! The flags of the data: where they are, how they are followed, and what they may take.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::exit::{Failure, Status};
use super::values::{parse_file_size, parse_size, parse_time, render_time, time, whole};
use crate::insights;
use crate::server::DataSource;
use crate::server::bundle::{Location, Remote};

/// The flags of the data.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub(super) struct DataFlags {
    /// Directory with reviews.json and its companions, or an https:// or file:// address of a bundle (….tar.zst) or of a
    /// directory (…/), which is followed [default: `data` if that directory exists, else a sample]
    #[arg(long, env = "REVIEWD_DATA", value_name = "DIR|URL", value_parser = parse_data)]
    data: Option<DataFlag>,
    /// How often to look at that address, 1s to 1d [default: 1m]
    #[arg(long, env = "REVIEWD_DATA_POLL", value_name = "TIME", value_parser = time(DATA_POLL_MIN, DATA_POLL_MAX))]
    data_poll: Option<Duration>,
    /// Trust the certificate authorities in this PEM file, too, for that address
    #[arg(long, env = "REVIEWD_DATA_CA", value_name = "FILE")]
    data_ca: Option<PathBuf>,
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

/// Where the data are, as a flag names it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DataFlag {
    Directory(PathBuf),
    Remote(Location),
}

impl DataFlags {
    /// Takes what was asked for, else the usual directory where it exists, else the sample.
    ///
    /// # Errors
    /// 64 for settings of an address where none is given.
    pub(super) fn source(&self, usual: &Path) -> Result<DataSource, Failure> {
        if let Some(DataFlag::Remote(location)) = &self.data {
            return Ok(DataSource::Remote(Remote {
                location: location.clone(),
                poll: self.data_poll.unwrap_or(DATA_POLL),
                ca: self.data_ca.clone(),
            }));
        }
        if let Some(poll) = self.data_poll {
            return Err(lonely("--data-poll", &render_time(poll)));
        }
        if let Some(ca) = &self.data_ca {
            return Err(lonely("--data-ca", &ca.display().to_string()));
        }
        Ok(match &self.data {
            Some(DataFlag::Directory(directory)) => DataSource::Directory(directory.clone()),
            _ if usual.is_dir() => DataSource::Directory(usual.to_owned()),
            _ => DataSource::Sample,
        })
    }
}

/// Refuses a setting of an address that is not there: it would change nothing, and nobody would know.
fn lonely(flag: &str, value: &str) -> Failure {
    let message = format!(
        "{flag} {value} needs --data with an address that is followed (https://, or the file:// of a bundle)"
    );
    Failure::new(Status::Usage, message)
}

/// Parses a path, or an address; a directory of this machine is one and the same by both.
fn parse_data(text: &str) -> Result<DataFlag, String> {
    if !text.contains("://") {
        return Ok(DataFlag::Directory(PathBuf::from(text)));
    }
    let location = Location::parse(text)?;
    Ok(match location.directory() {
        Some(directory) => DataFlag::Directory(directory),
        None => DataFlag::Remote(location),
    })
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

/// Time between two looks at an address.
const DATA_POLL: Duration = Duration::from_secs(60);

/// Bounds of the time between two looks at an address: an object store is asked no more often than that, and a replica
/// is no further behind.
const DATA_POLL_MIN: Duration = Duration::from_secs(1);
const DATA_POLL_MAX: Duration = Duration::from_secs(86_400);

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

    fn source(flags: &[&str], usual: &Path) -> Result<DataSource, String> {
        let line = Line::try_parse_from([&["reviewd"], flags].concat());
        let line = line.map_err(|error| error.to_string())?;
        line.data.source(usual).map_err(|refused| refused.message)
    }

    #[test]
    fn a_directory_that_was_asked_for_is_taken_even_if_it_is_missing() {
        for asked in ["/nowhere", "file:///nowhere/"] {
            let source = source(&["--data", asked], Path::new("/")).unwrap();
            let DataSource::Directory(directory) = source else {
                panic!("{source:?}");
            };
            assert_eq!(directory, Path::new("/nowhere"));
        }
    }

    #[test]
    fn without_one_the_usual_directory_is_taken_where_it_exists() {
        let usual = tempfile::tempdir().unwrap();
        let found = source(&[], usual.path());
        assert_eq!(found, Ok(DataSource::Directory(usual.path().to_owned())));
        let found = source(&[], &usual.path().join("none"));
        assert_eq!(found, Ok(DataSource::Sample));
    }

    #[test]
    fn an_address_is_followed_and_what_cannot_be_one_is_named() {
        for good in [
            "https://a.example/b.tar.zst",
            "https://a.example/reviews/",
            "file:///srv/b.tar.zst",
        ] {
            let found = source(&["--data", good], Path::new("/")).unwrap();
            assert!(matches!(found, DataSource::Remote(_)), "{found:?}");
        }
        for (bad, told) in [
            (
                "http://a.example/b.tar.zst",
                "must be https, plain http is refused",
            ),
            (
                "ftp://a.example/",
                "must be a directory, or begin with https:// or file://",
            ),
            (
                "https://a.example/b.zip",
                "must end with .tar.zst (a bundle) or / (a directory with SHA256SUMS)",
            ),
            ("https://u:p@a.example/", "must not carry credentials"),
            (
                "https://a.example/b.tar.zst?x=1",
                "must not carry a query or a fragment",
            ),
            ("file://host/b.tar.zst", "must name a path of this machine"),
        ] {
            let told_so = source(&["--data", bad], Path::new("/")).unwrap_err();
            assert!(told_so.contains(told), "{told_so}");
        }
    }

    #[test]
    fn the_time_between_two_looks_is_bounded_on_both_sides() {
        for (time, is_taken) in [
            ("1s", true),
            ("999ms", false),
            ("1d", true),
            ("86401s", false),
        ] {
            let address = ["--data", "https://a.example/", "--data-poll", time];
            let found = source(&address, Path::new("/"));
            assert_eq!(found.is_ok(), is_taken, "{found:?}");
        }
    }
}
