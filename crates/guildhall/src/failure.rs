//! Why work failed, in a text for a person.

use std::collections::BTreeSet;

use guildhall_agent::{Reply, Stop, TextError, stored_reply};
use guildhall_kernel::{Answer, Ask, AskId, Fact, Outcome, Path, Said, Stored};
use guildhall_local::Journal;

use crate::faults::Faults;
use crate::stored::stored_text;

/// The model gave an empty reply, was asked again, and gave another empty reply.
const EMPTY_REPLY: &str = "the model gave an empty reply, and another one when it was asked again";

/// The replies of the model did not arrive, and the journal has no reason.
const LOST: &str = "the model was called several times, but no complete reply arrived";

/// Returns why a contract's newest model call failed, if it failed. The journal has no reason for a call that was cut off at a
/// deadline; `faults` may have one.
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
        Answer::Said(said) if failed && said.words.is_none() => why_empty(journal, said).await.map(Some),
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
        | Answer::Met
        | Answer::NotMet
        | Answer::Delivered
        | Answer::Gone => Ok(None),
    }
}

/// The newest answer of the model, with its ask.
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

async fn why_empty(journal: &Journal, said: &Said) -> Result<String, TextError> {
    let Reply { stop, .. } = stored_reply(&said.reply, &stored_text(journal, said.reply).await?)?;
    Ok(match stop {
        Stop::End | Stop::Calls => EMPTY_REPLY.to_owned(),
        Stop::Length => format!("{EMPTY_REPLY}: it reached its limit of output tokens before the first word"),
        Stop::Window => format!("{EMPTY_REPLY}: its context window was full before the first word"),
        Stop::Refusal => format!("{EMPTY_REPLY}: its provider blocked the reply"),
    })
}
