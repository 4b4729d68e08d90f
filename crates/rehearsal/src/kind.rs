//! Kinds of evidence. The path of a file says which kind the file is; the description of an agent says which kinds it reads.

use crate::words::words;

/// A kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Code,
    Config,
    Docs,
    Tests,
    Logs,
}

const LOG_ENDINGS: &[&str] = &["log", "out", "err", "trace"];
const CONFIG_ENDINGS: &[&str] = &["toml", "yaml", "yml", "ini", "cfg", "conf", "env", "json", "properties", "xml"];
const DOC_ENDINGS: &[&str] = &["md", "markdown", "rst", "txt", "adoc", "org"];
/// With these, a glob stays within the 256 bytes that a tool takes.
const CODE_ENDINGS: &[&str] = &[
    "py", "rs", "go", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java", "kt", "rb", "php", "c", "h", "cc", "cpp", "hpp",
    "cs", "swift", "scala", "ex", "exs", "erl", "lua", "pl", "sh", "sql", "zig", "hs", "ml", "clj", "dart", "vue",
];

/// Words of a description that mean: this agent finds things out, wherever they are.
const FINDERS: &[&str] = &["investigat", "research", "finds", "searches"];

impl Kind {
    pub(crate) const ALL: [Kind; 5] = [Kind::Code, Kind::Config, Kind::Docs, Kind::Tests, Kind::Logs];

    /// Its name, and how the words begin with which a description says that an agent reads it.
    fn said(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Kind::Code => ("code", &["code", "source", "program", "function"]),
            Kind::Config => ("config", &["config", "setting"]),
            Kind::Docs => ("docs", &["doc", "runbook", "readme", "manual", "notes"]),
            Kind::Tests => ("tests", &["test"]),
            Kind::Logs => ("logs", &["log"]),
        }
    }

    /// Its name, in tasks and reports.
    pub(crate) fn word(self) -> &'static str {
        self.said().0
    }

    pub(crate) fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word.trim())
    }

    /// Returns the kind of a file.
    pub(crate) fn of(path: &str) -> Kind {
        let path = path.to_ascii_lowercase();
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let within = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        let is_test =
            within(&["test", "tests", "spec", "__tests__"]) || name.split(['.', '_', '-']).any(|p| p == "test");
        if LOG_ENDINGS.contains(&ending) || within(&["log", "logs"]) {
            Kind::Logs
        } else if is_test {
            Kind::Tests
        } else if DOC_ENDINGS.contains(&ending) || within(&["doc", "docs"]) {
            Kind::Docs
        } else if CONFIG_ENDINGS.contains(&ending) || name.starts_with(".env") {
            Kind::Config
        } else {
            Kind::Code
        }
    }

    /// Returns the kinds that an agent reads, by its own description. An agent that finds things out reads all of them.
    pub(crate) fn read_by(description: &str) -> Vec<Kind> {
        let said = words(description);
        let says = |beginnings: &[&str]| said.iter().any(|word| beginnings.iter().any(|start| word.starts_with(start)));
        let named: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| says(kind.said().1)).collect();
        if named.is_empty() && says(FINDERS) { Kind::ALL.to_vec() } else { named }
    }

    /// Returns a glob for the files that may be of this kind; [`Kind::of`] has the last word.
    pub(crate) fn glob(self) -> String {
        let endings = |endings: &[&str], folders: &str| format!("{{**/*.{},{folders}}}", endings.join(",**/*."));
        match self {
            Kind::Code => format!("{{*.{},Makefile,Dockerfile}}", CODE_ENDINGS.join(",*.")),
            Kind::Config => endings(CONFIG_ENDINGS, "**/.env*"),
            Kind::Docs => endings(DOC_ENDINGS, "**/docs/**,**/doc/**"),
            Kind::Tests => "{**/test/**,**/tests/**,**/spec/**,**/__tests__/**,**/*test*}".to_owned(),
            Kind::Logs => endings(LOG_ENDINGS, "**/logs/**,**/log/**"),
        }
    }
}
