#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::insights::check_insights(data));
