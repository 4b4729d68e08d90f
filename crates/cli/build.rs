//! Packs the example of `guildhall demo` into the program, as a list of its files with their texts. The file names are collected
//! here, so that no source file lists them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The directory to pack, relative to this package.
const EXAMPLE: &str = "../../examples/payment";

/// Directories that running the example creates.
const LEFT_BEHIND: [&str; 2] = ["__pycache__", "data"];

#[allow(clippy::print_stdout, reason = "a build script sends instructions to cargo on stdout")]
fn main() -> io::Result<()> {
    let root = fs::canonicalize(EXAMPLE)?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    find(&root, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        let (name, file) = (name.display().to_string(), file.display().to_string());
        writeln!(list, "    ({name:?}, include_str!({file:?})),").map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(PathBuf::from(out).join("example.rs"), list)
}

/// Finds all files below a directory.
fn find(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if LEFT_BEHIND.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            find(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
