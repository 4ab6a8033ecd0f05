#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::form::check_form(data));
