//! A hall with a wallet on a real LNbits server, for the tests of the wallet's commands.

use std::process::Command;
use std::sync::LazyLock;

use guildhall_lnbits_peer::{Funding, LnbitsPeer, PeerWallet, Proxy};
use serde_json::{Value, json};

use crate::crew::always;
use crate::house::{Ended, House, Running, Wire, says, wait_for};

/// This server has fake money.
static FIRST: LazyLock<Option<LnbitsPeer>> =
    LazyLock::new(|| LnbitsPeer::can_run().then(|| LnbitsPeer::start(Funding::Fake)));

/// A server that is funded by a wallet of the first, so a payment to the first leaves it.
struct Second {
    server: LnbitsPeer,
    /// Between the two. All tests share it, so a fault must name one payment.
    between: Proxy,
}

static SECOND: LazyLock<Option<Second>> = LazyLock::new(|| {
    let first = FIRST.as_ref()?;
    let between = Proxy::start(first.address());
    let funding = Funding::Lnbits { url: between.url(), admin_key: first.wallet(1_000_000).admin_key };
    Some(Second { server: LnbitsPeer::start(funding), between })
});

/// Where the wallets of a test are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// On one server.
    Within,
    /// The hall's wallet is on one server, and those that it pays are on another.
    Between,
}

/// A house with a wallet on a server, a person's wallet, and a payee.
pub(crate) struct Bank {
    pub(crate) house: House,
    pub(crate) server: &'static LnbitsPeer,
    pub(crate) others: &'static LnbitsPeer,
    pub(crate) treasury: PeerWallet,
    /// Gets refunds.
    pub(crate) person: PeerWallet,
    /// Pays for sessions. It is on the hall's server, which can't be paid from outside.
    pub(crate) payer: PeerWallet,
    pub(crate) ada: PeerWallet,
    /// Before the hall's server.
    proxy: Proxy,
}

impl Bank {
    /// `None` if this machine can't run LNbits. Then the reason was printed.
    pub(crate) fn new(rules: &Value, route: Route) -> Option<Bank> {
        let others = FIRST.as_ref()?;
        let server = match route {
            Route::Within => others,
            Route::Between => &SECOND.as_ref()?.server,
        };
        let house = House::new(Wire::OpenAi, rules);
        let (treasury, person, ada) = (server.wallet(0), others.wallet(100_000), others.wallet(0));
        let payer = if route == Route::Within { person.clone() } else { server.wallet(100_000) };
        let config = house.read_config();
        let (head, prices) = config.split_once("[prices").unwrap();
        house.write_config(&format!(
            "{head}rate = {{ usd_per_btc = 100000, date = \"2099-01-01\" }}\n[prices{prices}\n\
             [payees.ada]\nurl = \"{}\"\nkey_env = \"ADA_KEY\"\nfee_max = \"120sat\"\n",
            others.url()
        ));
        let proxy = Proxy::start(server.address());
        Some(Bank { house, server, others, treasury, person, payer, ada, proxy })
    }

    /// The proxy between the hall and its wallet's server.
    pub(crate) fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// The proxy between the two servers.
    pub(crate) fn between() -> &'static Proxy {
        &SECOND.as_ref().expect("a bank has servers").between
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_with(&self.treasury, args)
    }

    /// A command with the keys of this wallet.
    pub(crate) fn command_with(&self, wallet: &PeerWallet, args: &[&str]) -> Command {
        let mut command = self.house.command(args);
        command.env("LNBITS_INVOICE_KEY", &wallet.invoice_key).env("LNBITS_ADMIN_KEY", &wallet.admin_key);
        command.env("ADA_KEY", &self.ada.invoice_key);
        command
    }

    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::start(self.command(args), "")
    }

    pub(crate) fn guildhall(&self, args: &[&str]) -> Ended {
        self.start(args).end()
    }

    /// Connects the wallet through the proxy.
    pub(crate) fn connect(&self) {
        self.guildhall(&["wallet", "connect", &self.proxy.url()]).expect(0);
    }

    /// Pays an invoice of the hall.
    pub(crate) fn pay(&self, invoice: &str) {
        let body = json!({"out": true, "bolt11": invoice});
        let (status, reply) = self.server.request("POST", "/api/v1/payments", &self.payer.admin_key, Some(&body));
        assert_eq!(status, 201, "{reply}");
    }

    /// An invoice of the person.
    pub(crate) fn invoice(&self, sats: u64) -> String {
        self.invoice_row(sats, 600)["bolt11"].as_str().unwrap().to_owned()
    }

    /// An invoice of the person that expires after some seconds, with everything that LNbits says about it.
    pub(crate) fn invoice_row(&self, sats: u64, expiry: u64) -> Value {
        let body = json!({"out": false, "amount": sats, "memo": "refund", "expiry": expiry});
        let (status, row) = self.others.request("POST", "/api/v1/payments", &self.person.invoice_key, Some(&body));
        assert_eq!(status, 201, "{row}");
        row
    }

    pub(crate) fn person_has(&self) -> i64 {
        self.others.balance_msat(&self.person)
    }

    /// Starts `fund`, and returns it with the session and the invoice.
    pub(crate) fn start_funding(&self, args: &[&str]) -> (Running, String, String) {
        let waiting = self.start(&[&["fund"], args].concat());
        let invoice = wait_for("the invoice", || {
            let shown = waiting.stdout_so_far();
            let (_, from) = shown.split_once("\nlnbc")?;
            let (rest, _) = from.split_once('\n')?;
            Some(format!("lnbc{rest}"))
        });
        let id = waiting.stdout_so_far().split_whitespace().nth(1).unwrap().trim_end_matches(',').to_owned();
        (waiting, id, invoice)
    }

    /// Connects the wallet and funds a session.
    pub(crate) fn funded(&self, sats: u64) -> String {
        self.connect();
        let (waiting, id, invoice) = self.start_funding(&[&format!("{sats}sat")]);
        self.pay(&invoice);
        waiting.end().expect(0);
        assert_eq!(self.free_msat(&id), sats * 1000);
        id
    }

    pub(crate) fn quote(&self, id: &str) -> Value {
        self.guildhall(&["close", id, "--output", "json"]).expect(0).json()
    }

    /// The free money of a session.
    pub(crate) fn free_msat(&self, id: &str) -> u64 {
        self.quote(id)["free_msat"].as_u64().unwrap()
    }

    /// Lets the wallet work on payments, and returns all of them, the newest first.
    pub(crate) fn payments(&self) -> Vec<Value> {
        self.guildhall(&["payments", "--output", "json"]).json().as_array().unwrap().clone()
    }

    /// Lets payments end, and returns them.
    pub(crate) fn settled(&self) -> Vec<Value> {
        let has_ended = |payment: &Value| payment["state"] == "paid" || payment["state"] == "failed";
        wait_for("the end of all payments", || Some(self.payments()).filter(|listed| listed.iter().all(has_ended)))
    }

    /// The balance of an account of the ledger.
    pub(crate) fn balance(&self, account: &str) -> i64 {
        let ledger = self.guildhall(&["ledger", "--output", "json"]).expect(0).json();
        let balances = ledger["balances"].as_array().unwrap();
        assert_eq!(balances.iter().map(|balance| balance["msat"].as_i64().unwrap()).sum::<i64>(), 0, "{ledger}");
        let found = balances.iter().find(|balance| balance["account"] == account);
        found.map_or(0, |balance| balance["msat"].as_i64().unwrap())
    }

    /// Checks that the books agree with the wallet to the msat, and that no law is broken.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        assert_eq!(-self.balance("wallet"), self.server.balance_msat(&self.treasury), "the books and the wallet");
        self.guildhall(&["verify"]).expect(0);
    }
}

/// The rules of a provider that has nothing to do.
pub(crate) fn nothing() -> Value {
    json!([always("lead", says("Nothing to do."))])
}
