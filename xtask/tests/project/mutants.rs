//! Runs `cargo xtask mutants` on a workspace of two tiny crates: the runner must distinguish a detected bug from all other
//! results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", "[workspace]\nresolver = '3'\nmembers = ['crates/*']"),
    ("xtask/README", ""),
    ("crates/kernel/Cargo.toml", "[package]\nname = 'guildhall-kernel'\nedition = '2024'"),
    (
        "crates/kernel/src/lib.rs",
        "pub fn double(n: u32) -> u32 {\n    n + n\n}\n\npub fn half(n: u32) -> u32 {\n    n / 2 // unseen\n}\n",
    ),
    (
        "crates/kernel/tests/kernel.rs",
        "#[test]\nfn half_of_four_is_two() {\n    assert_eq!(guildhall_kernel::half(4), 2, \"half\");\n}\n",
    ),
    (
        "crates/sim/Cargo.toml",
        "[package]\nname = 'guildhall-sim'\nedition = '2024'\n[dependencies]\nguildhall-kernel.path = '../kernel'",
    ),
    (
        "crates/sim/src/main.rs",
        "fn main() {
            let arguments: Vec<String> = std::env::args().skip(1).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let found = match arguments[..] {
                [\"--schedules\", \"20000\", \"--threads\", \"1\"] => guildhall_kernel::double(3),
                [\"--payments\", \"--schedules\", \"20000\", \"--threads\", \"1\"] => guildhall_kernel::half(12),
                _ => panic!(\"wrong arguments\"),
            };
            match found {
                6 => {}
                7 => std::process::exit(3),
                n => { println!(\"found\\nviolation: {n} is not 6\"); std::process::exit(1) }
            }
        }",
    ),
];

/// The name, `find`, `replace` and further keys of each mutant. All mutants are in the kernel's `lib.rs`.
const MUTANTS: &[(&str, &str, &str, &str)] = &[
    ("violates", "n + n", "n * n", "caught_by = 'schedules'"),
    ("pays", "n / 2", "n / 3", "caught_by = 'payments'"),
    ("panics", "n + n", "panic!(\"gone {n}\")", "caught_by = 'schedules'"),
    ("exemplary", "n / 2", "n / 3", "caught_by = 'example'\nexample = 'half_of_four'"),
    ("survives", "// unseen", "// seen", "caught_by = 'schedules'\nwhy = 'A comment.'"),
    ("miscompiles", "n + n", "n + nn", "caught_by = 'schedules'"),
    ("derails", "n + n", "n + n + 1", "caught_by = 'schedules'"),
    ("nameless", "n / 2", "n / 3", "caught_by = 'example'\nexample = 'no_such_test'"),
    ("twofold", "n: u32", "n: u64", "caught_by = 'schedules'"),
];

fn workspace(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mutants = MUTANTS.iter().map(|(name, find, replace, rest)| {
        let file = "crates/kernel/src/lib.rs";
        format!("[[mutant]]\nname = '{name}'\nfile = '{file}'\nfind = '{find}'\nreplace = '{replace}'\n{rest}\n")
    });
    let list = mutants.collect::<String>();
    for (path, text) in FILES.iter().chain([&("crates/sim/mutants.toml", list.as_str())]) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let locked = Command::new(env!("CARGO")).args(["generate-lockfile", "--offline"]).current_dir(&root).output();
    assert!(locked.unwrap().status.success());
    root
}

/// Runs these mutants. Compares the table, without times and sorted by name, and the first lines of the error output: the
/// lines after them are from the compiler.
fn check(root: &Path, names: &[&str], table: &[&str], errors: &str) {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let xtask = xtask.arg("mutants").args(names).env("CARGO_MANIFEST_DIR", root.join("xtask"));
    let Output { status, stdout, stderr } = xtask.output().unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    let is_time = |word: &str| word.parse::<f64>().is_ok() && word.contains('.');
    let words = |row: &str| row.split_whitespace().filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ");
    let mut rows: Vec<String> = stdout.lines().skip(1).map(words).collect();
    rows.sort();
    let stderr = String::from_utf8(stderr).unwrap();
    let shown = stderr.lines().take(errors.lines().count().max(1)).collect::<Vec<_>>().join("\n");
    assert_eq!((rows, shown.as_str()), (table.iter().map(|row| (*row).into()).collect(), errors));
    assert_eq!(status.code(), Some(i32::from(!errors.is_empty())));
}

#[test]
fn detected_surviving_and_unusable_mutants_are_distinguished() {
    let root = workspace("mutants");
    let source = || fs::read_to_string(root.join("crates/kernel/src/lib.rs")).unwrap();
    let before = source();

    check(
        &root,
        &["violates", "pays", "panics", "exemplary", "survives"],
        &[
            "exemplary example assertion `left == right` failed: half",
            "panics schedules gone 3",
            "pays payments violation: 4 is not 6",
            "survives NOTHING",
            "violates schedules violation: 9 is not 6",
        ],
        "survives survived. A comment.",
    );
    let miscompiles =
        "miscompiles can't be tried: the mutant does not compile\nerror[E0425]: cannot find value `nn` in this scope";
    check(&root, &["miscompiles"], &["miscompiles UNUSABLE"], miscompiles);
    check(
        &root,
        &["derails"],
        &["derails UNUSABLE"],
        "derails can't be tried: the run ended with exit status: 3: (no output)",
    );
    check(&root, &["nameless"], &[], "nameless: the check fails without the bug: no example has this name");
    let twofold = "twofold: `n: u32` must occur once in crates/kernel/src/lib.rs, but occurs 2 times";
    check(&root, &[], &[], twofold);
    check(&root, &["violates"], &["violates schedules violation: 9 is not 6"], "");

    assert_eq!(source(), before);
}
