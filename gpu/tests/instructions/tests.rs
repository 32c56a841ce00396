//! Tests of the comparison itself: nothing is left out, and what differs is noticed and found.

use std::collections::HashSet;
use std::sync::Arc;

use gdn_gpu::vm::{Approximation, Options, SUPPORTED, VmExecutor};
use libtest_mimic::{Failed, Trial};

use crate::answers::{machine, raw_machine, settle};
use crate::assembler;
use crate::form::{Form, TUPLES};
use crate::forms::WITHOUT_FORMS;
use crate::golden::{Golden, Record};
use crate::known;
use crate::summary::Summary;
use crate::verdict::{Operands, against, direct, open_bits};
use crate::write::ask;

/// The trials that are not about one form.
pub(crate) fn trials(forms: &Arc<Vec<Form>>, golden: &Arc<Result<Golden, String>>) -> Vec<Trial> {
    let of = |name: &str, test: fn(&[Form]) -> Result<(), Failed>| {
        let forms = Arc::clone(forms);
        Trial::test(name, move || test(&forms))
    };
    let (all, kept) = (Arc::clone(forms), Arc::clone(golden));
    let ptxas = assembler::find();
    let absent = ptxas.is_none();
    let assembled = Arc::clone(forms);
    let assembler = Trial::test("forms::the_assembler_takes_every_one", move || {
        ptxas.as_ref().map_or(Ok(()), |ptxas| assembler::takes_every_form(ptxas, &assembled))
    });
    vec![
        if absent { assembler.with_ignored_flag(true).with_kind("no ptxas") } else { assembler },
        Trial::test("golden::holds_every_form", move || holds_every_form(&all, kept.as_ref().as_ref()?)),
        of("forms::every_supported_instruction_has_one", every_supported_instruction_has_one),
        of("forms::names_are_unique_and_operands_enough", names_are_unique_and_operands_enough),
        of("golden::what_is_written_is_read_back", what_is_written_is_read_back),
        of("golden::a_wrong_answer_is_noticed_and_found", a_wrong_answer_is_noticed_and_found),
        of("golden::the_bits_of_a_nan_are_left_open_and_told", the_bits_of_a_nan_are_left_open_and_told),
    ]
}

fn ensure(holds: bool, otherwise: impl Into<String>) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise.into().into()) }
}

fn holds_every_form(forms: &[Form], golden: &Golden) -> Result<(), Failed> {
    ensure(golden.device.contains("sm_90"), format!("the answers are those of {}", golden.device))?;
    let kept: HashSet<&str> = golden.records.iter().map(|record| record.name.as_str()).collect();
    let missing: Vec<&str> = forms.iter().map(|form| form.name.as_str()).filter(|name| !kept.contains(name)).collect();
    ensure(missing.is_empty(), format!("{} forms have no answers: {missing:?}", missing.len()))?;
    ensure(kept.len() == forms.len() && kept.len() > 1000, format!("{} forms have answers", kept.len()))
}

fn every_supported_instruction_has_one(forms: &[Form]) -> Result<(), Failed> {
    let with: HashSet<&str> = forms.iter().filter_map(|form| form.name.split('.').next()).collect();
    let without: HashSet<&str> = WITHOUT_FORMS.iter().flat_map(|(names, _)| names.iter().copied()).collect();
    for (name, _) in SUPPORTED {
        let (has, excused) = (with.contains(name), without.contains(name));
        ensure(has != excused, format!("`{name}`: {}", if has { "has forms and is excused" } else { "has no form" }))?;
    }
    Ok(())
}

fn names_are_unique_and_operands_enough(forms: &[Form]) -> Result<(), Failed> {
    let mut names = HashSet::new();
    for form in forms {
        ensure(names.insert(&form.name), format!("two forms are called `{}`", form.name))?;
        ensure(form.tuples() >= TUPLES.max(10_000), format!("`{}` has {} tuples", form.name, form.tuples()))?;
    }
    for name in known::names() {
        ensure(
            forms.iter().any(|form| form.name == name),
            format!("something is known of `{name}`, which is no form"),
        )?;
    }
    Ok(())
}

/// A few forms of every kind: exact, approximate, two answers, pairs, all values of 16 bits.
fn sample(forms: &[Form]) -> Vec<Form> {
    let names = [
        "add.rn.f32",
        "addc.cc.u64",
        "setp.lt.f32",
        "ex2.approx.f32",
        "tanh.approx.f16x2",
        "rsqrt.approx.ftz.f64",
        "neg.s16",
    ];
    forms.iter().filter(|form| names.contains(&form.name.as_str())).cloned().collect()
}

fn what_is_written_is_read_back(forms: &[Form]) -> Result<(), Failed> {
    let forms = sample(forms);
    let executor =
        VmExecutor::new(Options { checks: false, approximation: Approximation::Greatest, ..Options::default() });
    let summary = Summary::default();
    let (golden, complaints) = ask(Box::new(executor), &forms, &summary);
    ensure(forms.len() == 7 && golden.records.len() == 7, format!("{} forms", golden.records.len()))?;
    ensure(complaints.is_empty(), complaints.join("\n"))?;
    let folder = tempfile::tempdir()?;
    golden.write(folder.path())?;
    let read = Golden::read(folder.path(), &forms)?;
    ensure(read == golden, "what was read is not what was written")?;
    for (form, record) in forms.iter().zip(&read.records) {
        let error = against(form, record)?;
        ensure(!form.approximate || error.ulp > 0 && error.share > 0.9, format!("{}: {error:?}", form.name))?;
    }
    let lines = summary.lines("sample").join("\n");
    ensure(lines.contains("exact forms bitwise equal: 4 of 4") && lines.contains("documented error: 3 of 3"), lines)
}

fn the_bits_of_a_nan_are_left_open_and_told(forms: &[Form]) -> Result<(), Failed> {
    let forms = sample(forms);
    let form = forms.iter().find(|form| form.name == "add.rn.f32").ok_or("the form is missing")?;
    let operands = Operands::of(form);
    let mut answers = raw_machine(form, &operands.bytes, Approximation::CorrectlyRounded)?;
    ensure(open_bits(form, &operands, &answers).is_none(), "the machine differs from itself")?;
    let nan = answers.chunks_exact_mut(4).find(|answer| answer[2..] == [0xFF, 0x7F]).ok_or("no sum is a NaN")?;
    nan[0] ^= 1;
    let told = open_bits(form, &operands, &answers).unwrap_or_default();
    ensure(told.contains("NaN bits differ in 1 tuples") && told.contains("0x7ffffffe"), told)?;
    settle(form, &mut answers);
    Ok(direct(form, &operands, &answers).map(|_| ())?)
}

fn a_wrong_answer_is_noticed_and_found(forms: &[Form]) -> Result<(), Failed> {
    for form in sample(forms) {
        let operands = Operands::of(&form);
        let rounded = machine(&form, &operands.bytes, Approximation::CorrectlyRounded)?;
        let mut answers = rounded.clone();
        // One bit of the 1000th tuple's first answer; of an approximate one the highest, which no error permits.
        let size = form.outputs[0].width.bytes();
        let (byte, bit) = if form.approximate { (1001 * size - 1, 0x40) } else { (1000 * size, 1) };
        answers[byte] ^= bit;
        let direct = direct(&form, &operands, &answers).err().unwrap_or_default();
        ensure(direct.contains("tuple 1000:"), format!("{}: {direct}", form.name))?;
        let kept = against(&form, &Record::new(&form, &operands.bytes, &answers, &rounded)).err().unwrap_or_default();
        let found = if form.approximate { "tuple 1000:" } else { "in 1 of 128 chunks" };
        ensure(kept.contains(found), format!("{}: {kept}", form.name))?;
        // A machine that rounds otherwise restores other answers, which is noticed too.
        if form.approximate {
            let mut record = Record::new(&form, &operands.bytes, &rounded, &rounded);
            if let Some(distance) = record.distances.as_mut().and_then(|distances| distances.get_mut(1000)) {
                *distance += 1;
            }
            let moved = against(&form, &record).err().unwrap_or_default();
            ensure(moved.contains("has changed in 1 of 128 chunks"), format!("{}: {moved}", form.name))?;
        }
    }
    Ok(())
}
