//! Kinds of evidence: what a file can tell, by its path alone.

use super::words::stems;

/// Where evidence comes from, in the order in which a fault usually shows: from what was seen to what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Logs,
    Tests,
    Docs,
    Config,
    Code,
}

const LOG_ENDINGS: &[&str] = &["log", "out", "err", "jsonl", "trace"];
const CONFIG_ENDINGS: &[&str] =
    &["toml", "yaml", "yml", "ini", "cfg", "conf", "env", "json", "properties", "xml", "tf", "plist"];
const DOC_ENDINGS: &[&str] = &["md", "markdown", "rst", "txt", "adoc", "org"];
const CODE_ENDINGS: &[&str] = &[
    "py", "rs", "go", "js", "mjs", "cjs", "ts", "tsx", "jsx", "java", "kt", "rb", "php", "c", "h", "cc", "cpp", "hpp",
    "cs", "swift", "scala", "ex", "exs", "erl", "lua", "pl", "sh", "sql", "zig", "hs", "ml", "clj", "dart", "vue",
];

impl Source {
    pub(super) const ALL: [Source; 5] = [Source::Logs, Source::Config, Source::Code, Source::Tests, Source::Docs];

    /// The word for it, in tasks and reports.
    pub(super) fn word(self) -> &'static str {
        match self {
            Source::Logs => "logs",
            Source::Config => "config",
            Source::Code => "code",
            Source::Tests => "tests",
            Source::Docs => "docs",
        }
    }

    /// The stems by which a description says that somebody reads it.
    fn stems(self) -> &'static [&'static str] {
        match self {
            Source::Logs => &["log", "logg", "trac"],
            Source::Config => &["config", "configuration", "setting", "env"],
            Source::Code => &["cod", "modul", "function", "implementation"],
            Source::Tests => &["test"],
            Source::Docs => &["doc", "docs", "documentation", "readm", "runbook", "manual"],
        }
    }

    /// What a file is evidence of. `None`: of nothing, such as locks and the team's own instructions.
    pub(super) fn of(path: &str) -> Option<Source> {
        let path = path.to_ascii_lowercase();
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let within = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        if ending == "lock" || within(&["agents", ".git"]) {
            return None;
        }
        let is_test = within(&["test", "tests", "spec", "__tests__"]) || name_parts(name).any(|part| part == "test");
        let is_setting = within(&["config", "conf", "etc"]) && !CODE_ENDINGS.contains(&ending);
        // Records beside a test are what it expects, not what has happened.
        let is_recorded = LOG_ENDINGS.contains(&ending) && ending != "jsonl";
        Some(if is_test && !is_recorded {
            Source::Tests
        } else if LOG_ENDINGS.contains(&ending) || within(&["log", "logs"]) {
            Source::Logs
        } else if DOC_ENDINGS.contains(&ending) || within(&["docs", "doc"]) {
            Source::Docs
        } else if CONFIG_ENDINGS.contains(&ending) || name.starts_with(".env") || is_setting {
            Source::Config
        } else {
            Source::Code
        })
    }

    /// Which of them a text speaks of.
    pub(super) fn named_in(text: &str) -> Vec<Source> {
        let said = stems(text);
        let speaks = |source: &Source| source.stems().iter().any(|stem| said.contains(*stem));
        Source::ALL.into_iter().filter(speaks).collect()
    }

    /// Reads the word for one.
    pub(super) fn parse(word: &str) -> Option<Source> {
        Source::ALL.into_iter().find(|source| source.word() == word.trim())
    }

    /// The files that may be such evidence, as a glob; [`Source::of`] has the last word.
    pub(super) fn glob(self) -> String {
        match self {
            Source::Logs => "{**/*.log,**/*.out,**/*.err,**/*.jsonl,**/*.trace,**/log/**,**/logs/**}".to_owned(),
            Source::Tests => "{**/test/**,**/tests/**,**/spec/**,**/__tests__/**,**/*test*}".to_owned(),
            Source::Docs => format!("{{**/*.{},**/docs/**,**/doc/**}}", DOC_ENDINGS.join(",**/*.")),
            Source::Config => {
                format!("{{**/*.{},**/.env*,**/config/**,**/conf/**}}", CONFIG_ENDINGS.join(",**/*."))
            }
            Source::Code => format!("*.{{{}}}", CODE_ENDINGS.join(",")),
        }
    }
}

fn name_parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', '_', '-'])
}

/// The words for several, as a task says them.
pub(super) fn words(sources: &[Source]) -> String {
    if sources.is_empty() {
        return "any".to_owned();
    }
    sources.iter().map(|source| source.word()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn a_path_tells_what_a_file_is_evidence_of() {
        for (path, expected) in [
            ("logs/2024-05-01.txt", Some(Source::Logs)),
            ("app.log", Some(Source::Logs)),
            ("tests/test_client.py", Some(Source::Tests)),
            ("src/client_test.go", Some(Source::Tests)),
            ("tests/golden/all.jsonl", Some(Source::Tests)),
            ("tests/last_run.log", Some(Source::Logs)),
            ("data/all.jsonl", Some(Source::Logs)),
            ("src/latest.go", Some(Source::Code)),
            ("config/limits.toml", Some(Source::Config)),
            ("config/load.py", Some(Source::Code)),
            ("README.md", Some(Source::Docs)),
            ("src/main.rs", Some(Source::Code)),
            ("Makefile", Some(Source::Code)),
            ("agents/lead.md", None),
            ("Cargo.lock", None),
        ] {
            assert_eq!(Source::of(path), expected, "{path}");
        }
    }

    #[test]
    fn a_description_tells_what_somebody_reads() {
        assert_eq!(Source::named_in("Reads the logs and the configuration."), [Source::Logs, Source::Config]);
        assert_eq!(Source::named_in("Travels to the coast."), []);
    }

    #[test]
    fn every_glob_is_short_enough_for_the_tools() {
        for source in Source::ALL {
            assert!(source.glob().len() <= 256, "{source:?}: {}", source.glob().len());
        }
    }
}
