//! Asks a device for its answers and writes what is kept of them, with all that differs from the machine.

use std::path::Path;
use std::sync::Mutex;

use gdn_gpu::Executor;
use gdn_gpu::vm::Approximation;
use rayon::prelude::*;

use crate::answers::{machine, settle};
use crate::device::Device;
use crate::form::Form;
use crate::golden::{Golden, Record};
use crate::known;
use crate::summary::Summary;
use crate::verdict::{Operands, direct, open_bits};

/// Answers of all forms: what is kept, and the summary of the comparison with the machine.
///
/// # Errors
/// The forms that have no answers, and why.
pub(crate) fn ask(executor: Box<dyn Executor>, forms: &[Form], summary: &Summary) -> (Golden, Vec<String>) {
    let device = Device::new(executor);
    let name = device.describe();
    let device = Mutex::new(device);
    let results: Vec<(Option<Record>, Option<String>)> = (0..forms.len())
        .into_par_iter()
        .map(|at| {
            let form = &forms[at];
            let operands = Operands::of(form);
            let answers = match device.lock() {
                Ok(mut device) => device.answers(forms, at, &operands.bytes),
                Err(_) => Err("the device's thread has panicked".into()),
            };
            let mut answers = match answers {
                Ok(answers) => answers,
                Err(why) => return (None, summary.note(form, Err(why)).err()),
            };
            let open = open_bits(form, &operands, &answers);
            settle(form, &mut answers);
            let complaint = summary.note(form, direct(form, &operands, &answers)).err();
            match machine(form, &operands.bytes, Approximation::CorrectlyRounded) {
                Ok(rounded) => {
                    let complaint = complaint.or_else(|| known::told(form, &operands, &answers, &rounded)).or(open);
                    (Some(Record::new(form, &operands.bytes, &answers, &rounded)), complaint)
                }
                Err(why) => (None, Some(why.to_string())),
            }
        })
        .collect();
    let mut golden = Golden { device: name, records: Vec::new() };
    let mut complaints = Vec::new();
    for (form, (record, complaint)) in forms.iter().zip(results) {
        complaints.extend(complaint.map(|why| format!("{}: {why}", form.name)));
        golden.records.extend(record);
    }
    (golden, complaints)
}

/// Writes the answers, `differences.txt` beside them, and says what was found; whether every form has answers.
pub(crate) fn write(folder: &Path, executor: Box<dyn Executor>, forms: &[Form]) -> std::io::Result<bool> {
    let summary = Summary::default();
    let (golden, complaints) = ask(executor, forms, &summary);
    golden.write(folder)?;
    let lines = summary.lines(&format!("{} against the machine", golden.device));
    std::fs::write(folder.join("differences.txt"), [lines.clone(), complaints.clone()].concat().join("\n") + "\n")?;
    for line in lines {
        println!("{line}");
    }
    println!("{} forms differ, if only in a NaN's bits; differences.txt names them:", complaints.len());
    for complaint in complaints.iter().take(200) {
        println!("{}", complaint.lines().take(2).collect::<Vec<_>>().join("").chars().take(240).collect::<String>());
    }
    Ok(golden.records.len() == forms.len())
}
