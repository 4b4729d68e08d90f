//! The commands for a wallet: their flags and help texts.

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use guildhall::kernel::{Hash, PaymentHash};

use super::OutputArgs;
use crate::amount::Budget;
use crate::complete;
use crate::session_ref::SessionRef;

pub(super) const WALLET_EXAMPLES: &str = "\
Examples:
  export LNBITS_INVOICE_KEY=… LNBITS_ADMIN_KEY=…
  guildhall wallet connect https://lnbits.example.com
  guildhall wallet                      what the wallet has, and what this hall owes
  guildhall wallet payouts on           pay fees to the payees of the config
  guildhall wallet accept 30fd…         accept a payment that was not made by this hall

The keys decide which wallet it is. They are read from the environment, are never stored, and agents never see them. Without the \
admin key, the wallet can receive, and payments wait.";

pub(super) const FUND_EXAMPLES: &str = "\
Examples:
  guildhall fund 2000sat                        a new session; prints its id and an invoice
  guildhall fund 500sat --session brave-otter   more money for a session
  guildhall run --session brave-otter --budget 500sat \"Which of our endpoints have no test?\"

The invoice is stored before it is printed. Press Ctrl-C to stop waiting: the invoice stays payable, also after it has expired. A \
payment that nobody waited for is credited by the next command that asks the wallet: `close ID`, `wallet`, `payments`, `fund` while it \
waits, and `run`, `chat` and `resume` of a funded session.

With --output json, `fund` prints one line as soon as there is an invoice: session, invoice, payment, amount_msat, expires. When \
the waiting has ended, it prints one more line: session, paid, free_msat. With --no-wait, it prints only the first.";

pub(super) const CLOSE_EXAMPLES: &str = "\
Examples:
  guildhall close brave-otter                   how much can be paid back
  guildhall close brave-otter --to lnbc1980n1…  pay it back to this invoice

A payment holds a fee limit of 1 %, at least 2 sat. What the payment does not cost stays in the session.";

pub(super) const PAYMENTS_EXAMPLES: &str = "\
Examples:
  guildhall payments
  guildhall payments resolve 30fd… --paid 38e1…   it was made: the preimage proves it
  guildhall payments resolve 30fd… --failed       you know that it was not made, and never will be

A payment is unknown while no proof of its end has arrived: its money stays held. It ends by itself when the wallet shows the proof, \
or some minutes after its invoice has expired. Resolve a payment yourself only if the wallet can't say any more.";

#[derive(Debug, Args)]
pub(crate) struct WalletArgs {
    #[command(subcommand)]
    pub(crate) action: Option<WalletAction>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WalletAction {
    /// Connect a wallet on an LNbits server. Its keys are in `LNBITS_INVOICE_KEY` and `LNBITS_ADMIN_KEY`
    Connect {
        /// The address of the server
        url: String,
        /// Allow http to another machine: anyone on the way can read the keys
        #[arg(long)]
        plain_http: bool,
    },
    /// Allow or stop payments of fees to payees
    Payouts {
        /// Whether payees are paid
        switch: Switch,
    },
    /// Accept payments of the wallet that this hall does not know. Until then, nothing is paid
    Accept {
        /// The payment hashes, as `guildhall wallet` prints them
        #[arg(required = true, value_parser = payment)]
        payments: Vec<PaymentHash>,
    },
}

/// A switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// Allow.
    On,
    /// Stop.
    Off,
}

#[derive(Debug, Args)]
pub(crate) struct FundArgs {
    /// The amount: 2000sat, or 2usd
    #[arg(allow_hyphen_values = true)]
    pub(crate) amount: Budget,
    /// The session that gets the money [default: a new session]
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) session: Option<SessionRef>,
    /// Print the invoice and do not wait for the payment
    #[arg(long)]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CloseArgs {
    /// The session: its id, the beginning of its id, or `last`
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) session: SessionRef,
    /// Pay free money of the session to this Lightning invoice
    #[arg(long, value_name = "INVOICE")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PaymentsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<PaymentsAction>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PaymentsAction {
    /// End a payment whose end is not known
    #[command(group = clap::ArgGroup::new("end").required(true))]
    Resolve {
        /// The payment hash, as `guildhall payments` prints it
        #[arg(value_parser = payment)]
        payment: PaymentHash,
        /// It was made: its preimage
        #[arg(long, value_name = "PREIMAGE", group = "end")]
        paid: Option<String>,
        /// It was not made, and never will be
        #[arg(long, group = "end")]
        failed: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct LedgerArgs {
    /// The session [default: everything]
    #[arg(value_name = "ID", add = ArgValueCompleter::new(complete::sessions))]
    pub(crate) session: Option<SessionRef>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

fn payment(text: &str) -> Result<PaymentHash, String> {
    let hash = Hash::try_from(text.trim().to_ascii_lowercase());
    hash.map(PaymentHash).map_err(|_| "a payment hash has 64 hexadecimal digits".to_owned())
}
