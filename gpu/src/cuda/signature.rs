//! What a PTX text says of its entry points: their names, and the sizes of their parameters.
//!
//! The driver reads as many arguments through pointers as the entry point declares, whatever it was given. Somebody else's
//! kernel may declare more than its contract lists, so both are compared before a launch.

/// An entry point's name and parameters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Signature {
    /// Its name.
    pub(super) name: String,
    /// Bytes of each parameter, in order; 0 for a sort that takes no plain value (a texture), which no argument fits.
    pub(super) parameters: Vec<usize>,
}

impl Signature {
    /// Why arguments of these sizes cannot be passed, if they cannot.
    pub(super) fn refusal(&self, given: &[usize]) -> Option<String> {
        if self.parameters.len() != given.len() {
            return Some(format!("it takes {} arguments, {} were given", self.parameters.len(), given.len()));
        }
        let at = self.parameters.iter().zip(given).position(|(declared, given)| declared != given)?;
        Some(format!("argument {at} has {} bytes, {} were given", self.parameters[at], given[at]))
    }
}

/// The entry points of a PTX text, in its order.
pub(super) fn signatures(ptx: &str) -> Vec<Signature> {
    let signature = |rest: &str| {
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c))).unwrap_or(rest.len());
        let list =
            rest[end..].trim_start().strip_prefix('(').and_then(|list| list.split(')').next()).unwrap_or_default();
        let parameters = list.split(',').filter(|parameter| !parameter.trim().is_empty()).map(bytes).collect();
        Signature { name: rest[..end].to_owned(), parameters }
    };
    without_comments(ptx).split(".entry").skip(1).map(signature).collect()
}

/// Bytes of a parameter such as `.param .u64 .ptr .align 1 x` or `.param .align 8 .b8 x[24]`.
fn bytes(parameter: &str) -> usize {
    let width = |token: &str| {
        let bits: usize = token.strip_prefix('.')?.strip_prefix(['b', 'u', 's', 'f'])?.parse().ok()?;
        Some(bits / 8)
    };
    let element = parameter.split_whitespace().find_map(width).unwrap_or(0);
    let mut lengths =
        parameter.split('[').skip(1).map(|rest| rest.split(']').next().unwrap_or_default().trim().parse().ok());
    lengths.try_fold(element, |bytes, length: Option<usize>| bytes.checked_mul(length?)).unwrap_or(0)
}

/// The text without comments and quoted file names, in which brackets and words mean nothing.
fn without_comments(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut rest = ptx;
    while let Some(at) = rest.find(['/', '"']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let to = |end: &str, from: usize| rest[from..].find(end).map(|at| from + at + end.len());
        let skipped = if rest.starts_with("//") {
            to("\n", 2)
        } else if rest.starts_with("/*") {
            to("*/", 2)
        } else if rest.starts_with('"') {
            to("\"", 1)
        } else {
            Some(1)
        };
        text.push(' ');
        rest = skipped.map_or("", |skipped| &rest[skipped..]);
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ptx: &str) -> Vec<(String, Vec<usize>)> {
        signatures(ptx).into_iter().map(|signature| (signature.name, signature.parameters)).collect()
    }

    #[test]
    fn names_and_sizes_are_read_in_order() {
        let ptx = ".visible .entry gdn_step(\n.param .u64 .ptr .align 1 a,\n.param .f32 b\n)\n{ret;}\n\
                   .entry other\n(.param .align 8 .b8 s[24], .param .u16 h)\n{}\n.entry none()\n{}\n.entry bare\n{}";
        let expected = [("gdn_step", vec![8, 4]), ("other", vec![24, 2]), ("none", vec![]), ("bare", vec![])];
        assert_eq!(read(ptx), expected.map(|(name, sizes)| (name.to_owned(), sizes)));
    }

    #[test]
    fn comments_and_file_names_hide_nothing() {
        let ptx = ".file 1 \"a/*b\"\n// .entry no()\n/* .entry no() */\n\
                   .entry f(.param .u64 a, // a ) b\n.param .u32 b /* ), */)\n{}\n/* open";
        assert_eq!(read(ptx), [("f".to_owned(), vec![8, 4])]);
    }

    #[test]
    fn what_takes_no_plain_value_fits_no_argument() {
        let ptx = ".entry f(.param .texref t, .param .b8 s[], .param .b64 m[9223372036854775807])";
        assert_eq!(read(ptx), [("f".to_owned(), vec![0, 0, 0])]);
    }

    #[test]
    fn the_shipped_kernels_take_what_their_contracts_list() {
        use crate::contract::Source;
        for source in Source::ALL {
            for signature in signatures(crate::ptx::accepted(source)) {
                let contract = crate::contracts::find(&signature.name).unwrap();
                assert_eq!(signature.parameters.len(), contract.args.len(), "{}", signature.name);
                assert!(signature.parameters.iter().all(|bytes| [4, 8].contains(bytes)), "{}", signature.name);
            }
        }
    }

    #[test]
    fn another_number_or_size_of_arguments_is_refused() {
        let signature = Signature { name: "f".into(), parameters: vec![8, 4] };
        assert_eq!(signature.refusal(&[8, 4]), None);
        assert_eq!(signature.refusal(&[8]).unwrap(), "it takes 2 arguments, 1 were given");
        assert_eq!(signature.refusal(&[8, 8]).unwrap(), "argument 1 has 4 bytes, 8 were given");
    }
}
