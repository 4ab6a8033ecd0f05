//! Why a dataset at an address was not taken; what was read before is still served.

use std::fmt;
use std::io;

use super::super::fetch::FetchError;
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
    /// The state directory cannot be written.
    Disk(String, io::Error),
}

impl FollowError {
    /// Returns whether the data themselves are wrong, so that fetching them again is of no use.
    #[must_use]
    pub fn is_of_the_data(&self) -> bool {
        matches!(
            self,
            FollowError::Bundle(_) | FollowError::Data(_) | FollowError::Older { .. }
        )
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
            FollowError::Data(what) => f.write_str(what),
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
        FollowError::Data(error.to_string())
    }
}
