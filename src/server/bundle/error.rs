//! Why a dataset at an address was not taken; what was read before is still served.

use std::fmt;
use std::io;

use super::super::fetch::FetchError;
use super::super::files::ReadError;
use super::super::load::LoadError;
use crate::wire::date::Timestamp;

/// Why a dataset at an address was not taken.
#[derive(Debug)]
pub enum FollowError {
    /// There is no state directory to keep it in.
    NoState,
    /// The file of authorities cannot be used; the culprit is the operator.
    Ca(String),
    /// An address does not answer as it should.
    Fetch(String, FetchError),
    /// The file with the digests is none; the culprit is whoever publishes.
    Digests(String, String),
    /// What came is not what its digest says: half of a publication, or damage.
    Mismatch {
        /// Its address.
        url: String,
        /// The digest that was named.
        named: String,
        /// The digest of what came.
        found: String,
    },
    /// The bundle holds what no bundle may hold; the culprit is whoever publishes.
    Bundle(String),
    /// The dataset is refused; the culprit is whoever publishes.
    Data(String),
    /// The dataset is not later than the one that is there.
    Older {
        /// The time of the one that is there.
        kept: Timestamp,
        /// The time of the other.
        found: Timestamp,
    },
    /// The dataset is good but for its time, which is still to come: somebody's clock is wrong.
    Early {
        /// The time of the dataset.
        until: Timestamp,
        /// What is said of it.
        what: String,
    },
    /// What was fetched cannot be read at present.
    Read(ReadError),
    /// The state directory cannot be written, or not be read.
    Disk(String, io::Error),
}

impl FollowError {
    /// Returns whether the data themselves are wrong.
    #[must_use]
    pub fn is_of_the_data(&self) -> bool {
        matches!(
            self,
            FollowError::Bundle(_)
                | FollowError::Data(_)
                | FollowError::Older { .. }
                | FollowError::Early { .. }
        )
    }

    /// Returns from when on fetching the same again may be of use, where it was in vain at `now`: at once, then, or
    /// never.
    pub(super) fn worth(&self, now: Timestamp) -> Worth {
        match self {
            FollowError::Bundle(_) | FollowError::Data(_) | FollowError::Older { .. } => {
                Worth::Never
            }
            // Nobody has read it to its end, so it need not be what the digest stands for. Half of a gigabyte at each
            // look would be what `--data-file-bytes` is there to prevent.
            FollowError::Fetch(_, FetchError::TooLarge(_)) => Worth::From(Timestamp::from_unix(
                now.unix().saturating_add(TOO_LARGE_WAIT_S),
            )),
            FollowError::Early { until, .. } => Worth::From(*until),
            _ => Worth::Always,
        }
    }

    /// Returns whether a setting is wrong.
    #[must_use]
    pub fn is_of_the_settings(&self) -> bool {
        matches!(self, FollowError::NoState | FollowError::Ca(_))
    }

    /// Returns whether somebody else does not answer as they should.
    #[must_use]
    pub fn is_from_elsewhere(&self) -> bool {
        matches!(
            self,
            FollowError::Fetch(..) | FollowError::Digests(..) | FollowError::Mismatch { .. }
        )
    }
}

impl fmt::Display for FollowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FollowError::NoState => {
                f.write_str("a dataset at an address needs a --state directory")
            }
            FollowError::Ca(what) => write!(f, "--data-ca {what}"),
            FollowError::Fetch(url, error) => write!(f, "{url}: {error}"),
            FollowError::Digests(url, what) => write!(f, "{url}: {what}"),
            FollowError::Mismatch { url, named, found } => write!(
                f,
                "{url}: has the digest {found}, not {named}: it is being replaced, or it is damaged"
            ),
            FollowError::Bundle(what) => write!(f, "the bundle {what}"),
            FollowError::Data(what) | FollowError::Early { what, .. } => f.write_str(what),
            FollowError::Read(error) => error.fmt(f),
            FollowError::Older { kept, found } => write!(
                f,
                "its updated_at {found} is not later than {kept}, which is kept: set updated_at in reviews.json to the \
                 time of the change"
            ),
            FollowError::Disk(path, error) => write!(f, "{path}: {error}"),
        }
    }
}

impl std::error::Error for FollowError {}

impl From<LoadError> for FollowError {
    fn from(error: LoadError) -> FollowError {
        match error {
            LoadError::Read(error) if !error.is_wrong() => FollowError::Read(error),
            error => FollowError::Data(error.to_string()),
        }
    }
}

/// When fetching again what was refused may be of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// The trouble may be over.
    Always,
    /// From this time on, by our clock.
    From(Timestamp),
    /// What is wrong with it stays.
    Never,
}

impl Worth {
    /// Returns whether it is of use at `now`.
    pub(super) fn is_given(self, now: Timestamp) -> bool {
        match self {
            Worth::Always => true,
            Worth::From(time) => time <= now,
            Worth::Never => false,
        }
    }
}

/// How long what was too large is left alone, in seconds. Our choice: a wrong upload under the right digest costs an hour
/// at most, and one that is too large costs `--data-file-bytes` an hour.
const TOO_LARGE_WAIT_S: i64 = 3_600;
