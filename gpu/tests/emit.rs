//! The emitted program as text, and what it refuses to emit.

use gdn_gpu::{EmitError, GDN_KERNELS, emit_gated_delta_forward};

/// Arguments of a valid call, to spoil one at a time.
struct Call {
    arrays: [Vec<f64>; 8],
    hv: usize,
    hk: usize,
    d: usize,
}

impl Call {
    fn new(hv: usize, hk: usize, d: usize) -> Self {
        let ramp = |n: usize| (0..n).map(|i| i as f64 / 8.0 - 0.5).collect();
        let arrays = [hk * d, hk * d, hv * d, hv * d, hv, hv, hv * d * d, d].map(ramp);
        Self { arrays, hv, hk, d }
    }

    fn emit(&self) -> Result<String, EmitError> {
        let [q, k, v, z, beta, alpha, s0, gn] = &self.arrays;
        emit_gated_delta_forward(q, k, v, z, beta, alpha, s0, gn, self.hv, self.hk, self.d)
    }

    fn refusal(&self) -> String {
        self.emit().err().map(|error| error.to_string()).unwrap_or_default()
    }
}

#[test]
fn emitted_program_is_the_kernels_and_a_checked_main() {
    let program = Call::new(2, 1, 2).emit().unwrap();
    let text = program.replace(GDN_KERNELS, "/* GDN_KERNELS */\n");
    insta::with_settings!({snapshot_path => "../../golden/snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("emitted_program", text);
    });
}

#[test]
fn every_valid_shape_is_taken() {
    for (hv, hk, d) in [(6, 2, 128), (4, 2, 16), (2, 1, 8), (3, 1, 33), (1, 1, 256), (1, 1, 1)] {
        assert!(Call::new(hv, hk, d).emit().is_ok(), "{hv} {hk} {d}");
    }
}

#[test]
fn what_is_refused_is_named() {
    let spoiled = |spoil: &dyn Fn(&mut Call)| {
        let mut call = Call::new(2, 1, 2);
        spoil(&mut call);
        call.refusal()
    };
    let refusals = [
        spoiled(&|call| call.arrays[0][1] = f64::NAN),
        spoiled(&|call| call.arrays[6][3] = f64::INFINITY),
        spoiled(&|call| call.arrays[3][0] = 1e39),
        spoiled(&|call| call.arrays[2].clear()),
        spoiled(&|call| call.arrays[7].push(1.0)),
        spoiled(&|call| call.d = 0),
        spoiled(&|call| call.d = 257),
        spoiled(&|call| call.hk = 0),
        spoiled(&|call| (call.hv, call.hk) = (3, 2)),
    ];
    insta::with_settings!({snapshot_path => "../../golden/snapshots", prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("emit_refusals", refusals.join("\n"));
    });
}
