//! A regular expression that is matched against a line piece by piece. Matching can stop after every byte. It needs no more
//! memory than the limits below, for every pattern and line.
//!
//! The matching uses a lazy DFA: one step per byte, from one state to the next, so that the line is not stored. The states
//! are kept in a cache, which is cleared when it is full. (Engines that match in one call can't be stopped, and the usual
//! default size of the cache is a gigabyte.)

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{Input, meta};
use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::translate::TranslatorBuilder;
use regex_syntax::hir::{Hir, HirKind};

use crate::text::shown;
use crate::watch::Watch;

/// How large a compiled pattern may be.
const COMPILED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many bytes the states of the DFA may use before they are cleared.
const CACHE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How deep groups may be nested.
const NEST_MAX: u32 = 250;
/// How much work is done between two checks of the time, in bytes times states of the compiled pattern. In the worst case,
/// the time for each byte grows with the number of states.
const WORK_BETWEEN_CHECKS: usize = 2_000_000;
const BYTES_BETWEEN_CHECKS: usize = 64 * 1024;
/// How much work is done in one call that can't be stopped, in bytes times states, and how many bytes of a line are stored
/// for it.
const WHOLE_LINE_WORK_MAX: usize = 20_000_000;
const WHOLE_LINE_BYTES_MAX: usize = 1024 * 1024;

/// Whether upper and lower case differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// They differ if the pattern has a capital letter.
    Smart,
    Sensitive,
    Insensitive,
}

/// What is known about a line, as far as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchState {
    /// The line may still match.
    Undecided(LazyStateID),
    /// The line matches.
    Match,
    /// The line does not match, whatever follows.
    NoMatch,
    /// The DFA can't decide, because it finds word boundaries only between ASCII characters. A slower engine needs the whole
    /// line.
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
    /// How many bytes are read before the next check of the time.
    until_check: usize,
    /// Matches the lines that the DFA can't decide. Present if the pattern has word boundaries.
    whole_line: Option<meta::Regex>,
}

impl Pattern {
    /// Compiles a pattern. The error tells the model what is wrong with the pattern.
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
        if contains_line_break(&hir) {
            return Err("it contains a line break, but each line is matched separately".to_owned());
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
        Ok(Pattern { cache: dfa.create_cache(), dfa, states, until_check: 0, whole_line })
    }

    /// Returns how long a line may be that is matched as a whole, or 0 if the pattern never needs the whole line.
    pub(super) fn whole_line_bytes_max(&self) -> usize {
        self.whole_line.as_ref().map_or(0, |_| (WHOLE_LINE_WORK_MAX / self.states).min(WHOLE_LINE_BYTES_MAX))
    }

    /// Returns the state at the start of a line.
    pub(super) fn begin_line(&mut self) -> MatchState {
        match self.dfa.start_state_forward(&mut self.cache, &Input::new("")) {
            Ok(state) => MatchState::Undecided(state),
            // This fails only after a byte that the DFA can't read, and no byte comes before a line.
            Err(_) => MatchState::NeedsWholeLine,
        }
    }

    /// Reads the next bytes of a line. Returns the new state and how many bytes were read before it was decided. If the line
    /// matches, the match ends there.
    pub(super) fn read(
        &mut self,
        line_state: MatchState,
        bytes: &[u8],
        watch: &Watch,
    ) -> Result<(MatchState, usize), OutOfTime> {
        let MatchState::Undecided(mut state) = line_state else { return Ok((line_state, 0)) };
        for (at, byte) in bytes.iter().enumerate() {
            if self.until_check == 0 {
                if watch.is_over() {
                    return Err(OutOfTime);
                }
                self.until_check = (WORK_BETWEEN_CHECKS / self.states).clamp(1, BYTES_BETWEEN_CHECKS);
            }
            self.until_check -= 1;
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

    /// Returns the state at the end of a line.
    pub(super) fn end_line(&mut self, line_state: MatchState) -> MatchState {
        let MatchState::Undecided(state) = line_state else { return line_state };
        match meaning(&self.dfa.next_eoi_state(&mut self.cache, state)) {
            MatchState::Undecided(_) => MatchState::NoMatch,
            decided @ (MatchState::Match | MatchState::NoMatch | MatchState::NeedsWholeLine) => decided,
        }
    }

    /// Matches a whole line in one call, and returns where the first match ends. The line must not be longer than
    /// [`Self::whole_line_bytes_max`], which limits the time.
    pub(super) fn match_whole_line(&self, line: &[u8], watch: &Watch) -> Result<Option<usize>, OutOfTime> {
        if watch.is_over() {
            return Err(OutOfTime);
        }
        Ok(self.whole_line.as_ref().and_then(|regex| regex.find(line)).map(|found| found.end()))
    }
}

/// Converts a state of the DFA.
fn meaning<E>(state: &Result<LazyStateID, E>) -> MatchState {
    match state {
        Ok(state) if state.is_match() => MatchState::Match,
        Ok(state) if state.is_dead() => MatchState::NoMatch,
        Ok(state) if state.is_quit() => MatchState::NeedsWholeLine,
        Ok(state) => MatchState::Undecided(*state),
        // The DFA gives up only if it is configured to give up, which it is not.
        Err(_) => MatchState::NeedsWholeLine,
    }
}

/// Compiles the slower engine, without the parts whose memory grows.
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
    format!("it becomes too large when it is compiled ({why})")
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

/// Whether a pattern contains a line break, which no line has.
fn contains_line_break(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Repetition(repeated) => contains_line_break(&repeated.sub),
        HirKind::Capture(group) => contains_line_break(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(contains_line_break),
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

/// The letters in a pattern.
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

    /// Whether a line that is read in pieces of this size matches.
    fn matches(pattern: &mut Pattern, line: &[u8], piece: usize) -> bool {
        let watch = Watch::new(CALL_TIME_MAX);
        let mut line_state = pattern.begin_line();
        for bytes in line.chunks(piece) {
            line_state = pattern.read(line_state, bytes, &watch).unwrap().0;
        }
        match pattern.end_line(line_state) {
            MatchState::Match => true,
            MatchState::NoMatch => false,
            MatchState::Undecided(_) => panic!("the end of a line decides its state"),
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
    fn a_line_matches_for_every_size_of_its_pieces() {
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
    fn upper_and_lower_case_differ_as_requested() {
        check("word", Case::Smart, &["word", "Word"], &[]);
        check("Word", Case::Smart, &["Word"], &["word"]);
        check("[A-Z]x", Case::Smart, &["Ax"], &["ax"]);
        check(r"\Sx", Case::Smart, &["aX", "ax"], &[]);
        check(r"\p{Lu}", Case::Smart, &["A"], &["a"]);
        check("word", Case::Sensitive, &["word"], &["Word"]);
        check("WORD", Case::Insensitive, &["word", "Word"], &[]);
    }

    #[test]
    fn word_boundaries_follow_unicode() {
        check(r"\bvia\b", Case::Smart, &["via", "é via ü", "数 via"], &["viaé", "évia", "naïvia"]);
        check(r"\bé", Case::Smart, &["é", "a é"], &["aé", "ae"]);
    }

    #[test]
    fn a_pattern_with_a_line_break_is_refused() {
        for pattern in ["a\nb", r"a\nb", r"(x|ab\n)+", r"[\n]"] {
            let why = Pattern::compile(pattern, Case::Smart).err().expect("the pattern is refused");
            assert!(why.contains("it contains a line break"), "{why}");
        }
        check(r"a\sb|[^x]y", Case::Smart, &["a b", "zy"], &["xy"]);
    }

    #[test]
    fn a_pattern_with_many_states_checks_the_time_often_enough() {
        let mut pattern = Pattern::compile("[ab]{1,1000}[abc]{1,1000}z", Case::Smart).unwrap();
        let over = Watch::new(std::time::Duration::ZERO);
        let line_state = pattern.begin_line();
        assert!(pattern.read(line_state, b"ab", &over).is_err());
    }
    #[test]
    fn the_states_of_a_pattern_stay_within_their_memory_limit() {
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
