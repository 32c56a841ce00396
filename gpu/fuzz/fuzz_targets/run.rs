//! Any text that loads runs to an end: each of its entry points is launched on a small buffer, with a small budget.
//!
//! The first byte chooses checks, schedule and approximation; the rest is the text.
#![no_main]

use gdn_gpu::executor::Geometry;
use gdn_gpu::vm::{Approximation, Machine, Options};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let seed = u64::from(choice >> 2);
    let approximation =
        if choice & 2 == 0 { Approximation::CorrectlyRounded } else { Approximation::Adversarial(seed) };
    let mut machine = Machine::new(Options { checks: choice & 1 == 0, seed, approximation, step_budget: 2_000 });
    let Ok(module) = machine.load("text", text) else { return };
    let Some(buffer) = machine.alloc("buffer", 1024) else { return };
    assert!(machine.upload(buffer, 0, &[0; 1024]));
    for entry in machine.entries(module).into_iter().take(4) {
        let sizes = machine.parameters(module, &entry).unwrap_or_default();
        // Pointers to the buffer where eight bytes are wanted, a small number everywhere else.
        let address = machine.address(buffer).to_le_bytes();
        let parameters: Vec<Vec<u8>> =
            sizes.iter().map(|&n| if n == 8 { address.to_vec() } else { [8, 0, 0, 0].into_iter().cycle().take(n).collect() }).collect();
        let _ = machine.launch(module, &entry, Geometry { grid: [2, 1, 1], block: [40, 1, 1] }, 0, &parameters);
    }
});
