//! What a person types while work runs: messages, commands, and the commands that end a root of the conversation and open the next.

use std::ops::ControlFlow;
use std::pin::Pin;

use guildhall::kernel::Msat;
use guildhall::{Ended, Ending, HallError, Running};

use super::{NOT_TEXT, TOO_LONG, Watch, Work};
use crate::amount::sats;
use crate::exit::{Failure, Interrupted};
use crate::print::{WARN, count, note, say, say_in};
use crate::screen;
use crate::signals::Signals;
use crate::switch::{First, Keeps, Switch, first, left, next_root, say_model};
use crate::talk::{Command, HELP, Readiness, Talk, Typed, unknown};
use crate::unknown_model;

impl Work {
    /// Handles what the person typed.
    pub(super) async fn handle(&mut self, typed: Typed) -> Result<(), Failure> {
        let Some(talk) = &mut self.talk else { return Ok(()) };
        let typed = match (talk.asked.take(), typed) {
            (None, typed) => typed,
            (Some(switch), Typed::Words(words)) if is_yes(&words) => {
                return self.end_root(switch, Ending::Cancel).await;
            }
            (Some(_), Typed::Words(words)) if is_no(&words) => {
                note("nothing was changed");
                talk.lines.invite();
                return Ok(());
            }
            // Another line is no answer, and is not lost.
            (Some(_), typed) => {
                note("nothing was changed");
                typed
            }
        };
        match typed {
            Typed::Words(words) => match self.running.say(&words).await {
                Ok(number) => talk.sent(number),
                Err(why @ (HallError::NotAtWork { .. } | HallError::Refused(_))) => {
                    say_in(WARN, &format!("message not sent: {why}"));
                }
                Err(why) => return Err(why.into()),
            },
            Typed::Command(command) => {
                if let Some(switch) = self.answer(command) {
                    return self.switch(switch).await;
                }
                self.talk.iter().for_each(|talk| talk.lines.invite());
                return Ok(());
            }
            Typed::TooLong => say_in(WARN, TOO_LONG),
            Typed::NotText => say_in(WARN, NOT_TEXT),
            Typed::Unreadable(why) => {
                say_in(WARN, &format!("can't read stdin: {why}. The conversation ends"));
                talk.over();
            }
            Typed::Over => talk.over(),
        }
        self.check_speaker().await
    }

    /// Answers a command, which is not sent to the agent and costs nothing. Returns how the conversation goes on, if the command
    /// changes that.
    fn answer(&self, command: Command) -> Option<Switch> {
        match command {
            Command::Help => say(HELP),
            Command::Cost => say(&self.live.cost()),
            Command::Agents => self.live.at_work().iter().for_each(|agent| say(agent)),
            Command::Model(None) => say_model(self.running.model()),
            Command::Model(Some(typed)) => match self.talk.as_ref()?.permissions.check(self.hall.models(), &typed) {
                Ok(_) => return Some(Switch::to_model(typed)),
                Err(why) => say_in(WARN, &why.to_string()),
            },
            Command::Clear => return Some(Switch::clear()),
            Command::Unknown(typed) => unknown(&typed),
        }
        None
    }

    /// Ends the root, so that the conversation can go on with another one. If that ends hires, the person is asked.
    async fn switch(&mut self, switch: Switch) -> Result<(), Failure> {
        let Some(talk) = &mut self.talk else { return Ok(()) };
        match talk.readiness() {
            Readiness::Ready => return self.end_root(switch, Ending::WrapUp).await,
            Readiness::EndsHires(hires) => {
                let (hires, end) = (count(hires, "hire"), if hires == 1 { "ends" } else { "end" });
                say_in(WARN, &format!("{hires} at work {end} then, without a report. Go on? [y/N]"));
                talk.asked = Some(switch);
            }
            Readiness::AgentAtWork => {
                say_in(WARN, "the agent is at work: type this again after its reply. Ctrl-C asks for a last report");
            }
        }
        talk.lines.invite();
        Ok(())
    }

    async fn end_root(&mut self, switch: Switch, how: Ending) -> Result<(), Failure> {
        if let Some(talk) = &mut self.talk {
            talk.switched(switch);
        }
        Ok(self.running.end(how).await?)
    }

    /// Opens the next root of the conversation with the person's next message. If there is none, the work is over and is returned.
    pub(super) async fn go_on(
        mut self,
        ended: Ended,
        mut switch: Switch,
        mut signals: Signals,
    ) -> Result<ControlFlow<(Box<Work>, Box<Ended>), Watch>, Failure> {
        let text = self.talk.as_mut().and_then(Talk::rest);
        self.print_reply(text).await?;
        screen::clear();
        tell(&ended, &switch);
        let running = loop {
            let Some(talk) = &mut self.talk else { return Ok(ControlFlow::Break((Box::new(self), Box::new(ended)))) };
            let model = switch.model.clone().unwrap_or_else(|| ended.setup.staffing.model().to_owned());
            let typed = tokio::select! {
                typed = first(&mut talk.lines, &talk.permissions, self.hall.models(), &model) => typed?,
                () = signals.any() => {
                    self.interrupted = Interrupted::Yes;
                    First::Over
                }
            };
            match typed {
                First::Switch(next) => switch = switch.then(next),
                First::Over => return Ok(ControlFlow::Break((Box::new(self), Box::new(ended)))),
                First::Message(words) => match self.start(&ended, &switch, words).await {
                    Ok(running) => break running,
                    // Refused work has stored nothing, so the person can choose another model.
                    Err(why @ (HallError::Refused(_) | HallError::Models(_))) => {
                        say_in(WARN, &unknown_model::failure(self.hall.models(), why).to_string());
                    }
                    Err(why) => return Err(why.into()),
                },
            }
        };
        let charges = self.live.charges();
        let talk = self.talk.take().map(|talk| Talk::new(talk.lines, talk.permissions));
        let mut watch = Watch::new(self.hall, running, self.args, signals).await?.with(talk);
        watch.work.live = watch.work.live.after_roots(charges);
        watch.work.write_error = self.write_error;
        Ok(ControlFlow::Continue(watch))
    }

    async fn start(&self, ended: &Ended, switch: &Switch, words: String) -> Result<Running, HallError> {
        let work = next_root(&self.hall, ended, switch, words).await?;
        let starting: Pin<Box<dyn Future<Output = _>>> = Box::pin(work.start());
        starting.await
    }
}

/// Says how the conversation goes on.
fn tell(ended: &Ended, switch: &Switch) {
    let left = left(ended);
    let money = if left == Msat::ZERO { "no money is left".to_owned() } else { format!("{} are left", sats(left)) };
    let conversation = match switch.keeps {
        Keeps::Conversation => "the conversation goes on",
        Keeps::Nothing => "the agent starts anew, without the conversation so far",
    };
    let model = switch.model.as_ref().map_or_else(String::new, |model| format!(" with {model}"));
    note(&format!("{conversation}{model}; {money}"));
}

fn is_yes(words: &str) -> bool {
    ["y", "yes"].contains(&words.to_ascii_lowercase().as_str())
}

fn is_no(words: &str) -> bool {
    ["n", "no"].contains(&words.to_ascii_lowercase().as_str())
}
