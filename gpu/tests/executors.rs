//! Both executors keep the promises of the seam: what loads, what is refused, and in which words.

use gdn_gpu::contract::Source;
use gdn_gpu::cuda;
use gdn_gpu::executor::{Argument, Code, Geometry, Launch, Module, Program};
use gdn_gpu::nvrtc::Nvrtc;
use gdn_gpu::vm::{Options, VmExecutor};
use gdn_gpu::{Error, Executor, program, ptx};
use libtest_mimic::{Arguments, Failed, Trial};

type Open = fn() -> Result<Box<dyn Executor>, Error>;
type Test = fn(&mut dyn Executor) -> Result<(), Failed>;

#[expect(clippy::unnecessary_wraps, reason = "it is one of several ways to open an executor")]
fn vm() -> Result<Box<dyn Executor>, Error> {
    Ok(Box::new(VmExecutor::new(Options::default()).with_compiler(ptx::of)))
}

fn cuda() -> Result<Box<dyn Executor>, Error> {
    Ok(Box::new(cuda::open()?))
}

fn ensure(holds: bool, otherwise: impl Into<String>) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(otherwise.into().into()) }
}

/// `gk_gate_mul` over two arrays of `n` ones and zeros.
fn gate_mul(executor: &mut dyn Executor, module: Module, threads: u32) -> Result<Launch, Error> {
    let (context, gate) = (executor.alloc(256)?, executor.alloc(256)?);
    executor.upload(context, 0, &1f32.to_le_bytes().repeat(64))?;
    executor.upload(gate, 0, &[0; 256])?;
    let pointer = |buffer| Argument::Pointer { buffer, offset: 0 };
    let geometry = Geometry { grid: [1, 1, 1], block: [threads, 1, 1] };
    let arguments = vec![pointer(context), pointer(gate), Argument::I32(64)];
    Ok(Launch { module, entry: "gk_gate_mul".into(), geometry, arguments })
}

fn loading_a_program_again_gives_the_same_module(executor: &mut dyn Executor) -> Result<(), Failed> {
    let shipped = program(Source::Qwen38);
    let (first, second) = (executor.load(&shipped)?, executor.load(&shipped)?);
    ensure(first == second, "two modules of one program")?;
    ensure(executor.entries(first).contains(&"gk_gate_mul".to_owned()), "gk_gate_mul is not among the entries")
}

fn a_launch_writes_what_the_kernel_computes(executor: &mut dyn Executor) -> Result<(), Failed> {
    let module = executor.load(&program(Source::Qwen38))?;
    let launch = gate_mul(executor, module, 64)?;
    executor.launch(&launch)?;
    executor.synchronize()?;
    let Argument::Pointer { buffer, .. } = launch.arguments[0] else { return Err("no pointer".into()) };
    let mut bytes = [0; 256];
    executor.download(buffer, 0, &mut bytes)?;
    ensure(bytes.chunks(4).all(|word| word == 0.5f32.to_le_bytes()), "sigmoid(0) is one half")
}

fn a_compile_error_carries_the_log(executor: &mut dyn Executor) -> Result<(), Failed> {
    let bad =
        Program { name: "bad".into(), code: Code::Cuda("extern \"C\" __global__ void f() { undeclared = 1; }".into()) };
    match executor.load(&bad) {
        Err(Error::Compile { program, log }) => {
            ensure(program == "bad" && log.contains("undeclared"), format!("{program}: {log}"))
        }
        // Without NVRTC there is no log to carry; the message must say so instead.
        Err(Error::NoCompiler { .. }) if Nvrtc::find().is_err() => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn malformed_ptx_is_refused(executor: &mut dyn Executor) -> Result<(), Failed> {
    let bad = Program { name: "bad".into(), code: Code::Ptx(".version 8.0\n.target sm_75\nnonsense;\n".into()) };
    let refused = executor.load(&bad);
    ensure(matches!(refused, Err(Error::Compile { .. })), format!("{refused:?}"))
}

fn an_unknown_entry_is_named(executor: &mut dyn Executor) -> Result<(), Failed> {
    let module = executor.load(&program(Source::Qwen38))?;
    let mut launch = gate_mul(executor, module, 64)?;
    launch.entry = "no_such_kernel".into();
    match executor.launch(&launch) {
        Err(Error::NoEntry { entry, program }) => ensure(entry == "no_such_kernel" && program == "qwen38", program),
        other => Err(format!("{other:?}").into()),
    }
}

fn a_refused_launch_names_kernel_and_geometry(executor: &mut dyn Executor) -> Result<(), Failed> {
    let module = executor.load(&program(Source::Qwen38))?;
    // No device takes more than 1024 threads a block.
    let launch = gate_mul(executor, module, 4096)?;
    let message = executor.launch(&launch).err().map(|error| error.to_string()).unwrap_or_default();
    ensure(message.contains("gk_gate_mul") && message.contains("4096"), message)
}

fn transfers_beyond_a_buffer_are_refused(executor: &mut dyn Executor) -> Result<(), Failed> {
    let buffer = executor.alloc(16)?;
    ensure(matches!(executor.upload(buffer, 8, &[0; 16]), Err(Error::Memory { .. })), "an upload went beyond")?;
    ensure(matches!(executor.download(buffer, usize::MAX, &mut [0; 16]), Err(Error::Memory { .. })), "a download did")?;
    executor.free(buffer);
    ensure(matches!(executor.upload(buffer, 0, &[0; 16]), Err(Error::Memory { .. })), "a freed buffer took bytes")
}

fn timing_gives_a_duration_a_launch(executor: &mut dyn Executor) -> Result<(), Failed> {
    let module = executor.load(&program(Source::Qwen38))?;
    let launch = gate_mul(executor, module, 64)?;
    let times = executor.time(&launch, 5)?;
    ensure(times.len() == 5 && times.iter().all(|time| !time.is_zero()), format!("{times:?}"))
}

fn a_fork_shares_the_device_and_runs(executor: &mut dyn Executor) -> Result<(), Failed> {
    let mut fork = executor.fork()?;
    ensure(fork.describe() == executor.describe(), "a fork is another device")?;
    a_launch_writes_what_the_kernel_computes(fork.as_mut())
}

fn main() {
    let tests: [(&str, Test); 9] = [
        ("loading_a_program_again_gives_the_same_module", loading_a_program_again_gives_the_same_module),
        ("a_launch_writes_what_the_kernel_computes", a_launch_writes_what_the_kernel_computes),
        ("a_compile_error_carries_the_log", a_compile_error_carries_the_log),
        ("malformed_ptx_is_refused", malformed_ptx_is_refused),
        ("an_unknown_entry_is_named", an_unknown_entry_is_named),
        ("a_refused_launch_names_kernel_and_geometry", a_refused_launch_names_kernel_and_geometry),
        ("transfers_beyond_a_buffer_are_refused", transfers_beyond_a_buffer_are_refused),
        ("timing_gives_a_duration_a_launch", timing_gives_a_duration_a_launch),
        ("a_fork_shares_the_device_and_runs", a_fork_shares_the_device_and_runs),
    ];
    let absent = cuda::open().err().map(|error| error.to_string());
    let executors: [(&str, Open, Option<String>); 2] = [("vm", vm, None), ("cuda", cuda, absent)];
    let mut trials = Vec::new();
    for (name, open, absent) in executors {
        for (statement, test) in tests {
            let trial = Trial::test(format!("{name}::{statement}"), move || test(open()?.as_mut()));
            trials.push(match &absent {
                Some(reason) => trial.with_ignored_flag(true).with_kind(reason.clone()),
                None => trial,
            });
        }
    }
    let present = !matches!(cuda::open(), Err(Error::NoDriver { .. }));
    let trial = Trial::test("cuda::without_a_driver_opening_says_so", || match cuda::open().err() {
        Some(error @ Error::NoDriver { .. }) => ensure(error.to_string().contains("no CUDA driver"), error.to_string()),
        other => Err(format!("{other:?}").into()),
    });
    trials.push(if present { trial.with_ignored_flag(true).with_kind("a driver is here") } else { trial });
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
