//! Tokens of PTX text. A word keeps its dots (`ld.global.f32`, `%tid.x`, `.reg`), because PTX gives them no meaning of their own.

/// What is wrong with a PTX text, and on which of its lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TextError {
    /// Line in the PTX text, from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl TextError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// A name, directive, opcode or register, dots included.
    Word(&'a str),
    /// An integer; negative ones come as a `-` symbol first.
    Int(u64),
    /// `0f3F800000`.
    F32(u32),
    /// `0d3FF0000000000000`, or a decimal floating-point number.
    F64(u64),
    /// A quoted string, without its quotes.
    Text(&'a str),
    /// Any other single character.
    Symbol(char),
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => write!(f, "`{word}`"),
            Self::Int(value) => write!(f, "`{value}`"),
            Self::F32(bits) => write!(f, "`0f{bits:08X}`"),
            Self::F64(bits) => write!(f, "`0d{bits:016X}`"),
            Self::Text(_) => write!(f, "a string"),
            Self::Symbol(c) => write!(f, "`{c}`"),
        }
    }
}

/// Splits a text into tokens with their lines.
pub(crate) fn tokenize(text: &str) -> Result<Vec<(Token<'_>, u32)>, TextError> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' => {
                line += 1;
                at += 1;
            }
            b' ' | b'\t' | b'\r' | 0 => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = end_of_line(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let close = text[at + 2..].find("*/").ok_or_else(|| TextError::new(line, "a comment is not closed"))?;
                line += newlines(&bytes[at..at + 2 + close]);
                at += close + 4;
            }
            b'"' => {
                let close = text[at + 1..].find('"').ok_or_else(|| TextError::new(line, "a string is not closed"))?;
                tokens.push((Token::Text(&text[at + 1..at + 1 + close]), line));
                line += newlines(&bytes[at..at + 1 + close]);
                at += close + 2;
            }
            b'0'..=b'9' => {
                let end = number_end(bytes, at);
                tokens.push((number(&text[at..end], line)?, line));
                at = end;
            }
            _ if starts_word(byte) => {
                let end = word_end(bytes, at);
                tokens.push((Token::Word(&text[at..end]), line));
                at = end;
            }
            b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b',' | b';' | b':' | b'=' | b'+' | b'-' | b'|'
            | b'!' | b'@' | b'*' => {
                tokens.push((Token::Symbol(char::from(byte)), line));
                at += 1;
            }
            _ => {
                let c = text[at..].chars().next().unwrap_or('?');
                return Err(TextError::new(line, format!("unexpected character {c:?}")));
            }
        }
    }
    Ok(tokens)
}

fn end_of_line(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n)
}

fn newlines(bytes: &[u8]) -> u32 {
    bytes.iter().map(|&b| u32::from(b == b'\n')).sum()
}

const fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

const fn continues_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
}

/// The end of a word; `::` inside it (`.L1::no_allocate`) belongs to it, a single colon (a label's) does not.
fn word_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            Some(&b) if continues_word(b) => at += 1,
            Some(b':') if bytes.get(at + 1) == Some(&b':') && bytes.get(at + 2).is_some_and(|&b| continues_word(b)) => {
                at += 2;
            }
            _ => return at,
        }
    }
}

fn number_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(&b) = bytes.get(at) {
        let hex_prefix = bytes.get(start + 1).is_some_and(|b| matches!(b, b'x' | b'X' | b'f' | b'F' | b'd' | b'D'));
        let exponent_sign = matches!(b, b'+' | b'-') && !hex_prefix && matches!(bytes[at - 1], b'e' | b'E');
        if !(b.is_ascii_alphanumeric() || b == b'.' || exponent_sign) {
            break;
        }
        at += 1;
    }
    at
}

fn number(text: &str, line: u32) -> Result<Token<'_>, TextError> {
    let bad = || TextError::new(line, format!("malformed number `{text}`"));
    let prefix = text.get(..2).unwrap_or("");
    let rest = text.get(2..).unwrap_or("");
    match prefix {
        "0f" | "0F" if rest.len() == 8 => return u32::from_str_radix(rest, 16).map(Token::F32).map_err(|_| bad()),
        "0d" | "0D" if rest.len() == 16 => return u64::from_str_radix(rest, 16).map(Token::F64).map_err(|_| bad()),
        _ => {}
    }
    if text.contains('.') || (!matches!(prefix, "0x" | "0X") && text.contains(['e', 'E'])) {
        return text.parse::<f64>().map(|value| Token::F64(value.to_bits())).map_err(|_| bad());
    }
    let digits = text.trim_end_matches(['u', 'U']);
    let value = match digits.get(..2) {
        Some("0x" | "0X") => u64::from_str_radix(&digits[2..], 16),
        Some("0b" | "0B") => u64::from_str_radix(&digits[2..], 2),
        Some(_) if digits.starts_with('0') => u64::from_str_radix(&digits[1..], 8),
        _ => digits.parse(),
    };
    value.map(Token::Int).map_err(|_| bad())
}
