//! The hardware's answers in a few files: hashes for what the ISA defines, distances for what it bounds.
//!
//! | file | holds |
//! | --- | --- |
//! | `forms.txt` | whose answers they are; a line a form: kind, number of tuples, hash of the operands, SHA-256 of the answers, name |
//! | `chunks.bin` | a byte of SHA-256 for each of a form's chunks, which says where answers differ |
//! | `distances.bin` | for approximate forms, how far each answer is from the correctly rounded one: integers, deflated |

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use miniz_oxide::{deflate, inflate};
use sha2::{Digest, Sha256};

use crate::answers::elements;
use crate::form::{Float, Form, Value};

/// Chunks that a form's tuples are divided into, at most.
const CHUNKS: usize = 128;

/// What is kept of one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) tuples: usize,
    /// Hash of the operands: where it differs, the generator has changed and nothing can be said.
    pub(crate) operands: u32,
    pub(crate) digest: [u8; 32],
    pub(crate) chunks: Vec<u8>,
    /// For an approximate form, each answer's distance from the correctly rounded one.
    pub(crate) distances: Option<Vec<i64>>,
}

/// Everything that is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Golden {
    /// Whose answers these are.
    pub(crate) device: String,
    pub(crate) records: Vec<Record>,
}

/// Where the accepted answers lie.
pub(crate) fn folder() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/instructions");
    if built.is_dir() { built } else { "golden/instructions".into() }
}

/// Four bytes of a hash.
pub(crate) fn short(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(*Sha256::digest(bytes).first_chunk().unwrap_or(&[0; 4]))
}

/// Tuples of a chunk.
pub(crate) fn chunk_length(form: &Form) -> usize {
    form.tuples().div_ceil(CHUNKS)
}

/// A byte for each chunk of the answers.
pub(crate) fn chunks(form: &Form, answers: &[u8]) -> Vec<u8> {
    let (tuples, length) = (form.tuples(), chunk_length(form));
    let chunk = |from: usize| {
        let to = (from + length).min(tuples);
        let mut hash = Sha256::new();
        let mut base = 0;
        for output in &form.outputs {
            let size = output.width.bytes();
            hash.update(&answers[base + from * size..base + to * size]);
            base += tuples * size;
        }
        hash.finalize()[0]
    };
    (0..tuples).step_by(length).map(chunk).collect()
}

/// The place of a float's bits in the order of its values, −0 just below +0.
fn place(value: Value, bits: u64) -> i64 {
    let sign = match value {
        Value::Float(kind) | Value::Pair(kind) => kind.sign(),
        Value::Upper | Value::Bits => Float::F64.sign(),
    };
    let magnitude = (bits & (sign - 1)) as i64;
    if bits & sign == 0 { magnitude } else { !magnitude }
}

/// How many values of the format lie between each answer and the correctly rounded one.
pub(crate) fn distances(form: &Form, answers: &[u8], rounded: &[u8]) -> Vec<i64> {
    let pairs = elements(form, answers).into_iter().zip(elements(form, rounded));
    pairs.map(|((value, a), (_, b))| place(value, a).wrapping_sub(place(value, b))).collect()
}

/// The answers at these distances from the correctly rounded ones.
pub(crate) fn restored(form: &Form, rounded: &[u8], distances: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rounded.len());
    let mut sizes = form.outputs.iter().flat_map(|output| match output.value {
        Value::Pair(_) => std::iter::repeat_n(2, 2 * form.tuples()),
        _ => std::iter::repeat_n(output.width.bytes(), form.tuples()),
    });
    for ((value, bits), &distance) in elements(form, rounded).into_iter().zip(distances) {
        let sign = match value {
            Value::Float(kind) | Value::Pair(kind) => kind.sign(),
            Value::Upper | Value::Bits => Float::F64.sign(),
        };
        let place = place(value, bits).wrapping_add(distance);
        let bits = if place < 0 { sign | !place as u64 } else { place as u64 };
        bytes.extend_from_slice(&bits.to_le_bytes()[..sizes.next().unwrap_or(0)]);
    }
    bytes
}

impl Record {
    /// What is kept of a form's answers; an approximate form's need the correctly rounded ones.
    pub(crate) fn new(form: &Form, operands: &[u8], answers: &[u8], rounded: &[u8]) -> Self {
        Self {
            name: form.name.clone(),
            tuples: form.tuples(),
            operands: short(operands),
            digest: Sha256::digest(answers).into(),
            chunks: chunks(form, answers),
            distances: form.approximate.then(|| distances(form, answers, rounded)),
        }
    }
}

impl Golden {
    /// Writes the files of a folder, which is made where it is missing.
    pub(crate) fn write(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut text = format!("# {}\n", self.device);
        let (mut chunks, mut distances) = (Vec::new(), Vec::new());
        for record in &self.records {
            let kind = if record.distances.is_some() { "approximate" } else { "exact" };
            let _ = write!(text, "{kind} {} {:08x} ", record.tuples, record.operands);
            record.digest.iter().for_each(|byte| {
                let _ = write!(text, "{byte:02x}");
            });
            let _ = writeln!(text, " {}", record.name);
            chunks.extend_from_slice(&record.chunks);
            record.distances.iter().flatten().for_each(|&distance| put(&mut distances, distance));
        }
        std::fs::write(folder.join("forms.txt"), text)?;
        std::fs::write(folder.join("chunks.bin"), chunks)?;
        std::fs::write(folder.join("distances.bin"), deflate::compress_to_vec(&distances, 9))
    }

    /// Reads the files of a folder. What is known of the forms says how much belongs to each.
    pub(crate) fn read(folder: &Path, forms: &[Form]) -> Result<Self, String> {
        let file = |name: &str| {
            std::fs::read(folder.join(name)).map_err(|error| format!("{}: {error}", folder.join(name).display()))
        };
        let text = String::from_utf8(file("forms.txt")?).map_err(|error| error.to_string())?;
        let (chunks, packed) = (file("chunks.bin")?, file("distances.bin")?);
        let distances = inflate::decompress_to_vec(&packed).map_err(|error| format!("distances.bin: {error}"))?;
        let (mut chunks, mut distances) = (chunks.as_slice(), distances.as_slice());
        let mut lines = text.lines();
        let device = lines.next().and_then(|line| line.strip_prefix("# ")).ok_or("forms.txt does not say whose")?;
        let mut golden = Self { device: device.to_owned(), records: Vec::new() };
        for line in lines {
            let malformed = || format!("forms.txt: `{line}`");
            let parts: Vec<&str> = line.splitn(5, ' ').collect();
            let &[kind, tuples, operands, digest, name] = parts.as_slice() else { return Err(malformed()) };
            let form = forms.iter().find(|form| form.name == name);
            let form = form.ok_or_else(|| format!("no form is called `{name}`; the answers are of other forms"))?;
            if tuples.parse() != Ok(form.tuples()) || (kind == "approximate") != form.approximate {
                return Err(format!("`{name}` has changed its kind or its number of operands"));
            }
            let (own, others) =
                chunks.split_at_checked(form.tuples().div_ceil(chunk_length(form))).ok_or("chunks.bin is too short")?;
            chunks = others;
            let own_distances = form.approximate.then(|| {
                let halves = form.outputs.iter().map(|o| if matches!(o.value, Value::Pair(_)) { 2 } else { 1 });
                (0..halves.sum::<usize>() * form.tuples()).map(|_| take(&mut distances)).collect::<Option<Vec<i64>>>()
            });
            golden.records.push(Record {
                name: name.to_owned(),
                tuples: form.tuples(),
                operands: u32::from_str_radix(operands, 16).map_err(|_| malformed())?,
                digest: unhex(digest).ok_or_else(malformed)?,
                chunks: own.to_vec(),
                distances: own_distances.map(|found| found.ok_or("distances.bin is too short")).transpose()?,
            });
        }
        if chunks.is_empty() && distances.is_empty() {
            Ok(golden)
        } else {
            Err("there is more than the forms need".into())
        }
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    (text.len() == 64).then_some(digest)
}

/// Seven bits a byte, the sign in the lowest.
fn put(bytes: &mut Vec<u8>, number: i64) {
    let mut left = (number << 1 ^ number >> 63) as u64;
    while left >= 0x80 {
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

fn take(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some((number >> 1) as i64 ^ -((number & 1) as i64));
        }
    }
    None
}
