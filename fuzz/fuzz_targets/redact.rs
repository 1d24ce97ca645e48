#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| piton_fuzz::redact(text));
