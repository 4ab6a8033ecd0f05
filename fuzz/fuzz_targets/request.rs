#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::request::check_request(data));
