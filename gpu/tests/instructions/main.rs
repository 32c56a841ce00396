//! Every instruction form of the virtual machine against hardware.
//!
//! A form is an opcode with one choice of types and modifiers. Each is run on at least 10,000 operand tuples, drawn from its
//! name. What an H200 answered is kept in `golden/instructions/`: `vm::` trials compare the machine with that, anywhere;
//! `cuda::` trials compare a device with the machine, where one answers.
//!
//! `GDN_WRITE_INSTRUCTIONS=DIR` makes the binary write a device's answers into `DIR` instead; `vm:DIR` rehearses that with the
//! machine's own, which are not accepted.

mod answers;
mod assembler;
mod device;
mod draw;
mod edges;
mod form;
mod forms;
mod golden;
mod known;
mod relate;
mod summary;
mod tests;
mod verdict;
mod write;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use gdn_gpu::vm::{Options, VmExecutor};
use gdn_gpu::{Error, Executor, cuda};
use libtest_mimic::{Arguments, Trial};

use device::Device;
use form::Form;
use golden::Golden;
use summary::Summary;
use verdict::Operands;

/// A trial for each form: the machine against what is kept.
fn machine(forms: &Arc<Vec<Form>>, golden: &Arc<Result<Golden, String>>, summary: &Arc<Summary>) -> Vec<Trial> {
    let trial = |at: usize| {
        let (forms, golden, summary) = (Arc::clone(forms), Arc::clone(golden), Arc::clone(summary));
        Trial::test(format!("vm::{}", forms[at].name), move || {
            let form = &forms[at];
            let golden = golden.as_ref().as_ref()?;
            let record = golden.records.iter().find(|record| record.name == form.name);
            let record = record.ok_or("hardware has not been asked for this form")?;
            Ok(summary.note(form, verdict::against(form, record))?)
        })
    };
    (0..forms.len()).map(trial).collect()
}

/// A trial for each form: the device against the machine. Without a device one trial says that all are left out.
fn hardware(forms: &Arc<Vec<Form>>, summary: &Arc<Summary>) -> Vec<Trial> {
    let device = match cuda::open() {
        Ok(executor) => Arc::new(Mutex::new(Device::new(Box::new(executor)))),
        Err(absent) => {
            // In two words: every line of the list is as wide as the widest.
            let absent = if matches!(absent, Error::NoDriver { .. }) { "no driver" } else { "no device" };
            let trial = Trial::test(format!("cuda::all_{}_forms", forms.len()), || Ok(()));
            return vec![trial.with_ignored_flag(true).with_kind(absent)];
        }
    };
    let trial = |at: usize| {
        let (forms, device, summary) = (Arc::clone(forms), Arc::clone(&device), Arc::clone(summary));
        Trial::test(format!("cuda::{}", forms[at].name), move || {
            let form = &forms[at];
            let operands = Operands::of(form);
            let answers = device.lock().unwrap_or_else(PoisonError::into_inner).answers(&forms, at, &operands.bytes);
            let verdict = answers.and_then(|mut answers| {
                answers::settle(form, &mut answers);
                verdict::direct(form, &operands, &answers)
            });
            Ok(summary.note(form, verdict)?)
        })
    };
    (0..forms.len()).map(trial).collect()
}

/// Asks a device, or for a rehearsal the machine, and writes the answers.
fn write(target: &str, forms: &[Form]) -> Result<bool, String> {
    let (executor, folder): (Box<dyn Executor>, _) = match target.strip_prefix("vm:") {
        Some(folder) => (Box::new(VmExecutor::new(Options { checks: false, ..Options::default() })), folder),
        None => (Box::new(cuda::open().map_err(|error| error.to_string())?), target),
    };
    write::write(folder.as_ref(), executor, forms).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let forms = Arc::new(forms::all());
    if let Ok(target) = std::env::var("GDN_WRITE_INSTRUCTIONS") {
        return match write(&target, &forms) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(why) => {
                eprintln!("{why}");
                ExitCode::FAILURE
            }
        };
    }
    let golden = Arc::new(Golden::read(&golden::folder(), &forms));
    let (on_machine, on_device) = (Arc::new(Summary::default()), Arc::new(Summary::default()));
    let mut trials = tests::trials(&forms, &golden);
    trials.extend(machine(&forms, &golden, &on_machine));
    trials.extend(hardware(&forms, &on_device));
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    let device = golden.as_ref().as_ref().map_or("nobody", |golden| &golden.device);
    for line in on_machine.lines(&format!("the machine against {device}")) {
        println!("{line}");
    }
    for line in on_device.lines("this device against the machine") {
        println!("{line}");
    }
    conclusion.exit_code()
}
