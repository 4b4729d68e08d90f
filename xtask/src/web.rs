//! The Hall's page: builds `web/` with Node and npm, and writes the result to `crates/server/assets`, so that cargo alone builds the
//! binary. The tests check that the result belongs to the sources, and, where there is Node, that it can be built again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

use crate::Outcome;

/// Where the page is built, and where the result is.
const WEB: &str = "web";
const DIST: &str = "web/dist";
const ASSETS: &str = "crates/server/assets";

/// What the page is built from, besides `web/src` and `web/public`.
const SOURCES: [&str; 5] = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

/// The file with the hash of the sources.
const HASH: &str = "crates/server/assets/sources.sha256";

/// The list of packages, and a copy of the list that was installed last.
const LOCK: &str = "web/package-lock.json";
const INSTALLED: &str = "web/node_modules/.installed-lock.json";

/// The versions of Node that the tools of the page work with.
const NODE: &str = "Node 20.19, or 22.12 or newer, with npm";

/// Files by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Builds the page, and writes it to the assets of the server.
pub(crate) fn run() -> Outcome {
    require_node()?;
    let built = build()?;
    let failed = |e: std::io::Error| format!("{ASSETS}: {e}");
    if Path::new(ASSETS).exists() {
        fs::remove_dir_all(ASSETS).map_err(failed)?;
    }
    fs::create_dir_all(ASSETS).map_err(failed)?;
    let mut bytes = 0;
    for (name, contents) in &built {
        let path = Path::new(ASSETS).join(packed_name(name));
        if path.exists() {
            return Err(format!("two files of the page are called {}: rename one", path.display()));
        }
        let packed = pack(contents)?;
        bytes += packed.len();
        fs::write(path, packed).map_err(failed)?;
    }
    fs::write(Path::new(ASSETS).join("files.rs"), table(&built)).map_err(failed)?;
    fs::write(HASH, sources_hash()? + "\n").map_err(failed)?;
    println!("{ASSETS}: {} files, {} kB compressed", built.len(), bytes / 1000);
    Ok(())
}

/// Returns an error unless the assets were made from the sources as they are now. This needs no Node.
pub(crate) fn check_sources() -> Outcome {
    let stored = fs::read_to_string(HASH).map_err(|e| format!("{HASH}: {e}"))?;
    if stored.trim() == sources_hash()? {
        return Ok(());
    }
    Err(format!("{ASSETS} was not made from {WEB} as it is now: run `cargo xtask web` and commit the result"))
}

/// Builds the page again, and returns an error unless the result is what is committed.
pub(crate) fn check_build() -> Outcome {
    let built = build()?;
    for (name, contents) in &built {
        let path = Path::new(ASSETS).join(packed_name(name));
        let packed = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        if unpack(&packed)? != *contents {
            return Err(format!("{} differs from a new build: run `cargo xtask web`", path.display()));
        }
    }
    let committed = fs::read_to_string(Path::new(ASSETS).join("files.rs")).map_err(|e| format!("files.rs: {e}"))?;
    if committed == table(&built) { Ok(()) } else { Err("the list of files differs: run `cargo xtask web`".to_owned()) }
}

/// Says why the page can't be built here, if it can't.
pub(crate) fn require_node() -> Outcome {
    let version = version_of("node")?;
    let mut parts = version.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if !(found >= (22, 12) || (found.0 == 20 && found.1 >= 19)) {
        return Err(format!("Node {version} does not work: install {NODE}"));
    }
    version_of("npm").map(drop)
}

fn version_of(program: &str) -> Result<String, String> {
    match Command::new(program).arg("--version").stderr(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Ok(output) => Err(format!("`{program} --version` failed ({}): install {NODE}", output.status)),
        Err(why) => Err(format!("{program} is missing ({why}): install {NODE}")),
    }
}

/// Runs a script of the page's package.
pub(crate) fn npm(args: &[&str], variables: &[(&str, PathBuf)]) -> Outcome {
    let mut command = Command::new("npm");
    command.args(args).current_dir(WEB).stdin(Stdio::null()).envs(variables.iter().cloned());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`npm {}` in {WEB} failed: {status}", args.join(" "))),
        Err(e) => Err(format!("`npm {}` in {WEB} failed: {e}", args.join(" "))),
    }
}

/// Installs the packages that the lock file names, unless they are installed already.
pub(crate) fn install() -> Outcome {
    let lock = fs::read(LOCK).map_err(|e| format!("{LOCK}: {e}"))?;
    if fs::read(INSTALLED).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"], &[])?;
    fs::write(INSTALLED, lock).map_err(|e| format!("{INSTALLED}: {e}"))
}

fn build() -> Result<Files, String> {
    install()?;
    npm(&["run", "build", "--silent"], &[])?;
    let mut built = Files::new();
    read_all(Path::new(DIST), Path::new(DIST), &mut built)?;
    Ok(built)
}

fn sources_hash() -> Result<String, String> {
    let mut sources = Files::new();
    for dir in ["public", "src"] {
        read_all(Path::new(WEB), &Path::new(WEB).join(dir), &mut sources)?;
    }
    for name in SOURCES {
        let path = Path::new(WEB).join(name);
        sources.insert(name.to_owned(), fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?);
    }
    let mut hash = Sha256::new();
    for (name, contents) in &sources {
        hash.update(format!("{name}\n{}\n", contents.len()));
        hash.update(contents);
    }
    Ok(hex(&hash.finalize()))
}

/// Reads all files below a directory. Their names are relative to `root`.
fn read_all(root: &Path, dir: &Path, files: &mut Files) -> Outcome {
    let failed = |e: std::io::Error| format!("{}: {e}", dir.display());
    for entry in fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            read_all(root, &path, files)?;
        } else {
            let name = path.strip_prefix(root).map_err(|e| format!("{}: {e}", path.display()))?;
            let name = name.to_string_lossy().replace('\\', "/");
            files.insert(name, fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?);
        }
    }
    Ok(())
}

/// The list of files for `crates/server/src/page.rs`.
fn table(built: &Files) -> String {
    let line = |(name, contents): (&String, &Vec<u8>)| {
        let hash = &hex(&Sha256::digest(contents))[..16];
        let gzip = packed_name(name);
        format!(
            "    File {{ name: {name:?}, hash: {hash:?}, gzip: include_bytes!({gzip:?}), plain: OnceLock::new() }},\n"
        )
    };
    format!("// Made by `cargo xtask web`.\n[\n{}]\n", built.iter().map(line).collect::<String>())
}

/// The name of a compressed file. All are in one directory.
fn packed_name(name: &str) -> String {
    format!("{}.gz", name.rsplit('/').next().unwrap_or(name))
}

fn pack(contents: &[u8]) -> Result<Vec<u8>, String> {
    let mut packer: GzEncoder<Vec<u8>> = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packer.write_all(contents).and_then(|()| packer.finish()).map_err(|e| e.to_string())
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    let mut unpacked = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut unpacked).map_err(|e| e.to_string())?;
    Ok(unpacked)
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
