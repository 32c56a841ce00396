//! Short constructors for argument lists, so that a contract reads like the table it comes from.

use super::{Arg, BufferSpec, Dim, Dtype, Extent, Factor, Kind, Param, Role, Values};

const fn buffer(name: &'static str, role: Role, dtype: Dtype, extent: Extent, values: Values) -> Arg {
    Arg { name, kind: Kind::Buffer(BufferSpec { role, dtype, extent, values }) }
}

/// An f32 input.
pub const fn input(name: &'static str, extent: &'static [Factor]) -> Arg {
    buffer(name, Role::Input, Dtype::F32, Extent::Product(extent), Values::Any)
}

/// An f32 input with a restricted range of values.
pub const fn input_of(name: &'static str, extent: &'static [Factor], values: Values) -> Arg {
    buffer(name, Role::Input, Dtype::F32, Extent::Product(extent), values)
}

/// An i32 input of one element.
pub const fn index(name: &'static str) -> Arg {
    buffer(name, Role::Input, Dtype::I32, Extent::One, Values::Any)
}

/// An f32 output.
pub const fn output(name: &'static str, extent: &'static [Factor]) -> Arg {
    buffer(name, Role::Output, Dtype::F32, Extent::Product(extent), Values::Any)
}

/// An i8 output.
pub const fn codes(name: &'static str, extent: &'static [Factor]) -> Arg {
    buffer(name, Role::Output, Dtype::I8, Extent::Product(extent), Values::Any)
}

/// An f32 buffer that its result replaces.
pub const fn in_place(name: &'static str, extent: &'static [Factor]) -> Arg {
    buffer(name, Role::InPlace, Dtype::F32, Extent::Product(extent), Values::Any)
}

/// An f32 window of rows that its result replaces.
pub const fn window(name: &'static str) -> Arg {
    buffer(name, Role::InPlace, Dtype::F32, Extent::Window, Values::Any)
}

/// An f32 state carried from token to token.
pub const fn carried(name: &'static str, extent: &'static [Factor]) -> Arg {
    buffer(name, Role::Carried, Dtype::F32, Extent::Product(extent), Values::Any)
}

/// An `int` size.
pub const fn size(name: &'static str, dim: Dim) -> Arg {
    Arg { name, kind: Kind::Size(dim) }
}

/// A `float` parameter.
pub const fn scalar(name: &'static str, param: Param) -> Arg {
    Arg { name, kind: Kind::Scalar(param) }
}
