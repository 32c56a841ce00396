//! Reports of every sort: what their schema says, and a page that is self-contained, whole, and, opened in a browser at two widths in
//! light and dark, without errors and with nothing that overflows.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;

use assert_cmd::Command;
use gdn_conformance::report::{
    Aspect, Change, FlagRow, Header, Report, Reports, Resources, SCHEMA, Sanitized, Severity, Speed, page, schema,
};
use libtest_mimic::{Arguments, Failed, Trial};

/// The accepted schema.
const SCHEMA_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/report.schema.json");

/// What the browser is asked of a page: errors, what is wider than the window, and each chart's place and words.
const LOOK: &str = r"
<script>
const errors = [];
addEventListener('error', event => errors.push(String(event.message)));
addEventListener('load', () => {
  const wide = document.documentElement.scrollWidth > innerWidth ? [`${document.documentElement.scrollWidth} > ${innerWidth}`] : [];
  for (const box of document.querySelectorAll('main > *, section > *, p, h1, h2, h3, ul, dl, figure, figcaption')) {
    if (box.getBoundingClientRect().right > innerWidth + 1) wide.push(box.tagName + ' ' + box.textContent.slice(0, 40));
  }
  const charts = [];
  for (const figure of document.querySelectorAll('figure.chart')) {
    for (let up = figure.parentElement; up; up = up.parentElement) if (up.tagName == 'DETAILS') up.open = true;
    const svg = figure.querySelector('svg');
    const view = svg.viewBox.baseVal;
    const out = [...svg.querySelectorAll('text')].filter(text => {
      const box = text.getBoundingClientRect(), all = svg.getBoundingClientRect();
      return box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 || box.bottom > all.bottom + 1;
    }).map(text => text.textContent.trim());
    const size = svg.getBoundingClientRect();
    charts.push({ caption: figure.querySelector('figcaption').textContent, width: size.width, height: size.height,
      marks: svg.querySelectorAll('circle, path, polyline, polygon, rect, line').length, out });
  }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const ground = getComputedStyle(document.body).backgroundColor;
  const answer = document.createElement('pre');
  answer.id = 'answer';
  answer.textContent = JSON.stringify({ errors, wide, charts, dark, ground, width: innerWidth });
  document.body.append(answer);
});
</script>
";

fn gdn(folder: &Path, args: &[&str]) -> Result<String, Failed> {
    let output = Command::cargo_bin("gdn-conformance")?.current_dir(folder).args(args).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

/// What only a device finds out, made up.
fn of_a_device() -> Report {
    let kernels = ["gdn_step", "gk_gate_mul", "gk_l2norm_heads"];
    let header = Header {
        command: "gate".into(),
        selection: "every kernel".into(),
        version: "0".into(),
        executor: "cuda".into(),
        device: "a device & its <memory>".into(),
        arch: "sm_90".into(),
        versions: "none".into(),
        seed: 81,
        partition: None,
        not_run: Vec::new(),
    };
    let speed = |(i, kernel): (usize, &&str)| {
        let ratio = 0.9 + 0.1 * i as f64;
        Speed {
            kernel: (*kernel).into(),
            case: "a case".into(),
            accepted_ns: 4e4,
            ns: 4e4 * ratio,
            ratio,
            low: ratio - 0.01,
            high: ratio + 0.01,
            bytes: 100_000_000,
            copy_ns: 3e4,
        }
    };
    let resources = |kernel: &&str| Resources {
        kernel: (*kernel).into(),
        source: "driver".into(),
        registers: 32,
        shared: 128,
        local: 0,
        spills: Some(0),
        blocks: 9,
        instructions: 200,
    };
    let flags = |(i, kernel): (usize, &&str)| FlagRow {
        set: "fast-math".into(),
        options: vec!["--use_fast_math".into()],
        arch: "compute_90".into(),
        kernel: (*kernel).into(),
        output: "o".into(),
        cases: 10,
        failed: i,
        failing: vec!["edges".into(); i.min(1)],
        utilization: if i == 2 { None } else { Some(0.5 * i as f64) },
        worst: "a case".into(),
        time: Some(0.9),
    };
    let change = Change {
        kernel: "gdn_step".into(),
        aspect: Aspect::Speed,
        place: "time".into(),
        before: "40 µs".into(),
        after: "44 µs".into(),
        severity: Severity::Regressed,
    };
    let sanitized = Sanitized {
        tool: "memcheck".into(),
        by: "compute-sanitizer".into(),
        launches: 3,
        findings: vec!["Invalid __global__ read of size 4 bytes".into()],
    };
    Report {
        speed: kernels.iter().enumerate().map(speed).collect(),
        resources: kernels.iter().map(resources).collect(),
        flags: kernels.iter().enumerate().map(flags).collect(),
        changes: vec![change],
        sanitized: vec![sanitized],
        ..Report::empty(header)
    }
}

/// A run of every sort, made once: its files by what was run, and the page of all of them.
struct Runs {
    files: Vec<(String, String)>,
    page: String,
}

static RUNS: LazyLock<Result<Runs, String>> = LazyLock::new(|| make().map_err(|error| format!("{error:?}")));

fn make() -> Result<Runs, Failed> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let broken = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken/fast_exp.ptx");
    let broken = broken.to_string_lossy();
    let runs: [&[&str]; 8] = [
        &["check", "--executor", "vm", "--profile", "smoke"],
        &["check", "--executor", "vm", "--kernels", &broken, "--regime", "edges"],
        &["chain", "--executor", "vm", "--tokens", "256", "--regime", "steady", "--regime", "held"],
        &["mutants", "--executor", "vm", "--profile", "smoke"],
        &["detect", "--executor", "vm", "--kernel", "gk_gate_mul"],
        &["probe", "--executor", "vm", "--function", "expf", "--arguments", "300"],
        &["sanitize", "--executor", "vm", "--kernel", "gk_gate_mul"],
        &["gate", "--executor", "vm", "--kernel", "gk_gate_mul", "--accept", "--baseline", "baseline"],
    ];
    let (mut files, mut names) = (Vec::new(), Vec::new());
    for (i, run) in runs.iter().enumerate() {
        let name = format!("{i}.json");
        let said = gdn(at, &[*run, &["--json", &name]].concat())?;
        let text = std::fs::read_to_string(at.join(&name)).map_err(|error| format!("{run:?}: {error}: {said}"))?;
        files.push((run.join(" "), text));
        names.push(name);
    }
    let device = "device.json";
    Reports { schema: SCHEMA, reports: vec![of_a_device()] }.write(&at.join(device))?;
    files.push(("what only a device finds out".into(), std::fs::read_to_string(at.join(device))?));
    names.push(device.into());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let said = gdn(at, &[&["report"], &*names, &["--html", "page.html"]].concat())?;
    let page = std::fs::read_to_string(at.join("page.html")).map_err(|error| format!("{error}: {said}"))?;
    Ok(Runs { files, page })
}

fn the_page() -> Result<&'static str, Failed> {
    Ok(&RUNS.as_ref().map_err(String::as_str)?.page)
}

fn the_schema_is_the_accepted_one() -> Result<(), Failed> {
    if std::fs::read_to_string(SCHEMA_FILE)?.trim_end() == schema() {
        return Ok(());
    }
    Err("golden/report.schema.json is stale: `report --schema > golden/report.schema.json`, then read the diff".into())
}

/// The Python of the active environment, if it can validate.
fn validator() -> Result<PathBuf, String> {
    let folder = std::env::var_os("VIRTUAL_ENV").ok_or("there is no active Python environment")?;
    let python = PathBuf::from(folder).join("bin/python");
    let found = std::process::Command::new(&python).args(["-c", "import jsonschema"]).stderr(Stdio::null()).status();
    match found {
        Ok(status) if status.success() => Ok(python),
        _ => Err(format!("{} has no jsonschema; `pip install jsonschema`", python.display())),
    }
}

fn reports_are_what_the_schema_says(python: &Path) -> Result<(), Failed> {
    let script = "import json, sys, jsonschema\n\
        schema = json.load(open(sys.argv[1]))\n\
        jsonschema.Draft202012Validator.check_schema(schema)\n\
        jsonschema.Draft202012Validator(schema).validate(json.load(open(sys.argv[2])))\n";
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("r.json");
    let validate = |text: &str| {
        std::fs::write(&file, text)?;
        std::process::Command::new(python).args(["-c", script, SCHEMA_FILE]).arg(&file).stderr(Stdio::piped()).output()
    };
    for (run, text) in &RUNS.as_ref().map_err(String::as_str)?.files {
        let output = validate(text)?;
        if !output.status.success() {
            return Err(format!("{run}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
    }
    // And what is no report is seen to be none.
    if validate("{\"schema\": 2, \"reports\": [{\"header\": 3}]}")?.status.success() {
        return Err("the schema takes anything".into());
    }
    Ok(())
}

/// Words of each chart's caption that must be there.
const CHARTS: [&str; 11] = [
    "Worst utilization of each output, a mark a regime",
    "steady, step by step",
    "steady, free running",
    "held, step by step",
    "gdn_step: known-wrong kernels",
    "gk_gate_mul: known-wrong kernels",
    "The least relative error of a term",
    "under each set of compile options",
    "Median ratio of neighbouring times",
    "Roofline",
    "Basic blocks of each kernel",
];

fn the_page_needs_nothing_but_itself() -> Result<(), Failed> {
    let page = the_page()?;
    for word in ["<script", "http://", "https://", "@import", "url("] {
        // The one address is the name of SVG itself, which nobody fetches.
        let text = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        if let Some(at) = text.find(word) {
            return Err(format!("{word} in: {}", &text[at.saturating_sub(60)..at + 60]).into());
        }
    }
    Ok(())
}

fn what_reports_say_is_text_and_never_markup() -> Result<(), Failed> {
    let page = the_page()?;
    if page.contains("<memory>") || !page.contains("a device &amp; its &lt;memory&gt;") {
        return Err("a device's name is not escaped".into());
    }
    Ok(())
}

fn every_section_is_there() -> Result<(), Failed> {
    let page = the_page()?;
    let heads = [
        "Failures",
        "Changes against the accepted baseline",
        "Verdicts",
        "Long chains",
        "Kill matrix",
        "Detection limits",
        "Functions",
        "Compile options",
        "Sanitizers",
        "Speed",
        "Resources",
        "Coverage",
    ];
    let missing: Vec<&str> = heads.into_iter().filter(|head| !page.contains(&format!("<h3>{head}</h3>"))).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("missing: {missing:?}").into()) }
}

fn a_page_of_nothing_is_no_pass() -> Result<(), Failed> {
    let page = page::page(&Reports { schema: SCHEMA, reports: Vec::new() })?;
    if page.contains("FAILED") && !page.contains("passed") { Ok(()) } else { Err(page.into()) }
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name))).find(|path| path.is_file())
}

fn a_browser_shows_it_whole(browser: &Path, width: u32, dark: bool) -> Result<(), Failed> {
    let page = the_page()?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("page.html");
    std::fs::write(&file, page.replacen("<head>", &format!("<head>{LOOK}"), 1))?;
    let mut command = std::process::Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--dump-dom",
        "--virtual-time-budget=5000",
        "--enable-logging=stderr",
    ]);
    // Windows have a least width, wider than a telephone: the frame is of the width that is asked for.
    let frame = folder.path().join("frame.html");
    let scheme = if dark { "dark" } else { "light" };
    std::fs::write(
        &frame,
        format!(
            "<!doctype html><body style=\"margin:0;color-scheme:{scheme}\"><iframe id=f src=\"page.html\" style=\"width:{width}px;height:4000px;border:0\"></iframe>\
             <script>onload = () => setTimeout(() => {{ const a = document.createElement('pre'); a.id = 'answer'; \
             a.textContent = f.contentDocument.getElementById('answer').textContent; document.body.append(a); }}, 500)</script>"
        ),
    )?;
    command.arg(format!("--blink-settings=preferredColorScheme={}", u32::from(!dark)));
    command.arg("--allow-file-access-from-files").arg("--window-size=1400,4200");
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    let output = command.arg(format!("file://{}", frame.display())).output()?;
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    if !console.is_empty() {
        return Err(format!("the console says: {console:?}").into());
    }
    let answer = dom.split_once("<pre id=\"answer\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (answer, _) = answer.ok_or_else(|| format!("no answer from the browser: {log}"))?;
    let answer = answer.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let answer: serde_json::Value = serde_json::from_str(&answer)?;
    let empty = |key: &str| answer[key].as_array().is_some_and(Vec::is_empty);
    if !empty("errors") || !empty("wide") || answer["width"] != width || answer["dark"] != dark {
        let of = ["errors", "wide", "width", "dark"].map(|key| format!("{key}: {}", answer[key]));
        return Err(of.join(", ").into());
    }
    let grounds = ["rgb(251, 251, 250)", "rgb(20, 23, 26)"];
    if answer["ground"] != grounds[usize::from(dark)] {
        return Err(format!("the ground is {}", answer["ground"]).into());
    }
    let charts = answer["charts"].as_array().ok_or("no charts")?;
    for words in CHARTS {
        let mut shown =
            charts.iter().filter(|chart| chart["caption"].as_str().is_some_and(|text| text.contains(words)));
        let chart = shown.next().ok_or_else(|| format!("no chart of “{words}”"))?;
        let [across, high] = ["width", "height"].map(|key| chart[key].as_f64().unwrap_or(0.0));
        if across < 150.0 || high < 50.0 || chart["marks"].as_u64() < Some(3) {
            return Err(format!("an empty chart: {chart}").into());
        }
    }
    for chart in charts {
        if chart["out"].as_array().is_none_or(|out| !out.is_empty()) {
            return Err(format!("words leave the chart: {chart}").into());
        }
    }
    Ok(())
}

/// A test that cannot be run here, which fails where it is run all the same.
fn ignored(name: &str, reason: String) -> Trial {
    let message = reason.clone();
    Trial::test(name, move || Err(message.into())).with_ignored_flag(true).with_kind(reason)
}

fn main() {
    let mut trials = vec![
        Trial::test("the_page_needs_nothing_but_itself", the_page_needs_nothing_but_itself),
        Trial::test("what_reports_say_is_text_and_never_markup", what_reports_say_is_text_and_never_markup),
        Trial::test("every_section_is_there", every_section_is_there),
        Trial::test("a_page_of_nothing_is_no_pass", a_page_of_nothing_is_no_pass),
    ];
    trials.push(Trial::test("the_schema_is_the_accepted_one", the_schema_is_the_accepted_one));
    let name = "reports_are_what_the_schema_says";
    trials.push(match validator() {
        Ok(python) => Trial::test(name, move || reports_are_what_the_schema_says(&python)),
        Err(reason) => ignored(name, reason),
    });
    let browser = browser();
    for (width, dark) in [(1280, false), (1280, true), (390, false), (390, true)] {
        let scheme = if dark { "dark" } else { "light" };
        let name = format!("a_browser_shows_it_whole_at_{width}_pixels_in_{scheme}");
        trials.push(match browser.clone() {
            Some(browser) => Trial::test(name, move || a_browser_shows_it_whole(&browser, width, dark)),
            None => ignored(&name, "there is no Chromium; `apt-get install chromium`".into()),
        });
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
