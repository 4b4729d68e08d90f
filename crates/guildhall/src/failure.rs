//! Why work failed, for a person: what its model did wrong, also where that was to say nothing at all.

use std::collections::BTreeSet;

use guildhall_agent::{Reply, Stop, TextError, stored_reply};
use guildhall_kernel::{Answer, Ask, AskId, Fact, Outcome, Path, Said, Stored};
use guildhall_local::Journal;

use crate::faults::Faults;
use crate::stored::stored_text;

/// What is said of a model that was told that it had said nothing, and said nothing again.
const SAID_NOTHING: &str = "the model said nothing, although it was told so";

/// What is said of a model whose answers did not come, where nobody knows more.
const LOST: &str = "the model's answers were lost, again and again";

/// Says why a contract's newest model call came to nothing, if it did. Where the journal does not say it, `faults` may: a call
/// that was cut off at a deadline has no other reason there.
pub(crate) async fn failure(
    journal: &Journal,
    facts: &[Stored],
    contract: &Path,
    faults: &Faults,
) -> Result<Option<String>, TextError> {
    let of_contract = || facts.iter().filter(|stored| stored.contract == *contract).map(|stored| &stored.fact);
    let failed = of_contract().any(|fact| matches!(fact, Fact::Closed(report) if report.outcome == Outcome::Failed));
    let Some((ask, newest)) = newest_answer(of_contract()) else { return Ok(None) };
    match newest {
        Answer::Failed(error) => stored_text(journal, *error).await.map(Some),
        Answer::Said(said) if failed && said.words.is_none() => said_nothing(journal, said).await.map(Some),
        Answer::Lost => Ok(faults.of(contract, ask).or_else(|| failed.then(|| LOST.to_owned()))),
        Answer::Said(_)
        | Answer::Aborted
        | Answer::Result(_)
        | Answer::Report(_)
        | Answer::Passed
        | Answer::FailedCheck(_)
        | Answer::Text(_)
        | Answer::Approved
        | Answer::Denied
        | Answer::NoReply
        | Answer::Delivered
        | Answer::Gone => Ok(None),
    }
}

/// What a model answered last, and to what.
fn newest_answer<'a>(facts: impl Iterator<Item = &'a Fact>) -> Option<(AskId, &'a Answer)> {
    let mut asked: BTreeSet<AskId> = BTreeSet::new();
    let mut newest = None;
    for fact in facts {
        if let Fact::Asked { id, ask: Ask::Model(_), .. } = fact {
            asked.insert(*id);
        }
        if let Fact::Answered { id, answer, .. } = fact
            && asked.contains(id)
        {
            newest = Some((*id, answer));
        }
    }
    newest
}

async fn said_nothing(journal: &Journal, said: &Said) -> Result<String, TextError> {
    let Reply { stop, .. } = stored_reply(&said.reply, &stored_text(journal, said.reply).await?)?;
    Ok(match stop {
        Stop::End | Stop::Calls => SAID_NOTHING.to_owned(),
        Stop::Length => format!("{SAID_NOTHING}: its reply reached the longest that it may be before the first word"),
        Stop::Refusal => format!("{SAID_NOTHING}: its provider held the reply back"),
    })
}
