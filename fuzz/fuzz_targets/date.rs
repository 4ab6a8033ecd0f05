#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::date::check_date(data));
