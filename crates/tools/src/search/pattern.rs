//! A regular expression that is matched against a line piece by piece. Matching can be interrupted after every byte, and it takes
//! no more memory than the limits below, whatever the pattern and the line.
//!
//! A lazy DFA does the work: one step per byte, from one state to the next, so nothing of the line is held. Its states are
//! kept in a cache; when the cache is full, it is cleared. (Engines that match in one call can't be interrupted, and the usual
//! default for the size of the cache is a gigabyte.)

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
/// How many bytes the states of the DFA may take until they are cleared.
const CACHE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How deep groups may be nested.
const NEST_MAX: u32 = 250;
/// How much is done before the watch is asked again, in bytes times states of the compiled pattern: at worst, each byte takes a
/// time that grows with their number.
const WORK_BETWEEN_LOOKS: usize = 2_000_000;
const BYTES_BETWEEN_LOOKS: usize = 64 * 1024;
/// How much is done in one call that can't be interrupted, in bytes times states, and how long a line is held for it.
const WHOLE_LINE_WORK_MAX: usize = 20_000_000;
const WHOLE_LINE_BYTES_MAX: usize = 1024 * 1024;

/// Whether capitals matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// They do if the pattern has one.
    Smart,
    Sensitive,
    Insensitive,
}

/// What is known of a line, as far as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchState {
    /// It may still match.
    Undecided(LazyStateID),
    /// It matches.
    Match,
    /// It does not match, however it goes on.
    NoMatch,
    /// The DFA can't tell: it finds word boundaries only between ASCII characters. A slower engine can, from the whole line.
    NeedsWholeLine,
}

/// The time is up.
#[derive(Debug)]
pub(super) struct OutOfTime;

/// A compiled pattern with its cache.
pub(super) struct Pattern {
    dfa: DFA,
    cache: Cache,
    states: usize,
    /// Bytes until the next look at the watch.
    until_look: usize,
    /// Matches the lines of which the DFA can't tell, if the pattern has word boundaries.
    whole_line: Option<meta::Regex>,
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
        let whole_line = looks.contains_word_unicode().then(|| whole_line(&hir)).transpose()?;
        Ok(Pattern { cache: dfa.create_cache(), dfa, states, until_look: 0, whole_line })
    }

    /// Returns how long a line may be that is matched as a whole. It is 0 if no line ever is.
    pub(super) fn whole_line_bytes_max(&self) -> usize {
        self.whole_line.as_ref().map_or(0, |_| (WHOLE_LINE_WORK_MAX / self.states).min(WHOLE_LINE_BYTES_MAX))
    }

    /// Begins a line.
    pub(super) fn begin_line(&mut self) -> MatchState {
        match self.dfa.start_state_forward(&mut self.cache, &Input::new("")) {
            Ok(state) => MatchState::Undecided(state),
            // It fails only after a byte that the DFA can't read, and nothing comes before a line.
            Err(_) => MatchState::NeedsWholeLine,
        }
    }

    /// Reads the next bytes of a line. Returns what is known then, and how many of the bytes decided it: where the line matches,
    /// the match ends after these.
    pub(super) fn read(
        &mut self,
        line_state: MatchState,
        bytes: &[u8],
        watch: &Watch,
    ) -> Result<(MatchState, usize), OutOfTime> {
        let MatchState::Undecided(mut state) = line_state else { return Ok((line_state, 0)) };
        for (at, byte) in bytes.iter().enumerate() {
            if self.until_look == 0 {
                if watch.is_over() {
                    return Err(OutOfTime);
                }
                self.until_look = (WORK_BETWEEN_LOOKS / self.states).clamp(1, BYTES_BETWEEN_LOOKS);
            }
            self.until_look -= 1;
            state = match self.dfa.next_state(&mut self.cache, state, *byte) {
                Ok(next) if !next.is_tagged() => next,
                next => match meaning(&next) {
                    MatchState::Undecided(next) => next,
                    decided @ (MatchState::Match | MatchState::NoMatch | MatchState::NeedsWholeLine) => {
                        return Ok((decided, at));
                    }
                },
            };
        }
        Ok((MatchState::Undecided(state), bytes.len()))
    }

    /// Ends a line.
    pub(super) fn end_line(&mut self, line_state: MatchState) -> MatchState {
        let MatchState::Undecided(state) = line_state else { return line_state };
        match meaning(&self.dfa.next_eoi_state(&mut self.cache, state)) {
            MatchState::Undecided(_) => MatchState::NoMatch,
            decided @ (MatchState::Match | MatchState::NoMatch | MatchState::NeedsWholeLine) => decided,
        }
    }

    /// Matches a whole line in one call, and returns where the first match ends. The line must not be longer than
    /// [`Self::whole_line_bytes_max`], which bounds the time.
    pub(super) fn match_whole_line(&self, line: &[u8], watch: &Watch) -> Result<Option<usize>, OutOfTime> {
        if watch.is_over() {
            return Err(OutOfTime);
        }
        Ok(self.whole_line.as_ref().and_then(|regex| regex.find(line)).map(|found| found.end()))
    }
}

/// What a state of the DFA says of the line.
fn meaning<E>(state: &Result<LazyStateID, E>) -> MatchState {
    match state {
        Ok(state) if state.is_match() => MatchState::Match,
        Ok(state) if state.is_dead() => MatchState::NoMatch,
        Ok(state) if state.is_quit() => MatchState::NeedsWholeLine,
        Ok(state) => MatchState::Undecided(*state),
        // The DFA gives up only if it is configured to, and it is not.
        Err(_) => MatchState::NeedsWholeLine,
    }
}

/// Compiles the slower engine, without those of its parts whose memory grows.
fn whole_line(hir: &Hir) -> Result<meta::Regex, String> {
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

/// Whether a pattern asks for a line break, which no line has.
fn names_line_end(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Repetition(repeated) => names_line_end(&repeated.sub),
        HirKind::Capture(group) => names_line_end(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(names_line_end),
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

/// The letters that a pattern looks for.
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
    use super::{CACHE_BYTES_MAX, Case, MatchState, Pattern};
    use crate::watch::{CALL_TIME_MAX, Watch};

    /// Whether a line matches that comes in pieces of this size.
    fn matches(pattern: &mut Pattern, line: &[u8], piece: usize) -> bool {
        let watch = Watch::new(CALL_TIME_MAX);
        let mut line_state = pattern.begin_line();
        for bytes in line.chunks(piece) {
            line_state = pattern.read(line_state, bytes, &watch).unwrap().0;
        }
        match pattern.end_line(line_state) {
            MatchState::Match => true,
            MatchState::NoMatch => false,
            MatchState::Undecided(_) => panic!("a line that is over is not decided"),
            MatchState::NeedsWholeLine => pattern.match_whole_line(line, &watch).unwrap().is_some(),
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
        let line_state = pattern.begin_line();
        assert!(pattern.read(line_state, b"ab", &over).is_err());
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
