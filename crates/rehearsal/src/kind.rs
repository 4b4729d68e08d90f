//! Kinds of evidence. The path of a file decides its kind; the description of an agent decides which kinds the agent reads.

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
/// With these endings, a glob stays below the limit of 256 bytes of the search tool.
const CODE_ENDINGS: &[&str] = &[
    "py", "rs", "go", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java", "kt", "rb", "php", "c", "h", "cc", "cpp", "hpp",
    "cs", "swift", "scala", "ex", "exs", "erl", "lua", "pl", "sh", "sql", "zig", "hs", "ml", "clj", "dart", "vue",
];

/// Beginnings of words in a description which mean that the agent searches in all kinds of files.
const FINDERS: &[&str] = &["investigat", "research", "finds", "searches"];

impl Kind {
    pub(crate) const ALL: [Kind; 5] = [Kind::Code, Kind::Config, Kind::Docs, Kind::Tests, Kind::Logs];

    /// Returns the name, and the beginnings of words in a description which mean that an agent reads this kind.
    fn name_and_beginnings(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Kind::Code => ("code", &["code", "source", "program", "function"]),
            Kind::Config => ("config", &["config", "setting"]),
            Kind::Docs => ("docs", &["doc", "runbook", "readme", "manual", "notes"]),
            Kind::Tests => ("tests", &["test"]),
            Kind::Logs => ("logs", &["log"]),
        }
    }

    /// Returns the name, for tasks and reports.
    pub(crate) fn name(self) -> &'static str {
        self.name_and_beginnings().0
    }

    pub(crate) fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name.trim())
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

    /// Returns the kinds that an agent reads, according to its description. An agent that searches in general reads all kinds.
    pub(crate) fn read_by(description: &str) -> Vec<Kind> {
        let words = words(description);
        let has = |beginnings: &[&str]| words.iter().any(|word| beginnings.iter().any(|start| word.starts_with(start)));
        let named: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| has(kind.name_and_beginnings().1)).collect();
        if named.is_empty() && has(FINDERS) { Kind::ALL.to_vec() } else { named }
    }

    /// Returns a glob for files that may be of this kind. [`Kind::of`] decides.
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
