//! Tests of the tools on real files.

#![cfg(test)]

mod arguments;
mod bounds;
mod escape;
mod hostile;
mod list_files;
mod read_file;
mod search;
mod secrets;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guildhall_agent::{RESULT_BYTES_MAX, Tool, ToolOutcome, ToolResult};
use guildhall_kernel::{AskId, AskKey, Path as ContractPath};
use guildhall_tools::{Project, read_only};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The key of a call.
fn key() -> AskKey {
    AskKey { contract: "1".parse::<ContractPath>().unwrap(), ask: AskId(1) }
}

/// A project on disk, and a directory beside it that the tools must not read.
struct Bench {
    directory: TempDir,
    project: Project,
}

const OUTSIDE: &str = "text outside";

impl Bench {
    fn new(files: &[(&str, &str)]) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("project");
        fs::create_dir(&root).unwrap();
        fs::create_dir(directory.path().join("outside")).unwrap();
        fs::write(directory.path().join("outside/file.txt"), OUTSIDE).unwrap();
        let bench = Bench { project: Project::open(&root).unwrap(), directory };
        for (path, text) in files {
            bench.write(path, text);
        }
        bench
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join("project").join(path)
    }

    fn outside(&self) -> PathBuf {
        self.directory.path().join("outside")
    }

    fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.at(path)).unwrap();
    }

    fn with_time_max(mut self, time_max: Duration) -> Bench {
        self.project = self.project.with_time_max(time_max);
        self
    }

    fn tool(&self, name: &str) -> Arc<dyn Tool> {
        read_only(&self.project).into_iter().find(|tool| tool.spec().name == name).expect("the tool exists")
    }

    fn call(&self, tool: &str, arguments: &Value) -> ToolResult {
        let (tool, key) = (self.tool(tool), key());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let result = runtime.block_on(tool.call(&key, arguments));
        assert!(result.text.len() <= RESULT_BYTES_MAX, "{} bytes", result.text.len());
        let odd = result.text.chars().find(|found| found.is_control() && !"\n\t".contains(*found));
        assert_eq!(odd, None, "{}", result.text);
        result
    }

    fn read(&self, path: &str) -> ToolResult {
        self.call("read_file", &json!({ "path": path }))
    }

    fn done(&self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result.outcome, ToolOutcome::Done, "{}", result.text);
        result.text
    }

    fn failed(&self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result.outcome, ToolOutcome::Failed, "{}", result.text);
        result.text
    }
}
