//! The messages that drivers receive, and how a driver acknowledges a message after handling it.

use guildhall_agent::Arrival;
use guildhall_kernel::{Answer, AskId, Cost, Input, Msat};
use tokio::sync::{mpsc, oneshot};

use super::EngineError;
use super::money::MoneySource;

/// The sender of a driver's messages. A message is boxed: a channel reserves room for 32 of them, and most drivers get only a
/// few.
pub(super) type Sender = mpsc::UnboundedSender<Box<DriverMessage>>;

/// A message to a driver.
pub(super) enum DriverMessage {
    Delivery(Delivery),
    /// A hire of the contract could not be run.
    Failed(EngineError),
    /// Someone waits until all messages before this one are handled.
    Handled(oneshot::Sender<()>),
}

/// An input for a contract, and who is waiting for it to be handled.
pub(super) struct Delivery {
    pub(super) arrival: Arrival,
    pub(super) acknowledge: Acknowledge,
}

/// Who gets an acknowledgement after the message was handled. It is sent after the facts of the message are durable.
/// Otherwise a crash could keep the acknowledgement and lose the facts.
pub(super) enum Acknowledge {
    NotNeeded,
    /// An order in the inbox. It is marked as done.
    Order {
        number: u64,
        /// Where the money comes from, if the order is a top-up.
        source: MoneySource,
    },
    /// The contract whose ask this message is. It receives an answer.
    Contract {
        sender: Sender,
        ask: AskId,
    },
    /// Someone who waits until all steps before are durable.
    Waiting(oneshot::Sender<()>),
}

/// Sends an input that needs no acknowledgement.
pub(super) fn send(sender: &Sender, arrival: Arrival) {
    // A missing driver has closed its contract, and a late message to a closed contract has no effect.
    let message = DriverMessage::Delivery(Delivery { arrival, acknowledge: Acknowledge::NotNeeded });
    sender.send(Box::new(message)).ok();
}

/// Reports that an ask can't be performed.
pub(super) fn fail(sender: &Sender, why: EngineError) {
    // A missing driver has failed itself and reports its own error.
    sender.send(Box::new(DriverMessage::Failed(why))).ok();
}

/// Sends an answer that cost nothing and has no text.
pub(super) fn send_answer(sender: &Sender, id: AskId, answer: Answer) {
    let input = Input::Answer { id, answer, cost: Cost::Known(Msat::ZERO) };
    send(sender, Arrival { input, texts: Vec::new() });
}
