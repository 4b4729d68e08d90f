//! The globs that models pass to narrow a listing or a search.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::text::shown;

/// The longest accepted glob, in bytes.
pub(crate) const GLOB_BYTES_MAX: usize = 256;

/// The description of a glob argument for models.
pub(crate) const ABOUT: &str =
    "A glob for file names, such as `*.{ts,tsx}`, or, with a slash, for paths, such as `src/**/*.md`.";

/// A glob that is matched against names, or against paths if it contains a slash.
pub(crate) struct Glob {
    matcher: GlobMatcher,
    over: Over,
}

enum Over {
    Names,
    Paths,
}

impl Glob {
    /// Parses a glob. The error tells the model what is wrong with the glob.
    pub(crate) fn parse(glob: &str) -> Result<Glob, String> {
        let over = if glob.contains('/') { Over::Paths } else { Over::Names };
        let trimmed = glob.trim_start_matches("./").trim_start_matches('/');
        match GlobBuilder::new(trimmed).literal_separator(true).build() {
            Ok(built) => Ok(Glob { matcher: built.compile_matcher(), over }),
            Err(error) => {
                let (glob, why) = (shown(glob.as_bytes()), error.kind());
                Err(format!(
                    "`{glob}` is not a valid glob: {why}. Globs look like `*.rs`, `*.{{ts,tsx}}` or `src/**/*.md`."
                ))
            }
        }
    }

    /// Whether a path matches, relative to the project's root or to the start of the walk.
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
