#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::conditional::check_conditional(data));
