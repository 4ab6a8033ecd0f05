#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::xml::check_xml(data));
