//! The date of a response, as a header value.
//!
//! hyper could write `Date`, but it refreshes its rendered date only when the clock has moved forward: after the clock was
//! set back, the field would stay the same until the old time is reached again.

use std::cell::RefCell;

use bytes::Bytes;
use hyper::header::HeaderValue;

use crate::clock;
use crate::wire::date::Timestamp;

/// A time in whole seconds, and its header value.
#[derive(Clone, Debug)]
pub(crate) struct HttpDate {
    pub(crate) time: Timestamp,
    pub(crate) value: HeaderValue,
}

impl HttpDate {
    /// Renders `time`. A clone of the value allocates nothing: it only increments a reference count.
    pub(crate) fn new(time: Timestamp) -> HttpDate {
        let text = Bytes::from(time.render_http());
        let value = HeaderValue::from_maybe_shared(text).expect("a date is visible ASCII");
        // The first clone allocates the reference count of the buffer, so it is done here and not by a request.
        drop(value.clone());
        HttpDate { time, value }
    }

    /// Returns the present time; each thread renders it once a second.
    pub(crate) fn now() -> HttpDate {
        thread_local! {
            static RENDERED: RefCell<HttpDate> = RefCell::new(HttpDate::new(Timestamp::from_unix(0)));
        }
        let now = Timestamp::from_unix(clock::unix_s());
        RENDERED.with_borrow_mut(|rendered| {
            rendered.refresh(now);
            rendered.clone()
        })
    }

    /// Renders `now`, unless it is the time that is rendered already. It may be earlier.
    fn refresh(&mut self, now: Timestamp) {
        if self.time != now {
            *self = HttpDate::new(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_follows_a_clock_that_is_set_back() {
        let mut date = HttpDate::new(Timestamp::from_unix(0));
        for (unix_s, expected) in [
            (1_800_000_000, "Fri, 15 Jan 2027 08:00:00 GMT"),
            (1_700_000_000, "Tue, 14 Nov 2023 22:13:20 GMT"),
            (1_700_000_001, "Tue, 14 Nov 2023 22:13:21 GMT"),
        ] {
            date.refresh(Timestamp::from_unix(unix_s));
            assert_eq!(date.value, expected);
        }
    }
}
