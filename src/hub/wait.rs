//! The wait for a database, before anything is served.

use std::thread;
use std::time::{Duration, Instant};

use tracing::warn;

use crate::hub::StoreLocation;
use crate::hub::store::StoreError;

/// Opens the store once and closes it again, to know that it can be used at the public address `origin`. One that cannot be reached is tried again for
/// 10 seconds: services that start together do not all come up at once.
///
/// # Errors
/// The last one; what waiting does not mend is not waited for.
pub fn await_store(place: &StoreLocation, origin: Option<&str>) -> Result<(), StoreError> {
    let began = Instant::now();
    let mut pause = PAUSE_MIN;
    loop {
        let error = match place.check(origin) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let may_pass = matches!(error, StoreError::Unreachable(..) | StoreError::Busy(_));
        if !may_pass || began.elapsed() + pause >= WAIT_MAX {
            return Err(error);
        }
        warn!(%error, "waiting for the hub's store");
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// How long the start waits for the database.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The first pause between two attempts; each one after it is twice as long.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// The longest of these pauses.
const PAUSE_MAX: Duration = Duration::from_secs(2);
