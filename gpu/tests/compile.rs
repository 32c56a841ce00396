//! The published sources compile with NVRTC, alone and concatenated, and `gdn_step` keeps its row in registers.

use gdn_gpu::nvrtc::Nvrtc;
use gdn_gpu::{GDN_KERNELS, QWEN38_KERNELS, contracts, ptx};
use libtest_mimic::{Arguments, Failed, Trial};

/// Oldest and newest architectures that CUDA 13 compiles for, and those between that the kernels meet.
const ARCHITECTURES: [&str; 5] = ["compute_75", "compute_80", "compute_90", "compute_100", "compute_120"];

type Test = fn() -> Result<(), Failed>;

fn compile(source: &str, arch: &str) -> Result<String, Failed> {
    Ok(Nvrtc::find()?.compile("kernels", source, arch, &[])?)
}

fn every_contract_has_its_entry_point() -> Result<(), Failed> {
    for arch in ARCHITECTURES {
        let ptx = [compile(GDN_KERNELS, arch)?, compile(QWEN38_KERNELS, arch)?];
        for contract in contracts::all() {
            let entry = format!(".entry {}(", contract.kernel);
            if !ptx.iter().any(|ptx| ptx.contains(&entry)) {
                return Err(format!("{arch}: no {entry}").into());
            }
        }
    }
    Ok(())
}

fn both_sources_compile_as_one() -> Result<(), Failed> {
    compile(&format!("{GDN_KERNELS}{QWEN38_KERNELS}"), "compute_90").map(|_| ())
}

fn no_kernel_but_the_rotation_uses_local_memory() -> Result<(), Failed> {
    // sinf and cosf keep a slow path for large arguments, which the reduced angle never takes.
    for source in [GDN_KERNELS, QWEN38_KERNELS] {
        let ptx = compile(source, "compute_90")?;
        for body in ptx.split(".entry ").skip(1) {
            let name = body.split('(').next().unwrap_or_default();
            if body.contains(".local") && name != "gk_qk_norm_rope_part" {
                return Err(format!("{name} uses local memory").into());
            }
        }
    }
    Ok(())
}

fn accepted_ptx_is_what_nvrtc_makes_of_the_sources() -> Result<(), Failed> {
    for accepted in ptx::Accepted::ALL {
        let name = accepted.name;
        if !accepted.is_current() {
            return Err(format!("golden/ptx/{name}.ptx is stale; run `gdn-conformance compile`").into());
        }
        // Another NVRTC makes other PTX of the same source, which is no fault of the accepted one.
        if Nvrtc::find()?.version() == (13, 0)
            && ptx::renumbered(&ptx::compile(name, accepted.source)?) != ptx::renumbered(accepted.ptx)
        {
            return Err(format!("golden/ptx/{name}.ptx is not what NVRTC 13.0 makes of its source").into());
        }
    }
    Ok(())
}

fn main() {
    let absent = Nvrtc::find().err().map(|error| error.to_string());
    let tests: [(&str, Test); 4] = [
        ("accepted_ptx_is_what_nvrtc_makes_of_the_sources", accepted_ptx_is_what_nvrtc_makes_of_the_sources),
        ("every_contract_has_its_entry_point", every_contract_has_its_entry_point),
        ("both_sources_compile_as_one", both_sources_compile_as_one),
        ("no_kernel_but_the_rotation_uses_local_memory", no_kernel_but_the_rotation_uses_local_memory),
    ];
    let trials = tests.map(|(name, test)| match &absent {
        Some(reason) => Trial::test(name, test).with_ignored_flag(true).with_kind(reason.clone()),
        None => Trial::test(name, test),
    });
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}
