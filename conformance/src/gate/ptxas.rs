//! What ptxas says of spills, where there is a toolkit: the driver counts them as local memory and does not tell them apart.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Where ptxas may be: on the path, or in a toolkit.
fn places() -> impl Iterator<Item = PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let toolkits = homes.chain([PathBuf::from("/usr/local/cuda")]).map(|home| home.join("bin/ptxas"));
    [PathBuf::from("ptxas")].into_iter().chain(toolkits)
}

/// Spilled bytes of each entry point of a text, stores and loads; nothing where there is no ptxas, or the architecture is no device's.
pub(super) fn spills(text: &str, arch: &str) -> Option<BTreeMap<String, u32>> {
    if !arch.starts_with("sm_") {
        return None;
    }
    let mut file = tempfile::Builder::new().suffix(".ptx").tempfile().ok()?;
    file.write_all(text.as_bytes()).ok()?;
    places().find_map(|ptxas| {
        let output = Command::new(ptxas)
            .arg(format!("-arch={arch}"))
            .args(["-v", "-o", "/dev/null"])
            .arg(file.path())
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(parse(&String::from_utf8_lossy(&output.stderr)))
    })
}

/// The bytes of each function that ptxas tells of.
fn parse(said: &str) -> BTreeMap<String, u32> {
    let mut spills = BTreeMap::new();
    let mut function = None;
    for line in said.lines() {
        if let Some((_, name)) = line.split_once("Function properties for ") {
            function = Some(name.trim().to_owned());
        } else if line.contains("bytes spill stores") {
            let bytes = |what: &str| {
                let part = line.split(',').find(|part| part.contains(what))?;
                part.split_whitespace().next()?.parse::<u32>().ok()
            };
            if let (Some(name), Some(stores), Some(loads)) =
                (function.take(), bytes("spill stores"), bytes("spill loads"))
            {
                spills.insert(name, stores + loads);
            }
        }
    }
    spills
}

#[cfg(test)]
mod tests {
    #[test]
    fn stores_and_loads_are_added_for_each_function() {
        let said = "ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'gdn_step' for 'sm_90'\n\
            ptxas info    : Function properties for gdn_step\n\
            \x20   0 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n\
            ptxas info    : Used 32 registers, used 0 barriers\n\
            ptxas info    : Function properties for other\n\
            \x20   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
        let spills = super::parse(said);
        assert_eq!(spills.get("gdn_step"), Some(&32));
        assert_eq!(spills.get("other"), Some(&0));
    }
}
