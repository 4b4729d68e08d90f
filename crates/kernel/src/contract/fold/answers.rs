//! What an answer changes: the money, the next request, the report. Nothing here decides.

use super::{Law, Moves, fits, law};
use crate::ask::{Answer, Ask, Cost, Cut, Matter, Origin, OwnSize, Request, Said, Turn};
use crate::brief::Brief;
use crate::contract::state::{AnsweredApproval, FinalText, OwnDraw, Part, Placing};
use crate::contract::{CONTINUATIONS_MAX, Contract, LOSSES_MAX, NOTICE_BYTES_MAX};
use crate::input::Need;
use crate::money::{Heads, Msat, Quantity};
use crate::path::AskId;
use crate::report::{Report, Wording};

impl Contract {
    pub(super) fn fold_answered(&mut self, id: AskId, answer: &Answer, cost: Cost) -> Law {
        let open = self.open.remove(&id).ok_or("an answer needs an open ask")?;
        self.count_moving(&open, Moves::Ends);
        self.own_draw = self.own_draw.without_refusal();
        law(fits(&open.ask, answer, &self.phase), "an answer is of a kind that its ask can have")?;
        let claimed = answer.report().is_none_or(|report| cost == Cost::Known(report.spent));
        law(claimed, "the cost of a hire is the spending in its report")?;
        law(
            answer.report().is_none_or(Report::adds_up),
            "the fee and the uncertain parts of a report are within its spending",
        )?;
        let heads = match answer.report() {
            Some(report) => Heads(report.heads.0.saturating_add(1)).min(open.hold.heads),
            None => Heads::ZERO,
        };
        let charge = cost.within(open.hold.money);
        self.purse = self.purse.settle(open.hold.money, charge).ok_or("an open ask holds its ceiling")?;
        self.heads = self.heads.settle(open.hold.heads, heads).ok_or("an open hire holds its heads")?;
        self.uncertain = self.uncertain.add(answer, cost, charge).ok_or("no sum exceeds the supply of bitcoin")?;
        self.pauses -= u32::from(open.pauses);
        match &open.ask {
            Ask::Model(request) => self.fold_reply(id, request, open.hold.money, charge, answer)?,
            Ask::Tool(_) => {
                self.unread = true;
                self.fold_text(answer);
                self.newest_text = answer.text().unwrap_or(self.newest_text);
            }
            Ask::Hire { brief, .. } => {
                let (ordinal, before) = (brief.path.ordinal(), self.view.total());
                self.live.remove(&ordinal);
                self.drawers.remove(&ordinal);
                self.owed.push(id);
                self.unread = true;
                self.fold_report_text(brief, answer);
                // If a hire found nothing, its report's text is its own task, which is not a result.
                let found =
                    answer.report().map(|report| report.text).filter(|text| *text != Wording::Assembled(brief.task));
                self.newest_text = found.map_or(self.newest_text, |found| found.text());
                // A model is shown a report with its output and its task.
                let output = answer.report().and_then(|report| report.output).map_or(0, |output| output.bytes);
                self.view.add(u64::from(output) + u64::from(brief.task.bytes) + NOTICE_BYTES_MAX);
                self.learned.report(charge, self.view.total().saturating_sub(before));
                self.fold_no_longer_awaited(ordinal);
            }
            Ask::Check(_) => {
                self.round.open -= 1;
                self.round.failed |= *answer != Answer::Passed;
                self.fold_text(answer);
            }
            Ask::Question { matter, .. } => {
                self.questions.retain(|question| *question != id);
                self.unread = true;
                self.fold_text(answer);
                if let (Matter::Approval(tool), Origin::Call(call)) = (matter, open.origin) {
                    let approved = (*answer == Answer::Approved).then(|| tool.clone());
                    self.answered_approval = Some(Box::new(AnsweredApproval { call, approved }));
                }
            }
            Ask::Draw { .. } => {
                let refused = self.own_draw.open().filter(|_| *answer == Answer::NotMet);
                self.own_draw = refused.map_or(OwnDraw::None, |draw| OwnDraw::Refused(draw.wanted));
            }
            Ask::Tell { .. } if open.pauses => {
                self.unread = true;
                self.view.add(NOTICE_BYTES_MAX);
            }
            Ask::Tell { .. } => {}
        }
        Ok(())
    }

    fn fold_reply(&mut self, id: AskId, request: &Request, hold: Msat, charge: Msat, answer: &Answer) -> Law {
        if request.turn == Turn::Last {
            // The unspent part of the severance is held again: it must not pay for anything else.
            let rest = hold.minus(charge).ok_or("the charge is at most the hold")?;
            self.severance = rest.min(self.brief.severance);
            self.purse = self.purse.hold(self.severance).ok_or("the rest of the severance is available")?;
        }
        if let Answer::Said(said) = answer {
            return self.fold_said(id, said);
        }
        self.unread = true;
        // A last request that needs more tokens than are left is not sent. A smaller one is made.
        if request.turn == Turn::Last && charge == Msat::ZERO && self.exceeds_tokens_left(request.tokens) {
            self.request = None;
        }
        // The request for the rest of a cut reply is lost, but not what came before.
        if let Some(part) = &self.part {
            self.final_text = Some(Box::new(part.text));
        }
        // The question about the final text is lost, but not the text.
        if self.to_confirm.is_some() {
            self.final_text.clone_from(&self.to_confirm);
        }
        // The model did not see this request, so the reports in it are owed again.
        self.owed.splice(0..0, request.hears.iter().copied());
        self.losses += u32::from(*answer == Answer::Lost);
        self.model_failed |= matches!(answer, Answer::Failed(_)) || self.losses >= LOSSES_MAX;
        if let (Answer::Failed(why), true) = (answer, self.newest_text == self.brief.task) {
            self.newest_text = *why;
        }
        Ok(())
    }

    fn fold_said(&mut self, id: AskId, said: &Said) -> Law {
        let last = self.request.is_some_and(|request| request.last);
        let came_meanwhile = self.unread;
        if let (Some(tokens), Some(request)) = (said.input_tokens, &mut self.request) {
            self.view.tokens = tokens;
            request.tokens = tokens;
        }
        if let Some(request) = &mut self.request {
            let tokens = said.size.input_tokens().saturating_add(u64::from(said.calls) * NOTICE_BYTES_MAX);
            request.reply = u32::try_from(tokens).unwrap_or(u32::MAX);
        }
        self.view.add(said.size.input_tokens());
        self.losses = 0;
        self.newest_text = said.words.unwrap_or(self.newest_text);
        self.free_before = self.purse.available();
        // A last reply does not continue the cut reply before it. If it has no words, the text so far is kept.
        let before = if last { None } else { self.part.take() };
        if said.words.is_some() {
            self.part = None;
        }
        // The parts of one reply are one turn.
        self.turns += u32::from(before.is_none());
        let size = before.as_ref().map_or(said.size, |part| part.text.size.joined(said.size));
        let length = if size.tokens > 0 { size.tokens } else { size.bytes.min(self.brief.tariff.max_tokens) };
        self.longest_reply = self.longest_reply.max(length);
        let final_words = said.words.filter(|_| said.calls == 0 || last);
        let cut = said.cut.filter(|_| said.calls == 0 || last);
        let text = final_words.map(|text| FinalText {
            text,
            output: said.output,
            undone: said.undone,
            is_answer: self.to_confirm.is_some(),
            cut: cut.is_some(),
            size,
        });
        let continued = before.as_ref().map_or(0, |part| part.continued + 1);
        let news_before = before.is_some_and(|part| part.has_news);
        if let (Some(text), Some(Cut::MaxTokens), false) = (text, cut, last)
            && continued < CONTINUATIONS_MAX
        {
            self.unread = true;
            self.view.add(NOTICE_BYTES_MAX);
            let (view, has_news) = (self.view.total(), news_before || came_meanwhile);
            self.part = Some(Box::new(Part { text, continued, view, has_news }));
        } else if news_before && !last {
            self.unread = true;
            self.view.add(NOTICE_BYTES_MAX);
        }
        self.final_text = text.map(Box::new);
        self.placing = (said.calls > 0).then_some(Placing { reply: id, next: 0, calls: said.calls });
        if said.confirms {
            law(said.words.is_none() && said.calls == 0, "a reply that confirms a text says and calls nothing else")?;
            let text = self.to_confirm.take().ok_or("a reply confirms only a text about which the agent was asked")?;
            self.final_text = Some(Box::new(FinalText { undone: None, ..*text }));
        } else if said.words.is_some() || said.calls > 0 {
            self.to_confirm = None;
        }
        Ok(())
    }

    /// Adds the text of a report to the size of the next request.
    fn fold_report_text(&mut self, hire: &Brief, answer: &Answer) {
        let Some(report) = answer.report() else { return };
        let tokens = if hire.same_model { report.tokens } else { 0 };
        self.view.add(OwnSize { bytes: report.text.text().bytes, tokens }.input_tokens());
    }

    /// Notes that a hire has reported or was refused: nothing waits for it any more.
    pub(super) fn fold_no_longer_awaited(&mut self, ordinal: u32) {
        for wait in &mut self.waits {
            if wait.on.remove(&ordinal) {
                wait.ready |= wait.need == Need::Any || wait.on.is_empty();
            }
        }
    }

    /// Adds an answer's text to the size of the next request.
    fn fold_text(&mut self, answer: &Answer) {
        self.view.add(answer.text().map_or(NOTICE_BYTES_MAX, |text| u64::from(text.bytes)));
    }
}
