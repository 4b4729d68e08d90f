//! Decides whether a licence expression (SPDX, or the older `A/B`) is satisfied by the licences that we accept.

/// Returns an error for an expression that it can't read.
pub(crate) fn is_allowed(expression: &str, allow: &[&str]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut parser = Parser { words: &spaced.split_whitespace().collect::<Vec<_>>(), allow };
    match (parser.any(), parser.words) {
        (Some(allowed), []) => Ok(allowed),
        _ => Err(format!("`{expression}` is not a licence expression")),
    }
}

struct Parser<'a> {
    words: &'a [&'a str],
    allow: &'a [&'a str],
}

impl Parser<'_> {
    fn any(&mut self) -> Option<bool> {
        let mut allowed = self.all()?;
        while self.eat("OR") {
            allowed |= self.all()?;
        }
        Some(allowed)
    }

    fn all(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.eat("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.eat("(") {
            let allowed = self.any()?;
            return self.eat(")").then_some(allowed);
        }
        let mut name = self.name()?.to_owned();
        if self.eat("WITH") {
            name = format!("{name} WITH {}", self.name()?);
        }
        Some(self.allow.contains(&name.as_str()))
    }

    fn name(&mut self) -> Option<&str> {
        let (word, rest) = self.words.split_first()?;
        self.words = rest;
        (!["(", ")", "AND", "OR", "WITH"].contains(word)).then_some(word)
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        self.words = &self.words[usize::from(found)..];
        found
    }
}

#[test]
fn licence_expressions_are_read_as_spdx_defines_them() {
    let check = |expression, expect: Option<bool>| {
        let allow = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"];
        assert_eq!(is_allowed(expression, &allow).ok(), expect, "{expression}");
    };
    check("MIT", Some(true));
    check("GPL-3.0", Some(false));
    check("GPL-3.0 OR MIT", Some(true));
    check("GPL-3.0/MIT", Some(true));
    check("GPL-3.0 AND MIT", Some(false));
    check("MIT AND Zlib", Some(true));
    check("MIT OR GPL-3.0 AND GPL-2.0", Some(true));
    check("(MIT OR GPL-3.0) AND GPL-2.0", Some(false));
    check("(MIT OR GPL-3.0) AND (GPL-2.0 OR Zlib)", Some(true));
    check("Apache-2.0 WITH LLVM-exception", Some(true));
    check("Apache-2.0", Some(false));
    check("MIT WITH LLVM-exception", Some(false));
    for broken in ["", "MIT OR", "OR MIT", "MIT Zlib", "(MIT", "MIT)", "()", "MIT WITH", "MIT or Zlib"] {
        check(broken, None);
    }
}
