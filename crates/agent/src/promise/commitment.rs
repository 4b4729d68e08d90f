//! What a speaker commits itself to in a sentence: "I'll", "let me" or "I'm" with a verb of hiring and, mostly, whom.

use super::prose::Sentence;
use super::target::{Names, Target, past};
use super::verbs::{
    AM, BETWEEN, CONDITION, ELSEWHERE, FINDS_OUT, FINITE, IF_YOU, OBLIGED, OPENERS, PROGRAM, RELATIVE, TOWARD, Takes,
    VERBS, WILL,
};

/// How far after a verb somebody may receive something, in tokens.
const RECEIVES_WITHIN: usize = 24;

/// The form in which a verb is expected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Ing,
}

/// A verb that was found.
#[derive(Clone, Copy)]
struct Verb {
    at: usize,
    /// The token after it.
    end: usize,
    takes: Takes,
}

/// Returns whom a sentence promises to hire, once per promise.
pub(super) fn commitments(sentence: &Sentence, names: &Names) -> Vec<Target> {
    let tokens = &sentence.tokens[..];
    if sentence.is_question {
        return Vec::new();
    }
    let opening = opening_verb(tokens).into_iter();
    let verbs = opening.chain((0..tokens.len()).flat_map(|at| committed(tokens, at)));
    verbs.filter_map(|verb| whom(tokens, verb, names).filter(|_| !is_conditional(tokens, verb))).collect()
}

/// A verb with -ing at the beginning: "Delegating to x now", but not "Delegating is good".
fn opening_verb(tokens: &[String]) -> Option<Verb> {
    let at = past(tokens, 0, OPENERS);
    let verb = verb(tokens, at, Form::Ing)?;
    let mut before = "";
    for token in tokens.get(verb.end..).unwrap_or_default() {
        if FINITE.contains(&token.as_str()) && !RELATIVE.contains(&before) {
            return None;
        }
        before = token;
    }
    Some(verb)
}

/// The verbs of hiring in what the speaker says about itself from here on.
fn committed(tokens: &[String], at: usize) -> Vec<Verb> {
    let plain = WILL.iter().filter_map(|will| phrase(tokens, at, will)).max().map(|end| (end, Form::Plain));
    let ing = AM.iter().filter_map(|am| phrase(tokens, at, am)).max().map(|end| (end, Form::Ing));
    [plain, ing].into_iter().flatten().flat_map(|(end, form)| verbs_after(tokens, end, form)).collect()
}

/// The verbs that are joined to a commitment: "I'll look at it and then ask".
fn verbs_after(tokens: &[String], end: usize, form: Form) -> Vec<Verb> {
    let rest = tokens.get(end..).unwrap_or_default();
    let own = rest.iter().take_while(|token| !ELSEWHERE.contains(&token.as_str())).count();
    let joins = (end..end + own).filter(|at| matches!(tokens[*at].as_str(), "and" | "then" | "," | "by"));
    let joined = joins.filter_map(|at| {
        let form = if tokens[at] == "by" { Form::Ing } else { form };
        verb_here(tokens, at + 1, form)
    });
    verb_here(tokens, end, form).into_iter().chain(joined).collect()
}

/// A verb here, or after words that may stand before it.
fn verb_here(tokens: &[String], at: usize, form: Form) -> Option<Verb> {
    let mut at = at;
    loop {
        if let Some(end) = OBLIGED.iter().find_map(|obliged| phrase(tokens, at, obliged)) {
            at = end;
        } else if let Some(verb) = verb(tokens, at, form).filter(|verb| !is_start_by(tokens, *verb)) {
            return Some(verb);
        } else if tokens.get(at).is_some_and(|token| BETWEEN.contains(&token.as_str())) {
            let by = tokens[at] == "by" || (tokens[at] == "with" && form == Form::Plain);
            if by {
                return verb_here(tokens, at + 1, Form::Ing);
            }
            at += 1;
        } else {
            return None;
        }
    }
}

/// "Start by asking": the verb is yet to come.
fn is_start_by(tokens: &[String], verb: Verb) -> bool {
    tokens[verb.at].starts_with("start") && tokens.get(verb.end).is_some_and(|next| next == "by" || next == "with")
}

fn verb(tokens: &[String], at: usize, form: Form) -> Option<Verb> {
    VERBS.iter().find_map(|(plain, ing, takes)| {
        let end = phrase(tokens, at, if form == Form::Ing { ing } else { plain })?;
        Some(Verb { at, end, takes: *takes })
    })
}

/// Where a phrase that begins here ends. Other words may stand between its words, as in "I'm now going to".
fn phrase(tokens: &[String], at: usize, phrase: &str) -> Option<usize> {
    let mut words = phrase.split(' ');
    let first = words.next()?;
    let mut at = tokens.get(at).filter(|token| *token == first).map(|_| at + 1)?;
    for word in words {
        let skip = past(tokens, at, &["now", "just", "also", "then", "currently", "first"]);
        at = tokens.get(skip).filter(|token| *token == word).map(|_| skip + 1)?;
    }
    Some(at)
}

/// Whom the verb is about; nobody in particular if it needs nobody.
fn whom(tokens: &[String], verb: Verb, names: &Names) -> Option<Target> {
    let next = || target_at(tokens, past(tokens, verb.end, &[","]), names);
    let target = match verb.takes {
        Takes::Nothing => {
            return receivers(tokens, verb, names).or_else(next).or_else(|| unnamed(tokens, verb));
        }
        Takes::Whom => next(),
        Takes::Doer => next().filter(|target| {
            // Letting somebody know is no hire.
            !target.is_bare && tokens.get(target.end).is_some_and(|does| does != "know")
        }),
        Takes::Mover => next().filter(|target| !target.is_bare).filter(|target| {
            let moves = ["to", "on", "started", "working", "going", "involved", "in"];
            tokens.get(target.end).is_some_and(|token| moves.contains(&token.as_str()))
        }),
        Takes::Receiver => receivers(tokens, verb, names).or_else(|| next().filter(|target| !target.is_bare)),
        Takes::Place => receivers(tokens, verb, names),
    };
    target.filter(|target| target.is_own)
}

fn target_at(tokens: &[String], at: usize, names: &Names) -> Option<Target> {
    let target = names.target(tokens.get(at..)?)?;
    Some(Target { end: target.end + at, ..target })
}

/// Those after "to" or the like, all of them: "flights to x and food to y".
fn receivers(tokens: &[String], verb: Verb, names: &Names) -> Option<Target> {
    let end = tokens.len().min(verb.end + RECEIVES_WITHIN);
    let toward = (verb.end..end).filter(|at| TOWARD.contains(&tokens[*at].as_str()));
    let mut targets = toward.filter_map(|at| target_at(tokens, past(tokens, at + 1, &[","]), names));
    let mut all = targets.next()?;
    all.named.extend(targets.flat_map(|target| target.named));
    let object = tokens.get(verb.end..all.end).unwrap_or_default();
    let is_program = object.iter().any(|token| PROGRAM.contains(&token.as_str()));
    (!all.named.is_empty() || !is_program).then_some(all)
}

/// Delegating to nobody whom we know. But programs delegate, too, and a user may be left with something.
fn unnamed(tokens: &[String], verb: Verb) -> Option<Target> {
    let rest = tokens.get(verb.end..).unwrap_or_default();
    let is_program = rest.iter().any(|token| PROGRAM.contains(&token.as_str()));
    let mut object = rest.iter().map(String::as_str).take_while(|token| !matches!(*token, "and" | ","));
    let is_user = object.any(|token| matches!(token, "you" | "your" | "user" | "users"));
    (!is_user && !is_program).then_some(Target { end: verb.end, ..Target::default() })
}

/// Whether it depends on something that has not happened.
fn is_conditional(tokens: &[String], verb: Verb) -> bool {
    let depends = |at: usize| IF_YOU.iter().any(|words| phrase(tokens, at, words).is_some());
    // "Let me know" promises nothing; what follows it does, on a condition.
    (0..tokens.len()).any(depends) || (0..tokens.len()).any(|at| is_condition(tokens, at, verb))
}

/// Whether an "if" or "whether" is a condition of the verb, not what somebody is to find out.
fn is_condition(tokens: &[String], at: usize, verb: Verb) -> bool {
    let is = |token: &str| tokens[at] == token;
    if at <= verb.at {
        return is("if") || is("whether") || is("suppose");
    }
    let before = tokens[at - 1].as_str();
    let after = tokens.get(at + 1).map(String::as_str).unwrap_or_default();
    let asked = FINDS_OUT.contains(&before) || FINDS_OUT.contains(&tokens[verb.at].as_str());
    is("if") && (CONDITION.contains(&after) || !asked)
}
