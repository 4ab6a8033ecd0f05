//! `--store`: the address of a database, which may hold a password and so is never printed.

use std::fmt;
use std::path::Path;

use super::exit::{Failure, Status};
use crate::websub::Place;
#[cfg(feature = "postgres")]
use crate::websub::postgres::Database;

/// An address as it was given. It is looked at later: what the flag's parser refuses is printed with its refusal.
#[derive(Clone)]
pub(super) struct StoreUrl(String);

impl StoreUrl {
    /// Takes any text.
    ///
    /// # Errors
    /// None.
    pub(super) fn read(text: &str) -> Result<StoreUrl, String> {
        Ok(StoreUrl(text.to_owned()))
    }
}

/// Returns where the hub keeps its state: in the database, else in the state directory.
///
/// # Errors
/// `Config` for an address that is none.
pub(super) fn place(store: Option<&StoreUrl>, state: &Path) -> Result<Place, Failure> {
    // An empty variable is one that was not set, in many a file of settings.
    let Some(StoreUrl(text)) = store.filter(|store| !store.0.is_empty()) else {
        return Ok(Place::Directory(state.to_owned()));
    };
    open(text).map_err(|what| Failure::new(Status::Config, format!("--store: {what}")))
}

#[cfg(feature = "postgres")]
fn open(text: &str) -> Result<Place, String> {
    Ok(Place::Database(Box::new(Database::parse(text)?)))
}

#[cfg(not(feature = "postgres"))]
fn open(_text: &str) -> Result<Place, String> {
    Err("this reviewd was built without the feature `postgres`".to_owned())
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreUrl(…)")
    }
}
