//! Tests of the Hall's page: its unit tests, and a real browser against the real binary. The browser is Debian's Chromium, which is
//! installed where that is allowed. Where something is missing, the tests say what they could not try, and fail if `CI` is set.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::wire::build;
use crate::{Outcome, web};

/// The variable with the path of the browser, if it is not one of the usual names.
const CHROMIUM: &str = "CHROMIUM";

/// The names of the browser.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Checks that the committed page belongs to its sources, and everything else that can be checked here.
pub(crate) fn test() -> Outcome {
    web::check_sources()?;
    if let Err(why) = web::require_node().and_then(|()| web::install()) {
        return not_tried("the page was not built again and not tried in a browser", &why);
    }
    web::check_build()?;
    web::npm(&["test", "--silent"], &[])?;
    let browser = match find_browser() {
        Ok(browser) => browser,
        Err(why) => return not_tried("the page was not tried in a browser", &why),
    };
    let program = |package| build(&["build", "-p", package]).map(PathBuf::from);
    let variables = [
        (CHROMIUM, browser),
        ("GUILDHALL", program("guildhall-cli")?),
        ("MODEL_SERVER", program("guildhall-model-server")?),
        ("LNBITS_PEER", program("guildhall-lnbits-peer")?),
    ];
    web::npm(&["run", "e2e", "--silent"], &variables)?;
    web::npm(&["run", "pictures", "--silent"], &variables)
}

/// A check that can't be made here is a failure only in CI.
fn not_tried(what: &str, why: &str) -> Outcome {
    if env::var_os("CI").is_some() {
        return Err(format!("{what}: {why}"));
    }
    println!("NOT TRIED: {what}: {why}");
    Ok(())
}

fn find_browser() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os(CHROMIUM).filter(|path| !path.is_empty()) {
        return Ok(PathBuf::from(path));
    }
    if let Some(found) = on_path() {
        return Ok(found);
    }
    println!("Chromium is missing: installing it");
    let installed = apt(&["update", "-qq"]).and_then(|()| apt(&["install", "-y", "-qq", "chromium"]));
    let advice = "install Chromium, or set CHROMIUM to the path of a browser";
    on_path().ok_or_else(|| match installed {
        Ok(()) => advice.to_owned(),
        Err(why) => format!("{advice} ({why})"),
    })
}

fn on_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let candidates = env::split_paths(&path).flat_map(|dir| NAMES.map(|name| dir.join(name)));
    candidates.into_iter().find(|candidate| Path::is_file(candidate))
}

fn apt(args: &[&str]) -> Outcome {
    let mut command = Command::new("apt-get");
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`apt-get {}`: {status}", args.join(" "))),
        Err(e) => Err(format!("`apt-get {}`: {e}", args.join(" "))),
    }
}
