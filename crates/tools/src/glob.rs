//! The globs that models give to narrow a listing or a search.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::text::shown;

/// The longest glob that is taken, in bytes.
pub(crate) const GLOB_BYTES_MAX: usize = 256;

/// How a model is told what a glob is.
pub(crate) const ABOUT: &str = "Only files that match this glob, such as `*.rs`, `*.{ts,tsx}` or `src/**/*.md`. Without a \
     slash it is matched against the name, with one against the path.";

/// A glob over names, or over paths if it has a slash.
pub(crate) struct Glob {
    matcher: GlobMatcher,
    over: Over,
}

enum Over {
    Names,
    Paths,
}

impl Glob {
    /// Takes a glob, or says to the model what is wrong with it.
    pub(crate) fn parse(glob: &str) -> Result<Glob, String> {
        let over = if glob.contains('/') { Over::Paths } else { Over::Names };
        let trimmed = glob.trim_start_matches("./").trim_start_matches('/');
        match GlobBuilder::new(trimmed).literal_separator(true).build() {
            Ok(built) => Ok(Glob { matcher: built.compile_matcher(), over }),
            Err(error) => {
                let (glob, why) = (shown(glob.as_bytes()), error.kind());
                Err(format!("`{glob}` is no glob: {why}. Globs look like `*.rs`, `*.{{ts,tsx}}` or `src/**/*.md`."))
            }
        }
    }

    /// Whether a path matches, seen from the project's root or from where the walk began.
    pub(crate) fn matches(&self, path: &Path, start: &Path) -> bool {
        match self.over {
            Over::Names => path.file_name().is_some_and(|name| self.matcher.is_match(name)),
            Over::Paths => {
                let below = path.strip_prefix(start).unwrap_or(path);
                self.matcher.is_match(path) || self.matcher.is_match(below)
            }
        }
    }
}
