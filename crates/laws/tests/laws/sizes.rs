//! The sizes of texts in later requests: what a model wrote counts by its tokens, everything else by its bytes.

use guildhall_kernel::{
    Answer, AskId, Brief, CALLS_MAX, CloseWhen, Context, Fact, Mode, OwnSize, Report, Stimulus, TextKind, TextRef,
    Wording,
};
use guildhall_laws::Law;

use crate::journal::{
    Journal, call, hire, hold_of, known, msat, owner, refused, report, request_of, root, said, said_of, text,
};
use crate::scenes;

/// A conversation whose second request has this many tokens. 400 tokens were reported for the first one; the change adds
/// texts.
fn shows(tokens: u64, change: impl FnOnce(&mut Journal)) -> Journal {
    let mut j = Journal::new();
    j.open(&Brief { close_when: CloseWhen::Asked, ..root() }).request(&[]);
    j.answer("1", 1, said(1, 0), known(10_000));
    change(&mut j);
    j.request(&[]);
    let last = j.stored.len();
    j.with(last, |s| request_of(s).tokens = tokens).with(last, |s| {
        hold_of(s).money = msat(tokens * 3 + 15_000);
    })
}

/// Asserts that the request needs at least this many tokens.
#[track_caller]
fn needs(tokens: u64, change: impl Fn(&mut Journal)) {
    shows(tokens, &change).is_lawful_so_far();
    let least = format!("pays for {} tokens, but shows at least {tokens}", tokens - 1);
    shows(tokens - 1, &change).breaks(Law::Holds, &least);
}

fn with_size(bytes: u32, tokens: u32) -> impl Fn(&mut Journal) {
    move |j| said_of(&mut j.stored[2]).size = OwnSize { bytes, tokens }
}

#[test]
fn a_reply_counts_by_its_tokens_and_a_quarter_and_never_above_its_bytes() {
    needs(400 + 10, |_| ());
    needs(400 + 4000, with_size(4000, 0));
    needs(400 + 1250, with_size(4000, 1000));
    needs(400 + 1252, with_size(4000, 1001));
    needs(400 + 4000, with_size(4000, 3999));
}

#[test]
fn a_message_counts_by_its_bytes() {
    needs(400 + 10 + 77, |j| {
        let words = TextRef { bytes: 77, ..text(TextKind::Message, 9) };
        j.hear("1", owner(1), Stimulus::Message(words));
    });
}

/// A root whose request includes the report of a hire: 4000 bytes of text in 1000 tokens, and 50 bytes of output.
fn reports(same_model: bool, tokens: u64) -> Journal {
    let scout = Brief { same_model, ..hire(&root(), 1, "scout") };
    let words = TextRef { bytes: 4000, ..text(TextKind::Words, 5) };
    let output = TextRef { bytes: 50, ..text(TextKind::Output, 5) };
    let done = report(guildhall_kernel::Outcome::Done, 5, 2_500_000, 10_100);
    let done = Report { fee: msat(100), tokens: 1000, text: Wording::Final(words), output: Some(output), ..done };
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, 1), known(10_000)).hire(&scout, Mode::Blocking, call(1, 0));
    j.open(&scout).request(&[]);
    j.answer("1.1", 1, said(5, 0), known(10_000)).close(done.clone());
    j.answer("1", 2, Answer::Report(Box::new(done)), known(10_100)).request(&[2]);
    let change = |s: &mut guildhall_kernel::Stored| {
        let said = said_of(s);
        (said.words, said.output, said.size.tokens) = (Some(words), Some(output), 1000);
    };
    let last = j.stored.len();
    j.with(7, change).with(last, |s| request_of(s).tokens = tokens).with(last, |s| {
        hold_of(s).money = msat(tokens * 3 + 15_000);
    })
}

#[test]
fn a_report_counts_by_its_tokens_only_for_the_same_model() {
    // 400 tokens were reported; the reply and the task have 10 bytes, the output 50, the notice 256.
    let rest = 400 + 10 + 10 + 50 + 256;
    reports(true, rest + 1250).is_lawful_so_far();
    reports(true, rest + 1249).breaks(Law::Holds, "pays for 1975 tokens, but shows at least 1976");
    reports(false, rest + 4000).is_lawful_so_far();
    reports(false, rest + 3999).breaks(Law::Holds, "pays for 4725 tokens, but shows at least 4726");
}

/// A fork of the root with this many tokens of context, by a reply with this many calls.
fn forks(calls: u32, tokens: u64) -> Journal {
    let fork = Brief {
        agent: root().agent,
        context: Context::Fork { request: AskId(1), upto: 1, tokens },
        ..hire(&root(), 1, "scout")
    };
    let mut j = Journal::new();
    j.open(&root()).request(&[]);
    j.answer("1", 1, said(1, calls), known(10_000)).hire(&fork, Mode::Background, call(1, 0));
    for index in 1..calls.min(CALLS_MAX) {
        j.fact(refused(guildhall_kernel::Refusal::UnknownTool, call(1, index)));
    }
    j
}

#[test]
fn a_fork_pays_for_the_request_the_reply_and_a_notice_for_each_call() {
    forks(1, 400 + 10 + 256).is_lawful_so_far();
    forks(1, 400 + 10 + 255).breaks(Law::Holds, "the fork counts 665 tokens, but its prefix has at least 666");
    forks(3, 400 + 10 + 3 * 256).is_lawful_so_far();
    forks(3, 400 + 10 + 3 * 256 - 1).breaks(Law::Holds, "but its prefix has at least 1178");
}

#[test]
fn the_next_request_pays_for_the_texts_of_refusals() {
    // The request pays for 1000 tokens. 400 were reported; the reply, the result, the report and its task have 10 bytes
    // each, and the notice 256.
    let shows = |bytes: u32| {
        let change = |nth: usize, bytes: u32, j: Journal| {
            j.with(nth, |s| {
                let Fact::Refused { bytes: size, .. } = &mut s.fact else { panic!("a refusal") };
                *size = bytes;
            })
        };
        change(14, 1, change(8, bytes, scenes::calls()))
    };
    shows(303).is_lawful();
    shows(304).breaks(Law::Holds, "pays for 1000 tokens, but shows at least 1001");
}
