#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::search::check_search(data));
