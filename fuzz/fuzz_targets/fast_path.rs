#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| reviewd::oracle::check_fast_path(data));
