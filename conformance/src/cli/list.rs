//! `list`: kernels with their contracts, and regimes.

use comfy_table::{ContentArrangement, Table};
use gdn_gpu::contract::{Kind, Role};

use crate::regime::Regime;
use crate::report::STYLE;
use crate::suites;

/// Kernels with their contracts, and regimes.
pub(super) fn text() -> String {
    let mut kernels = Table::new();
    kernels.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled).set_header([
        "kernel",
        "arguments",
        "sizes",
        "computes",
    ]);
    for suite in suites::all() {
        let contract = suite.contract();
        let args: Vec<String> = contract
            .args
            .iter()
            .map(|arg| match arg.kind {
                Kind::Buffer(spec) => {
                    let mark = match spec.role {
                        Role::Input => "",
                        Role::Output => "→",
                        Role::InPlace | Role::Carried => "↔",
                    };
                    format!("{mark}{} {}", arg.name, spec.dtype)
                }
                Kind::Size(_) => format!("{} int", arg.name),
                Kind::Scalar(_) => format!("{} float", arg.name),
            })
            .collect();
        let sizes: Vec<&str> = contract.dims().iter().map(|dim| dim.name()).collect();
        kernels.add_row([contract.kernel, &args.join(", "), &sizes.join(", "), contract.computes]);
    }
    let mut regimes = Table::new();
    regimes.load_style(STYLE).set_header(["regime", "draws"]);
    for regime in Regime::ALL {
        regimes.add_row([regime.name(), regime.about()]);
    }
    let line = |text: String| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    format!("{}\n\n{}", line(kernels.to_string()), line(regimes.to_string()))
}
