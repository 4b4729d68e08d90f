//! The form of `GET tree` for the description of the routes. The library writes the tree itself, and schemathesis compares real
//! trees with this form.
#![expect(dead_code, reason = "these types describe JSON and are never made")]

use utoipa::ToSchema;

/// The contracts of a session and its account, after an event.
#[derive(ToSchema)]
pub(crate) struct TreeView {
    /// The id of the newest event in the tree.
    #[schema(example = "12.3")]
    at: String,
    /// The account: `funded + credited = free + at_work + spent + set_aside + withdrawn`, in millisatoshis.
    account: TreeAccountView,
    /// All contracts, each before its hires.
    contracts: Vec<TreeContractView>,
}

/// The account of a session, in millisatoshis.
#[derive(ToSchema)]
pub(crate) struct TreeAccountView {
    /// Play money, or the money of a wallet.
    kind: TreeAccountKind,
    /// All money that was ever added.
    funded: u64,
    /// The money that corrections gave back.
    credited: u64,
    /// The money that no request has.
    free: u64,
    /// The money of requests at work.
    at_work: u64,
    /// The money that ended requests have cost.
    spent: u64,
    /// The money that is set aside for payments out of the wallet.
    set_aside: u64,
    /// The money that was paid back.
    withdrawn: u64,
    /// The root contracts, in order.
    roots: Vec<TreeRootView>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum TreeAccountKind {
    Play,
    Wallet,
}

/// The root contract of a request.
#[derive(ToSchema)]
pub(crate) struct TreeRootView {
    /// Its path.
    #[schema(example = "1")]
    path: String,
    /// Its grant and its top-ups.
    granted: u64,
    /// What it has cost, once it has ended.
    spent: u64,
    /// Whether it has ended.
    state: TreeRootState,
    /// When it was requested, in milliseconds of session time.
    requested_at: u64,
    /// When it ended.
    ended_at: Option<u64>,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum TreeRootState {
    AtWork,
    Ended,
}

/// A contract.
#[derive(ToSchema)]
pub(crate) struct TreeContractView {
    /// Its path.
    #[schema(example = "1.2")]
    path: String,
    /// The path of its hirer. A root has none.
    hirer: Option<String>,
    /// The agent.
    agent: String,
    /// The hirer's name for the contract, if it differs from the agent's name.
    label: Option<TextRefView>,
    /// Whether the agent is on the roster.
    standing: String,
    /// What it knows at its start besides its brief: `fresh`, `fork`, or `{"after": ROOT}`.
    #[schema(value_type = serde_json::Value)]
    context: (),
    /// How many levels of hires it may have below it.
    depth: u8,
    /// The task.
    task: TextRefView,
    /// Its state.
    state: TreeContractState,
    /// What it waits for, in the order in which it asked.
    waits_for: Vec<WaitsView>,
    /// Its money, in millisatoshis.
    money: AmountsView,
    /// How many hires it may make, those of its hires included.
    heads: AmountsView,
    /// How many requests it made to its model.
    requests: u32,
    /// How many tool calls it made.
    tool_calls: u32,
    /// How many agents it hired.
    hires: u32,
    /// The hires that wait for money and have no contract yet, in order.
    queued: Vec<QueuedHireView>,
    /// How many of its calls, hires, checks and top-ups were refused.
    refusals: u32,
    /// When it opened, in milliseconds of session time.
    opened_at: u64,
    /// When it closed.
    closed_at: Option<u64>,
    /// Its report, once it has closed.
    report: Option<TreeReportView>,
}

/// A hire that waits for money.
#[derive(ToSchema)]
pub(crate) struct QueuedHireView {
    /// The path that its contract will have.
    path: String,
    /// The agent.
    agent: String,
    /// The hirer's name for the hire, if it differs from the agent's name.
    label: Option<TextRefView>,
    /// The task.
    task: TextRefView,
}

#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum TreeContractState {
    /// It works.
    Works,
    /// It waits for hires, for its hirer or for a person.
    Waits,
    /// It reported its final text.
    Done,
    /// A limit stopped it early.
    RanDry,
    /// Its model or its engine failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// An account of one quantity: `granted = available + held + spent`.
#[derive(ToSchema)]
pub(crate) struct AmountsView {
    granted: u64,
    available: u64,
    held: u64,
    spent: u64,
}

/// A text, by reference: `GET texts/HASH` returns it.
#[derive(ToSchema)]
pub(crate) struct TextRefView {
    hash: String,
    bytes: u32,
    /// Its purpose.
    kind: String,
}

/// Something that a contract waits for.
#[derive(ToSchema)]
pub(crate) struct WaitsView {
    /// `model`, `tool`, `check`, `hire`, `person`, `hirer`, or `money`: more money from its hirer.
    kind: String,
    /// The tool.
    #[schema(required = false)]
    tool: Option<String>,
    /// The contract of the hire.
    #[schema(required = false)]
    contract: Option<String>,
}

/// The report of a contract.
#[derive(ToSchema)]
pub(crate) struct TreeReportView {
    /// How the contract ended: a word, or `{"exhausted": LIMIT}`.
    #[schema(value_type = serde_json::Value)]
    outcome: (),
    /// Whether the hirer can rely on the report.
    accepted: bool,
    /// Whether the text is cut: its model could not finish it.
    cut: bool,
    /// What the report of a contract that is done lacks: `acceptance`, `hire`, `promised_hire` or `no_hire`.
    lack: Option<String>,
    /// The text.
    text: TextRefView,
    /// The structured output, if the brief demands one.
    output: Option<TextRefView>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use guildhall::Tree;
    use serde_json::Value;
    use utoipa::PartialSchema;

    use super::{TreeAccountView, TreeView};

    fn described<T: PartialSchema>() -> BTreeSet<String> {
        let schema = serde_json::to_value(T::schema()).unwrap();
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }

    fn written(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn every_field_of_a_tree_and_its_account_is_described() {
        let tree = serde_json::to_value(Tree::default()).unwrap();
        assert_eq!(written(&tree), described::<TreeView>());
        assert_eq!(written(&tree["account"]), described::<TreeAccountView>());
    }
}
