#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::negotiate::check_accept_encoding(data));
