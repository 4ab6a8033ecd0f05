#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::import::check_import_json(data));
