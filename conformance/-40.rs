//! 

use super::Sort::{};
use super::{Catalogue, Mutant};

pub(super) const CATALOGUE: Catalogue = Catalogue {
    family: "-40",
    mutants: MUTANTS,
    ptx: include_str!("../../../golden/ptx/mutants/-40.ptx"),
};

