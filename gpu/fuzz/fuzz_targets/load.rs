//! Any text either loads or is an error with a line.
#![no_main]

use gdn_gpu::vm::{Machine, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Machine::new(Options::default()).load("text", text) {
        assert!(error.line >= 1 && !error.message.is_empty(), "{error}");
    }
});
