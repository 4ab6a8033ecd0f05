#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::dataset::check_dataset(data));
