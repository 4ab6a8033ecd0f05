#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::mcp::check_mcp(data));
