//! What an instruction form is: its text, where its operands come from, what its answers are.
//!
//! A program has one entry point a form. A thread loads its operands, runs the instruction once and stores the raw bits of
//! what it gave. Operands and answers lie array by array, one element a thread: `%a %b %c %e` in, `%x %y` out.

use std::fmt::Write as _;

use crate::draw::Draw;

/// Threads of a block.
pub(crate) const BLOCK: usize = 128;

/// Operand tuples of a form whose operands cannot be gone through completely.
pub(crate) const TUPLES: usize = 10_240;

const INPUTS: [&str; 4] = ["a", "b", "c", "e"];
const OUTPUTS: [&str; 2] = ["x", "y"];

/// A register's size; predicates are kept as 16 bits that are 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Pred,
    B16,
    B32,
    B64,
}

impl Width {
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Pred | Self::B16 => 2,
            Self::B32 => 4,
            Self::B64 => 8,
        }
    }

    pub(crate) const fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes())
    }
}

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    F16,
    Bf16,
    F32,
    F64,
}

impl Float {
    /// Bits of the fraction, and of the exponent.
    pub(crate) const fn fields(self) -> (u32, u32) {
        match self {
            Self::F16 => (10, 5),
            Self::Bf16 => (7, 8),
            Self::F32 => (23, 8),
            Self::F64 => (52, 11),
        }
    }

    pub(crate) const fn sign(self) -> u64 {
        let (fraction, exponent) = self.fields();
        1 << (fraction + exponent)
    }

    pub(crate) const fn infinity(self) -> u64 {
        let (fraction, exponent) = self.fields();
        ((1 << exponent) - 1) << fraction
    }

    pub(crate) const fn one(self) -> u64 {
        let (fraction, exponent) = self.fields();
        ((1 << (exponent - 1)) - 1) << fraction
    }

    pub(crate) const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// The value of its bits, exactly.
    pub(crate) fn value(self, bits: u64) -> f64 {
        match self {
            Self::F64 => f64::from_bits(bits),
            Self::F32 => f32::from_bits(bits as u32).into(),
            Self::Bf16 => f32::from_bits((bits as u32) << 16).into(),
            Self::F16 => {
                let magnitude = match bits & 0x7FFF {
                    subnormal @ 0..0x400 => subnormal as f64 / f64::from(1 << 24),
                    normal @ 0x400..0x7C00 => f64::from_bits((normal << 42) + (1008 << 52)),
                    0x7C00 => f64::INFINITY,
                    _ => f64::NAN,
                };
                if bits & 0x8000 == 0 { magnitude } else { -magnitude }
            }
        }
    }

    /// The NaN that stands for all of them where the ISA leaves their bits open.
    pub(crate) const fn nan(self) -> u64 {
        self.sign() - 1
    }
}

/// What the bits of an answer mean, where that decides what is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Nothing: they are equal or not.
    Bits,
    /// A float: any NaN for any other.
    Float(Float),
    /// Two halves in a word.
    Pair(Float),
    /// An f64 of which an approximation gives the upper word: its last place is bit 32.
    Upper,
}

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) width: Width,
    pub(crate) draw: Draw,
}

/// An answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) width: Width,
    pub(crate) value: Value,
}

/// How operands of one tuple are made to depend on each other in some of the tuples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    None,
    /// `b` is `a` or a neighbour of it.
    Neighbours,
    /// `b` is `−a` or a neighbour of it.
    Opposite(Float),
    /// `c` is `−a·b`, rounded, or a neighbour of it.
    Product(Float),
    /// `a` is `b·c`, rounded, or a neighbour of it, for a `c` of its own.
    Quotient(Float),
    /// `a` is the square of a value, rounded, or a neighbour of it.
    Square(Float),
    /// `a` lies halfway between two values that have so many bits less, or next to that.
    Tie(u32),
    /// `a` as an integer lies halfway between two values of so many bits, or next to that.
    IntegerTie(u32),
}

/// One instruction form.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// Its name: the opcode as PTX writes it, and what else tells it from others.
    pub(crate) name: String,
    /// The instruction, from `%a %b %c %e` to `%x %y`; scratch registers are `%h0…`, `%s0…`, `%l0…`, `%p0…`, addresses of the
    /// thread's operands `%ia…`, of its answers `%ox…`, of 16 bytes of shared memory of its own `%cell`.
    pub(crate) text: String,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) relation: Relation,
    /// Whether the ISA gives an error rather than a value.
    pub(crate) approximate: bool,
}

impl Form {
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>, inputs: &[Input], outputs: &[Output]) -> Self {
        let mut inputs = inputs.to_vec();
        if let [only] = inputs.as_mut_slice() {
            only.draw = only.draw.complete(only.width);
        }
        Self {
            name: name.into(),
            text: text.into(),
            inputs,
            outputs: outputs.to_vec(),
            relation: Relation::None,
            approximate: false,
        }
    }

    /// An instruction that takes its operands in order and has one destination.
    pub(crate) fn plain(name: impl Into<String>, inputs: &[Input], output: Output) -> Self {
        let name = name.into();
        let text = format!("{name} {};", ["%x", "%a", "%b", "%c", "%e"][..=inputs.len()].join(", "));
        Self::new(name, text, inputs, &[output])
    }

    pub(crate) fn related(mut self, relation: Relation) -> Self {
        self.relation = relation;
        self
    }

    pub(crate) fn approximate(mut self) -> Self {
        self.approximate = true;
        self
    }

    /// How many operand tuples it is run on.
    pub(crate) fn tuples(&self) -> usize {
        self.inputs.iter().filter_map(|input| input.draw.count()).max().unwrap_or(TUPLES)
    }

    pub(crate) fn input_bytes(&self) -> usize {
        self.inputs.iter().map(|input| input.width.bytes()).sum::<usize>() * self.tuples()
    }

    pub(crate) fn output_bytes(&self) -> usize {
        self.outputs.iter().map(|output| output.width.bytes()).sum::<usize>() * self.tuples()
    }

    /// The form's entry point.
    pub(crate) fn entry(&self, label: &str) -> String {
        let mut text = format!(".visible .entry {label}(.param .u64 in, .param .u64 out)\n{{\n");
        text += ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %s<8>, %index, %block, %size, %cell;\n";
        text += ".reg .b64 %l<8>, %in, %out;\n";
        text += "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n";
        text += "mov.u32 %index, %tid.x;\nmov.u32 %block, %ctaid.x;\nmov.u32 %size, %ntid.x;\n";
        if self.text.contains("%cell") {
            let _ = writeln!(text, ".shared .align 16 .b8 cells[{}];", 16 * BLOCK);
            text += "mov.u32 %cell, cells;\nmad.lo.u32 %cell, %index, 16, %cell;\n";
        }
        text += "mad.lo.u32 %index, %block, %size, %index;\n";
        let mut base = 0;
        for (input, name) in self.inputs.iter().zip(INPUTS) {
            let bytes = input.width.bytes();
            address(&mut text, &format!("i{name}"), "in", bytes, base);
            base += bytes * self.tuples();
            let _ = match input.width {
                Width::Pred => write!(
                    text,
                    ".reg .pred %{name};\n.reg .b16 %w{name};\nld.global.b16 %w{name}, [%i{name}];\n\
                     setp.ne.b16 %{name}, %w{name}, 0;\n"
                ),
                _ => write!(text, ".reg .b{bits} %{name};\nld.global.b{bits} %{name}, [%i{name}];\n", bits = 8 * bytes),
            };
        }
        base = 0;
        for (output, name) in self.outputs.iter().zip(OUTPUTS) {
            let bytes = output.width.bytes();
            address(&mut text, &format!("o{name}"), "out", bytes, base);
            base += bytes * self.tuples();
            let _ = match output.width {
                Width::Pred => writeln!(text, ".reg .pred %{name};\n.reg .b16 %w{name};"),
                _ => writeln!(text, ".reg .b{} %{name};", 8 * bytes),
            };
        }
        text += &self.text;
        text.push('\n');
        // A form that stores by itself needs no help.
        for (output, name) in self.outputs.iter().zip(OUTPUTS).filter(|_| !self.text.contains("[%ox]")) {
            let _ = match output.width {
                Width::Pred => {
                    write!(text, "selp.b16 %w{name}, 1, 0, %{name};\nst.global.b16 [%o{name}], %w{name};\n")
                }
                width => writeln!(text, "st.global.b{} [%o{name}], %{name};", 8 * width.bytes()),
            };
        }
        text += "ret;\n}\n";
        text
    }
}

fn address(text: &mut String, name: &str, whose: &str, bytes: usize, base: usize) {
    let _ = write!(
        text,
        ".reg .b64 %{name};\nmul.wide.u32 %{name}, %index, {bytes};\nadd.u64 %{name}, %{name}, %{whose};\n\
         add.u64 %{name}, %{name}, {base};\n"
    );
}

/// A program with the given entry points.
pub(crate) fn program(entries: impl Iterator<Item = String>) -> String {
    entries.fold(".version 8.0\n.target sm_90\n.address_size 64\n".to_owned(), |text, entry| text + &entry)
}
