#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::query::check_cursor(data));
