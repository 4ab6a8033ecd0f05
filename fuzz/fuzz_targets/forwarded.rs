#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::forwarded::check_forwarded(data));
