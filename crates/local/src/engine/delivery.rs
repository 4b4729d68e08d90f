//! What a driver is sent, and what the sender is told once the message was dealt with.

use guildhall_agent::Arrival;
use guildhall_kernel::{Answer, AskId, Cost, Input, Msat};
use tokio::sync::mpsc;

use super::EngineError;

/// What a driver is sent.
pub(super) enum DriverMessage {
    Delivery(Delivery),
    /// A contract below could not be run.
    Failed(EngineError),
}

/// Something that happened to a contract.
pub(super) struct Delivery {
    pub(super) arrival: Arrival,
    pub(super) receipt: Receipt,
}

/// Who waits until a letter was dealt with: not before its facts have their place in the journal, or a crash could keep the
/// receipt and lose what it is for.
pub(super) enum Receipt {
    Nobody,
    /// An order of the inbox, which is then carried out.
    Order(u64),
    /// The contract whose ask this letter is.
    Teller {
        post: mpsc::UnboundedSender<DriverMessage>,
        ask: AskId,
    },
}

/// Sends what is of no further interest to whoever sends it.
pub(super) fn send(post: &mpsc::UnboundedSender<DriverMessage>, arrival: Arrival) {
    // A driver that is gone has closed its contract, and what comes late changes nothing.
    post.send(DriverMessage::Delivery(Delivery { arrival, receipt: Receipt::Nobody })).ok();
}

/// Says that what was asked can't be performed.
pub(super) fn fail(post: &mpsc::UnboundedSender<DriverMessage>, why: EngineError) {
    // A driver that is gone has failed itself, and says so.
    post.send(DriverMessage::Failed(why)).ok();
}

/// Sends an answer that cost nothing and has no text.
pub(super) fn send_answer(post: &mpsc::UnboundedSender<DriverMessage>, id: AskId, answer: Answer) {
    let input = Input::Answer { id, answer, cost: Cost::Known(Msat::ZERO) };
    send(post, Arrival { input, texts: Vec::new() });
}
