#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::json::check_json(data));
