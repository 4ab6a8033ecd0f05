//! A dataset that is kept elsewhere: at an address that replicas follow, each on its own.
//!
//! The address is that of a bundle (`….tar.zst`, made by `reviewd bundle`) or of a directory (`…/`). A small file
//! beside the data names their digests, `….tar.zst.sha256` or `SHA256SUMS`, both as `sha256sum` writes them. We chose a
//! file and not a `Repr-Digest` field since every object store and every disk can hold it, a person can check it, and
//! a poll that asks for it alone costs a hundred bytes, or a 304. It is put in place last, so whoever reads it finds
//! what it names; where it does not, the next poll looks again.
//!
//! What was fetched and holds the digest is unpacked beside, checked as `reviewd check` does, and then becomes what the
//! link `current` in the state directory leads to. The reloader watches that link as it would watch a directory that a
//! deployment tool replaces, so there is one way in for every dataset. A restart without a network finds the link.

mod digest;
mod error;
mod follow;
pub mod pack;
mod polls;
mod shelf;
mod unpack;

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use tracing::warn;

pub use error::FollowError;
pub(super) use follow::{Follower, Following};
pub(super) use polls::Polls;

use super::StartError;
use super::config::{Config, DataSource};
use super::load::{LoadError, Loader};
use crate::clock;
use crate::dataset::Unremarked;

/// Where a dataset is kept, and how it is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The address.
    pub location: Location,
    /// Time between two looks at it.
    pub poll: Duration,
    /// Authorities that are trusted besides the public ones.
    pub ca: Option<PathBuf>,
}

/// An address of a dataset: `https://` or `file://`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    url: url::Url,
    is_bundle: bool,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str())
    }
}

impl Location {
    /// Takes an address that ends with `.tar.zst` or `/`.
    ///
    /// # Errors
    /// What is wrong with it, for a message.
    pub fn parse(text: &str) -> Result<Location, String> {
        let url = url::Url::parse(text).map_err(|error| format!("is not an address: {error}"))?;
        match url.scheme() {
            "https" => {}
            "file" if url.to_file_path().is_ok() => {}
            "file" => return Err("must name a path of this machine: file:///path".to_owned()),
            "http" => return Err("must be https, plain http is refused".to_owned()),
            _ => return Err("must be a directory, or begin with https:// or file://".to_owned()),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not carry credentials".to_owned());
        }
        if url.fragment().is_some() || url.query().is_some() {
            return Err("must not carry a query or a fragment".to_owned());
        }
        let is_bundle = url.path().ends_with(BUNDLE);
        if !is_bundle && !url.path().ends_with('/') {
            return Err(format!(
                "must end with {BUNDLE} (a bundle) or / (a directory with {SUMS})"
            ));
        }
        Ok(Location { url, is_bundle })
    }

    /// Returns the directory of a `file://` address that is one: it needs no following.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        let is_here = self.url.scheme() == "file" && !self.is_bundle;
        is_here.then(|| self.url.to_file_path().ok())?
    }

    /// Returns the address of the file with the digests.
    fn digests(&self) -> String {
        if self.is_bundle {
            format!("{}{DIGEST}", self.url)
        } else {
            format!("{}{SUMS}", self.url)
        }
    }
}

/// Makes sure that there is a dataset to serve where `config` names an address, and returns who follows it; `config`
/// then names the place of what was fetched.
///
/// # Errors
/// Where nothing was ever fetched, and cannot be now.
pub(super) fn prepare(config: &mut Config) -> Result<Option<Follower>, FollowError> {
    let DataSource::Remote(remote) = &config.data else {
        return Ok(None);
    };
    let Some(state) = &config.cache else {
        return Err(FollowError::NoState);
    };
    let mut follower = Follower::new(remote, state, config.reload.file_bytes)?;
    if !follower.has_current() {
        follower.poll(None, clock::now())?;
    }
    config.data = DataSource::Directory(follower.current());
    Ok(Some(follower))
}

/// Reads and checks the dataset of the start. What `follower` has kept from an earlier life may be damaged, or of
/// another version's making: where it is refused, it is fetched again.
///
/// # Errors
/// As [`Loader::decode`], and where it has to be fetched again and cannot be.
pub(super) fn decode(
    loader: &Loader,
    follower: Option<&mut Follower>,
    threads: NonZeroUsize,
) -> Result<Unremarked, StartError> {
    match (loader.decode(threads), follower) {
        (Err(error @ (LoadError::Read(_) | LoadError::Data(_))), Some(follower)) => {
            let what = error.to_string();
            let first = what.lines().next().unwrap_or_default();
            warn!("the dataset that was fetched last is refused and fetched again: {first}");
            follower.replace(clock::now()).map_err(StartError::Follow)?;
            Ok(loader.decode(threads)?)
        }
        (decoded, _) => Ok(decoded?),
    }
}

/// How the name of a bundle ends.
const BUNDLE: &str = ".tar.zst";

/// How the name of the file with a bundle's digest ends, behind the bundle's own.
const DIGEST: &str = ".sha256";

/// The name of the file with the digests of a directory.
const SUMS: &str = "SHA256SUMS";

#[cfg(test)]
mod tests;
