//! Inputs that fuzzing found worth keeping (`gpu/fuzz/`): each loads or is an error with a line, and what loads runs to an end.

use gdn_gpu::executor::Geometry;
use gdn_gpu::vm::{Approximation, Machine, Options};
use std::time::{Duration, Instant};

/// Each input is a line `%%%% N`, N choosing how it runs, and its text.
const CORPUS: &str = include_str!("ptx/corpus.txt");
/// What one input may take, on a busy machine and unoptimized; most take less than a millisecond.
const LIMIT: Duration = Duration::from_secs(10);

fn inputs() -> impl Iterator<Item = (u8, &'static str)> {
    CORPUS.split("%%%% ").skip(1).map(|input| {
        let (first, text) = input.split_once('\n').expect("a line of its own");
        (first.parse().expect("a byte"), text.strip_suffix('\n').expect("a line's end"))
    })
}

/// What the fuzz target `run` does.
fn run(choice: u8, text: &str) -> bool {
    let seed = u64::from(choice >> 2);
    let approximation =
        if choice & 2 == 0 { Approximation::CorrectlyRounded } else { Approximation::Adversarial(seed) };
    let mut machine = Machine::new(Options { checks: choice & 1 == 0, seed, approximation, step_budget: 2_000 });
    let module = match machine.load("text", text) {
        Ok(module) => module,
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines).contains(&(error.line as usize)), "{error}\n{text}");
            return false;
        }
    };
    let buffer = machine.alloc("buffer", 1024).expect("memory");
    assert!(machine.upload(buffer, 0, &[0; 1024]));
    let address = machine.address(buffer).to_le_bytes();
    for entry in machine.entries(module) {
        let sizes = machine.parameters(module, &entry).expect("it is an entry");
        let small = |bytes: usize| [8, 0, 0, 0].into_iter().cycle().take(bytes).collect();
        let parameters: Vec<Vec<u8>> =
            sizes.iter().map(|&bytes| if bytes == 8 { address.to_vec() } else { small(bytes) }).collect();
        let _ = machine.launch(module, &entry, Geometry { grid: [2, 1, 1], block: [40, 1, 1] }, 0, &parameters);
    }
    true
}

#[test]
fn every_input_ends_and_says_where_it_is_wrong() {
    let (mut all, mut loaded) = (0, 0);
    for (choice, text) in inputs() {
        let start = Instant::now();
        // As found, and with checks the other way round.
        for choice in [choice, choice ^ 1] {
            loaded += usize::from(run(choice, text));
            all += 1;
        }
        assert!(start.elapsed() < LIMIT, "{:?} for:\n{text}", start.elapsed());
    }
    assert!(loaded > 100 && all - loaded > 100, "{loaded} of {all} load: the corpus has lost its purpose");
    // Nothing in it may need much: this is all of it, one after another.
    #[cfg(target_os = "linux")]
    if let Some(peak) = peak_kib() {
        assert!(peak < 2 << 20, "{peak} KiB of memory");
    }
}

/// The most memory that this process has held.
#[cfg(target_os = "linux")]
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}
