//! The independent vectors: the oracle agrees with each answer of each file, and the f32 model stays within the bounds.

use std::path::Path;

use gdn_conformance::replay::{load, replay};
use gdn_conformance::runner::Runner;

#[test]
fn oracle_agrees_with_both_derivations_of_all_ten_vectors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/vectors");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 10);
    for path in files {
        let outcome = replay(&mut Runner::Model, &load(&path).unwrap()).unwrap();
        // Attention files have three answers (and a frequency table), linear ones twelve.
        let answers = if outcome.file.starts_with("attn") { 3 } else { 12 };
        assert_eq!(outcome.oracle.len(), answers, "{outcome}");
        assert!(outcome.passed(), "{outcome}");
    }
}
