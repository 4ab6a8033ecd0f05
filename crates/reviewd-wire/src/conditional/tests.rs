//! Cases that `check_conditional` of the oracle does not cover, as its document always has a date.

use super::*;

#[test]
fn conditions_on_dates_are_not_read_where_there_is_no_date() {
    let validators = Validators {
        etag: b"\"a\"",
        last_modified: None,
    };
    let far: &[u8] = b"Fri, 31 Dec 9999 23:59:59 GMT";
    let early: &[u8] = b"Thu, 01 Jan 1970 00:00:00 GMT";
    assert!(!is_not_modified(validators, [], [far]));
    assert!(holds(validators, [], [early]));
    let ours: &[u8] = b"\"a\"";
    assert!(is_not_modified(validators, [ours], [far]));
}
