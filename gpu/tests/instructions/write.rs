//! Asks a device for its answers and writes what is kept of them, with all that differs from the machine.

use std::path::Path;

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

/// Forms that are asked before their answers are compared: so many that the cores are busy, and so few that memory holds them.
const BATCH: usize = 64;

/// A device's answers to a form's operands, or why there are none.
type Answers = Result<Vec<u8>, String>;

/// Answers of all forms: what is kept, and the summary of the comparison with the machine.
///
/// The device is asked for one form after another, and only the comparison is spread over the cores: a device that is the machine waits
/// for the same threads, which would meanwhile take up another form and wait for the device.
///
/// # Errors
/// The forms that have no answers, and why.
pub(crate) fn ask(executor: Box<dyn Executor>, forms: &[Form], summary: &Summary) -> (Golden, Vec<String>) {
    let mut device = Device::new(executor);
    let mut golden = Golden { device: device.describe(), records: Vec::new() };
    let mut complaints = Vec::new();
    for start in (0..forms.len()).step_by(BATCH) {
        let batch = start..forms.len().min(start + BATCH);
        let asked: Vec<(&Form, Operands, Answers)> = batch
            .map(|at| {
                let operands = Operands::of(&forms[at]);
                let answers = device.answers(forms, at, &operands.bytes);
                (&forms[at], operands, answers)
            })
            .collect();
        let compared: Vec<(&Form, Option<Record>, Option<String>)> = asked
            .into_par_iter()
            .map(|(form, operands, answers)| {
                let (record, complaint) = compare(form, &operands, answers, summary);
                (form, record, complaint)
            })
            .collect();
        for (form, record, complaint) in compared {
            complaints.extend(complaint.map(|why| format!("{}: {why}", form.name)));
            golden.records.extend(record);
        }
    }
    (golden, complaints)
}

/// A form's answers against the machine: what is kept of them, and what is to be told.
fn compare(form: &Form, operands: &Operands, answers: Answers, summary: &Summary) -> (Option<Record>, Option<String>) {
    let mut answers = match answers {
        Ok(answers) => answers,
        Err(why) => return (None, summary.note(form, Err(why)).err()),
    };
    let open = open_bits(form, operands, &answers);
    settle(form, &mut answers);
    let complaint = summary.note(form, direct(form, operands, &answers)).err();
    match machine(form, &operands.bytes, Approximation::CorrectlyRounded) {
        Ok(rounded) => {
            let complaint = complaint.or_else(|| known::told(form, operands, &answers, &rounded)).or(open);
            (Some(Record::new(form, &operands.bytes, &answers, &rounded)), complaint)
        }
        Err(why) => (None, Some(why.to_string())),
    }
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
