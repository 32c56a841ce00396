//! The virtual machine's speed: a loop, one token through every kernel of a real layer, and the same PTX in ptoxide.
//! `cargo bench -p gdn-bench --bench vm`; the lines at the end, also to be had alone with `-- summary`, compare with what is required.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use gdn_gpu::contract::{Dim, Dtype, Kind, Param, Role, Shape, Source, Values};
use gdn_gpu::executor::{Argument, Code, Executor, Geometry, Launch, Program};
use gdn_gpu::vm::{LoadedModule, Machine, MachineBuffer, Options, VmExecutor};
use gdn_gpu::{contracts, ptx};
use std::time::{Duration, Instant};

fn main() {
    divan::main();
    // Not under `cargo test`, and not when a filter asks for something else.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let benchmark = std::env::args().any(|argument| argument == "--bench");
    if benchmark && arguments.iter().all(|filter| filter == "summary") {
        summary();
    }
}

fn options(checks: bool) -> Options {
    Options { checks, ..Options::default() }
}

/// Small integers, so that sums are exact in whatever order and with whatever rounding a machine makes them.
fn integers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 40_503) % 13) as f32 - 6.0).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A launch on our machine, ready to be repeated.
struct Ours {
    machine: Machine,
    module: LoadedModule,
    entry: &'static str,
    geometry: Geometry,
    parameters: Vec<Vec<u8>>,
    result: MachineBuffer,
}

impl Ours {
    /// Buffers of these contents, the last of which takes the result, then the other parameters.
    fn new(
        text: &str,
        entry: &'static str,
        geometry: Geometry,
        buffers: &[Vec<f32>],
        more: &[Vec<u8>],
        checks: bool,
    ) -> Self {
        let mut machine = Machine::new(options(checks));
        let module = machine.load(entry, text).expect("it loads");
        let mut parameters = Vec::new();
        let mut result = None;
        for (number, contents) in buffers.iter().enumerate() {
            let buffer = machine.alloc(&format!("buffer {number}"), contents.len() * 4).expect("memory");
            assert!(machine.upload(buffer, 0, &bytes(contents)));
            parameters.push(machine.address(buffer).to_le_bytes().to_vec());
            result = Some(buffer);
        }
        parameters.extend_from_slice(more);
        Self { machine, module, entry, geometry, parameters, result: result.expect("a buffer") }
    }

    /// Warp instructions of one launch.
    fn run(&mut self) -> u64 {
        let report = self.machine.launch(self.module, self.entry, self.geometry, 0, &self.parameters);
        report.expect("it runs").instructions
    }

    fn result(&self) -> Vec<f32> {
        let mut raw = vec![0; self.machine.bytes(self.result).expect("a buffer")];
        assert!(self.machine.download(self.result, 0, &mut raw));
        raw.as_chunks::<4>().0.iter().map(|&word| f32::from_le_bytes(word)).collect()
    }
}

const ROUNDS: u32 = 2000;

fn the_loop(checks: bool) -> Ours {
    let geometry = Geometry { grid: [4, 1, 1], block: [256, 1, 1] };
    let buffers = [integers(2048), vec![0.0; 1024]];
    Ours::new(include_str!("ptx/loop.ptx"), "loop", geometry, &buffers, &[ROUNDS.to_le_bytes().to_vec()], checks)
}

/// Warp instructions a second.
#[divan::bench(args = [false, true])]
fn instructions(bencher: Bencher<'_, '_>, checks: bool) {
    let mut ours = the_loop(checks);
    let count = ours.run();
    bencher.counter(ItemsCount::new(count)).bench_local(|| ours.run());
}

/// Every shipped kernel at the sizes of a layer with 16 key heads and 48 value heads of 128, and an attention layer of 32 heads of
/// 256 of which 64 dimensions are rotated.
struct Layer {
    executor: VmExecutor,
    launches: Vec<Launch>,
}

impl Layer {
    fn new(checks: bool) -> Self {
        let (d, hk, hv, heads, hd) = (128, 16, 48, 32, 256);
        let shape = Shape::new(&[
            (Dim::D, d),
            (Dim::Hk, hk),
            (Dim::Hv, hv),
            (Dim::H, heads),
            (Dim::C, (2 * hk + hv) * d),
            (Dim::T, 4),
            (Dim::Nl2, 2 * hk),
            (Dim::N, hv * d),
            (Dim::Hd, hd),
            (Dim::Rot, 64),
            (Dim::Pos, 40_000),
            (Dim::Stride, heads * hd),
            (Dim::Blocks, hv),
            (Dim::Threads, d),
        ])
        .with(Param::Eps, 1e-6)
        .with(Param::Rbase, 1e7);
        let mut executor = VmExecutor::new(options(checks));
        let programs = Source::ALL.map(|source| {
            let program = Program { name: source.name().into(), code: Code::Ptx(ptx::accepted(source).into()) };
            (source, executor.load(&program).expect("the accepted PTX loads"))
        });
        let mut launches = Vec::new();
        for contract in contracts::all() {
            contract.check(&shape).expect("the shape is in the domain");
            let mut arguments = Vec::new();
            for arg in contract.args {
                arguments.push(match arg.kind {
                    Kind::Size(dim) => Argument::I32(shape.get(dim) as i32),
                    Kind::Scalar(param) => Argument::F32(shape.param(param).unwrap_or_default()),
                    Kind::Buffer(spec) => {
                        let count = spec.extent.elements(&shape);
                        let size = count * spec.dtype.bytes();
                        let buffer = executor.alloc(size).expect("memory");
                        executor.expose(buffer, 0, size, spec.role != Role::Input);
                        let values = (0..count).map(|i| ((i * 40_503) % 65_536) as f32 / 65_536.0 - 0.5);
                        let contents: Vec<u8> = match (spec.dtype, spec.values) {
                            (Dtype::I32, _) => (shape.get(Dim::Pos) as i32).to_le_bytes().repeat(count),
                            (_, Values::NonPositive) => values.flat_map(|x| (-x.abs()).to_le_bytes()).collect(),
                            _ => values.flat_map(f32::to_le_bytes).collect(),
                        };
                        if spec.role != Role::Output {
                            executor.upload(buffer, 0, &contents).expect("it fits");
                        }
                        let lead = spec.extent.lead(&shape) * spec.dtype.bytes();
                        Argument::Pointer { buffer, offset: -(lead as i64) }
                    }
                });
            }
            let module = programs.iter().find(|p| p.0 == contract.source).expect("both are loaded").1;
            let geometry = contract.grid.geometry(&shape);
            launches.push(Launch { module, entry: contract.kernel.into(), geometry, arguments });
        }
        Self { executor, launches }
    }

    fn token(&mut self) {
        for launch in &self.launches {
            self.executor.launch(launch).expect("it runs");
        }
    }
}

/// One token through every kernel.
#[divan::bench(args = [false, true], sample_count = 10)]
fn token(bencher: Bencher<'_, '_>, checks: bool) {
    let mut layer = Layer::new(checks);
    bencher.bench_local(|| layer.token());
}

/// A program that ptoxide runs too: its text, entry point, launch, buffers and sizes.
struct Shared {
    name: &'static str,
    text: &'static str,
    entry: &'static str,
    geometry: Geometry,
    buffers: Vec<Vec<f32>>,
    sizes: Vec<u64>,
}

const EDGE: u32 = 64;

fn shared() -> [Shared; 3] {
    let n = EDGE as usize;
    let matrices = || vec![integers(n * n), integers(n * n).into_iter().rev().collect(), vec![0.0; n * n]];
    let big = 8 * n;
    [
        Shared {
            name: "gemm",
            text: include_str!("ptx/gemm.ptx"),
            entry: "_Z4gemmPfS_S_mmm",
            geometry: Geometry { grid: [EDGE / 16, EDGE / 16, 1], block: [16, 16, 1] },
            buffers: matrices(),
            sizes: vec![u64::from(EDGE); 3],
        },
        Shared {
            name: "tiled gemm",
            text: include_str!("ptx/tiled_gemm.ptx"),
            entry: "tiled_gemm",
            geometry: Geometry { grid: [EDGE / 16, EDGE / 16, 1], block: [16, 16, 1] },
            buffers: matrices(),
            sizes: vec![u64::from(EDGE)],
        },
        Shared {
            name: "transpose",
            text: include_str!("ptx/transpose.ptx"),
            entry: "_Z9transposePfS_m",
            geometry: Geometry { grid: [8 * EDGE / 32, 8 * EDGE / 32, 1], block: [32, 32, 1] },
            buffers: vec![integers(big * big), vec![0.0; big * big]],
            sizes: vec![u64::from(8 * EDGE)],
        },
    ]
}

/// Programs that other machines run too.
#[divan::bench(args = [("gemm", false), ("gemm", true), ("tiled gemm", false), ("tiled gemm", true), ("transpose", false), ("transpose", true)])]
fn program(bencher: Bencher<'_, '_>, (name, checks): (&str, bool)) {
    let programs = shared();
    let mut ours = programs.iter().find(|p| p.name == name).expect("it is listed").ours(checks);
    let count = ours.run();
    bencher.counter(ItemsCount::new(count)).bench_local(|| ours.run());
}

impl Shared {
    fn ours(&self, checks: bool) -> Ours {
        let sizes: Vec<_> = self.sizes.iter().map(|n| n.to_le_bytes().to_vec()).collect();
        Ours::new(self.text, self.entry, self.geometry, &self.buffers, &sizes, checks)
    }
}

/// Reads the result; the type of ptoxide's pointers has no name outside of it.
type Read = dyn Fn(&mut ptoxide::Context) -> Vec<f32>;

/// The same in ptoxide, which has no checks and one thread.
struct Ptoxide<'a> {
    shared: &'a Shared,
    context: ptoxide::Context,
    arguments: Vec<ptoxide::Argument<'static>>,
    read: Box<Read>,
}

impl<'a> Ptoxide<'a> {
    fn new(shared: &'a Shared) -> Self {
        let mut context = ptoxide::Context::new_with_module(shared.text).expect("ptoxide loads it");
        let mut arguments = Vec::new();
        let mut read: Box<Read> = Box::new(|_| Vec::new());
        for contents in &shared.buffers {
            let count = contents.len();
            let pointer = context.alloc::<f32>(count);
            context.write(pointer, contents);
            arguments.push(ptoxide::Argument::ptr(pointer));
            read = Box::new(move |context| {
                let mut values = vec![0.0; count];
                context.read(pointer, &mut values);
                values
            });
        }
        arguments.extend(shared.sizes.iter().map(|&n| ptoxide::Argument::U64(n)));
        Self { shared, context, arguments, read }
    }

    fn run(&mut self) {
        let [gx, gy, _] = self.shared.geometry.grid;
        let [bx, by, _] = self.shared.geometry.block;
        let launch = ptoxide::LaunchParams::func(self.shared.entry).grid2d(gx, gy).block2d(bx, by);
        self.context.run(launch, &self.arguments).expect("ptoxide runs it");
    }

    fn result(&mut self) -> Vec<f32> {
        (self.read)(&mut self.context)
    }
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

const SAMPLES: usize = 15;

/// The requirements in numbers, measured side by side: samples alternate, so that what else the computer does meets both.
fn summary() {
    println!("\ncores: {}", std::thread::available_parallelism().map_or(1, usize::from));
    for checks in [false, true] {
        let mut ours = the_loop(checks);
        let count = ours.run() as f64;
        let time = median((0..SAMPLES).map(|_| timed(|| _ = black_box(ours.run()))).collect());
        println!(
            "loop, checks {}: {:.0} million warp instructions/s, {:.2} billion lane instructions/s",
            on(checks),
            count / time / 1e6,
            count * 32.0 / time / 1e9
        );
    }
    for (checks, limit) in [(false, 0.3), (true, 2.0)] {
        let mut layer = Layer::new(checks);
        layer.token();
        let time = median((0..SAMPLES).map(|_| timed(|| layer.token())).collect());
        println!(
            "one token through {} kernels, checks {}: {time:.3} s (required: < {limit} s)",
            layer.launches.len(),
            on(checks)
        );
    }
    let mut ratios = Vec::new();
    for shared in &shared() {
        let (mut other, mut off, mut on) = (Ptoxide::new(shared), shared.ours(false), shared.ours(true));
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..SAMPLES {
            times[0].push(timed(|| other.run()));
            times[1].push(timed(|| _ = black_box(off.run())));
            times[2].push(timed(|| _ = black_box(on.run())));
        }
        let expected = other.result();
        assert!(expected.iter().any(|&x| x != 0.0), "{}: ptoxide computed nothing", shared.name);
        assert_eq!(off.result(), expected, "{}", shared.name);
        assert_eq!(on.result(), expected, "{}", shared.name);
        let [theirs, off, on] = times.map(median);
        println!(
            "{}: ptoxide {:.2} ms, checks off {:.2} ms, checks on {:.2} ms",
            shared.name,
            theirs * 1e3,
            off * 1e3,
            on * 1e3
        );
        ratios.push(format!("{} {:.1}x off, {:.1}x on", shared.name, theirs / off, theirs / on));
    }
    println!("times as fast as ptoxide (required: 10x with checks off, 1x with checks on): {}", ratios.join("; "));
}

const fn on(checks: bool) -> &'static str {
    if checks { "on" } else { "off" }
}
