//! Runs an LNbits server for tests in other languages: `guildhall-lnbits-peer SATS…` makes a wallet with each of these amounts and
//! prints one line of JSON with the server's address and the wallets. The server ends when stdin ends.

use std::io::{self, Read, Write};
use std::process::ExitCode;

use guildhall_lnbits_peer::{Funding, LnbitsPeer};
use serde_json::json;

fn main() -> ExitCode {
    let amounts: Result<Vec<u64>, _> = std::env::args().skip(1).map(|sats| sats.parse()).collect();
    let Ok(amounts) = amounts else {
        eprintln!("usage: guildhall-lnbits-peer SATS…");
        return ExitCode::from(2);
    };
    if let Err(why) = LnbitsPeer::available() {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    match serve(&amounts) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("guildhall-lnbits-peer: {why}");
            ExitCode::FAILURE
        }
    }
}

fn serve(amounts: &[u64]) -> io::Result<()> {
    let peer = LnbitsPeer::start(Funding::Fake);
    let wallets = amounts.iter().map(|sats| {
        let wallet = peer.wallet(*sats);
        json!({"admin_key": wallet.admin_key, "invoice_key": wallet.invoice_key})
    });
    let wallets: Vec<_> = wallets.collect();
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", json!({"url": peer.url(), "wallets": wallets}))?;
    stdout.flush()?;
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
