#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::hub::check_hub_form(data));
