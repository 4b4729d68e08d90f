//! A regular expression that is matched against a line a piece at a time: it holds no line, it can be interrupted after every
//! byte, and it never needs more memory than its constants say, whatever the pattern and the line.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{Input, meta};
use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Hir, HirKind};

use crate::text::shown;
use crate::watch::Watch;

/// How big a pattern may grow when it is compiled.
const COMPILED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many bytes the states of the automaton may take. When they take more, it forgets them and goes on.
const CACHE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How deep groups may be nested.
const NEST_MAX: u32 = 250;
/// How much is done between two looks at the watch, in bytes times states: a byte takes as long as the pattern has states, at
/// worst.
const WORK_BETWEEN_LOOKS: usize = 2_000_000;
const BYTES_BETWEEN_LOOKS: usize = 64 * 1024;
/// How much may be done in one go that can't be interrupted, in bytes times states.
const EXACT_WORK_MAX: usize = 20_000_000;
const EXACT_BYTES_MAX: usize = 1024 * 1024;

/// Whether capitals matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// They do if the pattern has one.
    Smart,
    Sensitive,
    Insensitive,
}

/// How a line stands with a pattern, as far as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It may still match.
    Open(LazyStateID),
    /// It matches.
    Match,
    /// It does not match, however it goes on.
    NoMatch,
    /// The automaton can't tell: it knows Unicode's words only as far as they are ASCII. The whole line is needed.
    Unclear,
}

/// The time is up.
#[derive(Debug)]
pub(super) struct Over;

/// A compiled pattern with what it remembers.
pub(super) struct Pattern {
    dfa: DFA,
    cache: Cache,
    states: usize,
    /// Bytes until the next look at the watch.
    until_look: usize,
    /// Matches whole lines that the automaton can't tell, where a pattern may have such lines.
    exact: Option<meta::Regex>,
}

impl Pattern {
    /// Compiles a pattern, or says to the model what is wrong with it.
    pub(super) fn compile(pattern: &str, case: Case) -> Result<Pattern, String> {
        Pattern::build(pattern, case).map_err(|why| {
            let why: Vec<String> = why.lines().map(|line| shown(line.as_bytes())).collect();
            format!(
                "The pattern `{}` can't be used:\n{}\nPatterns have no look-around and no back-references, and match within one \
                 line. Put a backslash before . * + ? ( ) [ ] {{ }} | ^ $ \\ to find the character itself.",
                shown(pattern.as_bytes()),
                why.join("\n")
            )
        })
    }

    fn build(pattern: &str, case: Case) -> Result<Pattern, String> {
        let hir = parse(pattern, case)?;
        if names_line_end(&hir) {
            return Err("it has a line break, and no line has one".to_owned());
        }
        let config = thompson::Config::new()
            .utf8(false)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(COMPILED_BYTES_MAX));
        let nfa = NFA::compiler().configure(config).build_from_hir(&hir).map_err(|why| too_big(&why))?;
        let (states, looks) = (nfa.states().len(), nfa.look_set_any());
        let config = DFA::config().cache_capacity(CACHE_BYTES_MAX).unicode_word_boundary(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).map_err(|why| too_big(&why))?;
        let exact = looks.contains_word_unicode().then(|| exact(&hir)).transpose()?;
        Ok(Pattern { cache: dfa.create_cache(), dfa, states, until_look: 0, exact })
    }

    /// How long a line may be that is matched as a whole, where the automaton can't tell.
    pub(super) fn whole_line_bytes_max(&self) -> usize {
        self.exact.as_ref().map_or(0, |_| (EXACT_WORK_MAX / self.states).min(EXACT_BYTES_MAX))
    }

    /// How a line stands of which nothing was read yet.
    pub(super) fn begin(&mut self) -> Standing {
        match self.dfa.start_state_forward(&mut self.cache, &Input::new("")) {
            Ok(state) => Standing::Open(state),
            // The start depends on nothing but the pattern, so that this pattern is one for whole lines.
            Err(_) => Standing::Unclear,
        }
    }

    /// Reads on in a line. Returns how it stands, and how many of these bytes belong to what was read for that.
    pub(super) fn read(&mut self, standing: Standing, bytes: &[u8], watch: &Watch) -> Result<(Standing, usize), Over> {
        let Standing::Open(mut state) = standing else { return Ok((standing, 0)) };
        for (at, byte) in bytes.iter().enumerate() {
            if self.until_look == 0 {
                if watch.is_over() {
                    return Err(Over);
                }
                self.until_look = (WORK_BETWEEN_LOOKS / self.states).clamp(1, BYTES_BETWEEN_LOOKS);
            }
            self.until_look -= 1;
            state = match self.dfa.next_state(&mut self.cache, state, *byte) {
                Ok(next) if !next.is_tagged() => next,
                next => match told_by(&next) {
                    Standing::Open(next) => next,
                    told @ (Standing::Match | Standing::NoMatch | Standing::Unclear) => return Ok((told, at)),
                },
            };
        }
        Ok((Standing::Open(state), bytes.len()))
    }

    /// How a line stands that is over.
    pub(super) fn end(&mut self, standing: Standing) -> Standing {
        let Standing::Open(state) = standing else { return standing };
        match told_by(&self.dfa.next_eoi_state(&mut self.cache, state)) {
            Standing::Open(_) => Standing::NoMatch,
            told @ (Standing::Match | Standing::NoMatch | Standing::Unclear) => told,
        }
    }

    /// Matches a whole line, which takes as long as it takes, and returns where the first match ends. The line is no longer
    /// than [`Self::whole_line_bytes_max`].
    pub(super) fn end_of_match(&self, line: &[u8], watch: &Watch) -> Result<Option<usize>, Over> {
        if watch.is_over() {
            return Err(Over);
        }
        Ok(self.exact.as_ref().and_then(|exact| exact.find(line)).map(|found| found.end()))
    }
}

/// What a state of the automaton says of the line.
fn told_by<E>(state: &Result<LazyStateID, E>) -> Standing {
    match state {
        Ok(state) if state.is_match() => Standing::Match,
        Ok(state) if state.is_dead() => Standing::NoMatch,
        Ok(state) if state.is_quit() => Standing::Unclear,
        Ok(state) => Standing::Open(*state),
        // It gives up only where it was told to.
        Err(_) => Standing::Unclear,
    }
}

/// Needs no memory that grows with the line, and takes a time that does.
fn exact(hir: &Hir) -> Result<meta::Regex, String> {
    let config = meta::Config::new()
        .utf8_empty(false)
        .which_captures(WhichCaptures::Implicit)
        .nfa_size_limit(Some(COMPILED_BYTES_MAX))
        .hybrid(false)
        .dfa(false)
        .onepass(false);
    meta::Builder::new().configure(config).build_from_hir(hir).map_err(|why| why.to_string())
}

fn too_big(why: &impl std::fmt::Display) -> String {
    format!("it grows too big when it is compiled ({why})")
}

fn parse(pattern: &str, case: Case) -> Result<Hir, String> {
    let mut parser = ast::parse::ParserBuilder::new().nest_limit(NEST_MAX).build();
    let ast = parser.parse(pattern).map_err(|why| why.to_string())?;
    let insensitive = match case {
        Case::Smart => Letters::of(&ast) == Letters::Small,
        Case::Sensitive => false,
        Case::Insensitive => true,
    };
    let mut translator = TranslatorBuilder::new().utf8(false).case_insensitive(insensitive).build();
    translator.translate(pattern, &ast).map_err(|why| why.to_string())
}

/// Whether a pattern asks for a line break, which it would never find.
fn names_line_end(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Repetition(repeated) => names_line_end(&repeated.sub),
        HirKind::Capture(group) => names_line_end(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(names_line_end),
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

/// The letters of a pattern that stand for themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letters {
    None,
    Small,
    Capital,
}

impl Letters {
    fn of(ast: &Ast) -> Letters {
        let Ok(letters) = ast::visit(ast, Letters::None);
        letters
    }

    fn take(&mut self, literal: &ast::Literal) {
        if literal.c.is_uppercase() {
            *self = Letters::Capital;
        } else if *self == Letters::None {
            *self = Letters::Small;
        }
    }
}

impl ast::Visitor for Letters {
    type Output = Letters;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<Letters, Self::Err> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::Literal(literal) = ast {
            self.take(literal);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        if let ClassSetItem::Literal(literal) = item {
            self.take(literal);
        }
        if let ClassSetItem::Range(range) = item {
            self.take(&range.start);
            self.take(&range.end);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CACHE_BYTES_MAX, Case, Pattern, Standing};
    use crate::watch::{CALL_TIME_MAX, Watch};

    /// Whether a line matches that comes in pieces of this size.
    fn matches(pattern: &mut Pattern, line: &[u8], piece: usize) -> bool {
        let watch = Watch::new(CALL_TIME_MAX);
        let mut standing = pattern.begin();
        for bytes in line.chunks(piece) {
            standing = pattern.read(standing, bytes, &watch).unwrap().0;
        }
        match pattern.end(standing) {
            Standing::Match => true,
            Standing::NoMatch => false,
            Standing::Open(_) => panic!("a line that is over stands open"),
            Standing::Unclear => pattern.end_of_match(line, &watch).unwrap().is_some(),
        }
    }

    fn check(pattern: &str, case: Case, yes: &[&str], no: &[&str]) {
        let mut compiled = Pattern::compile(pattern, case).unwrap();
        for piece in [1, 2, 3, 1000] {
            for line in yes {
                assert!(matches(&mut compiled, line.as_bytes(), piece), "{pattern} and {line}, by {piece}");
            }
            for line in no {
                assert!(!matches(&mut compiled, line.as_bytes(), piece), "{pattern} and {line}, by {piece}");
            }
        }
    }

    #[test]
    fn a_line_matches_however_it_comes() {
        check("needle", Case::Smart, &["needle", "a needle.", "NEEDLE"], &["", "nee dle", "needl"]);
        check("^$", Case::Smart, &[""], &["x"]);
        check("", Case::Smart, &["", "x"], &[]);
        check("^a.*z$", Case::Smart, &["az", "a é z"], &["az ", " az"]);
        check("ß|[^a]x", Case::Smart, &["ß", "bx", "éx"], &["ax", "s"]);
        check(r"(?-u:\xff)", Case::Smart, &[], &["ÿ"]);
        let mut bytes = Pattern::compile(r"(?-u:\xff)", Case::Smart).unwrap();
        assert!(matches(&mut bytes, b"a\xff", 1));
    }

    #[test]
    fn capitals_matter_as_asked_for() {
        check("word", Case::Smart, &["word", "Word"], &[]);
        check("Word", Case::Smart, &["Word"], &["word"]);
        check("[A-Z]x", Case::Smart, &["Ax"], &["ax"]);
        check(r"\Sx", Case::Smart, &["aX", "ax"], &[]);
        check(r"\p{Lu}", Case::Smart, &["A"], &["a"]);
        check("word", Case::Sensitive, &["word"], &["Word"]);
        check("WORD", Case::Insensitive, &["word", "Word"], &[]);
    }

    #[test]
    fn words_end_where_unicode_says() {
        check(r"\bvia\b", Case::Smart, &["via", "é via ü", "数 via"], &["viaé", "évia", "naïvia"]);
        check(r"\bé", Case::Smart, &["é", "a é"], &["aé", "ae"]);
    }

    #[test]
    fn a_pattern_that_asks_for_a_line_break_is_refused() {
        for pattern in ["a\nb", r"a\nb", r"(x|ab\n)+", r"[\n]"] {
            let why = Pattern::compile(pattern, Case::Smart).err().expect("it is refused");
            assert!(why.contains("it has a line break"), "{why}");
        }
        check(r"a\sb|[^x]y", Case::Smart, &["a b", "zy"], &["xy"]);
    }

    #[test]
    fn a_pattern_of_many_states_looks_at_the_watch_in_time() {
        let mut pattern = Pattern::compile("[ab]{1,1000}[abc]{1,1000}z", Case::Smart).unwrap();
        let over = Watch::new(std::time::Duration::ZERO);
        let standing = pattern.begin();
        assert!(pattern.read(standing, b"ab", &over).is_err());
    }
    #[test]
    fn the_states_of_a_pattern_keep_to_their_memory() {
        let mut pattern = Pattern::compile("a[ab]{30}c", Case::Smart).unwrap();
        let mut seed = 1_u32;
        let line: Vec<u8> = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"ab"[(seed >> 31) as usize]
        })
        .take(500_000)
        .collect();
        assert!(!matches(&mut pattern, &line, 64 * 1024));
        let taken = pattern.cache.memory_usage();
        assert!(pattern.cache.clear_count() > 0 && taken <= CACHE_BYTES_MAX, "{taken}");
    }
}
