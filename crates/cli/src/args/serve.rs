//! The command `serve`: its flags and help text.

use std::net::SocketAddr;

use clap::Args;

pub(super) const SERVE_EXAMPLES: &str = "\
Examples:
  guildhall serve                               the live demo, on this machine alone
  curl http://127.0.0.1:8787/api/offers
  guildhall serve --addr 0.0.0.0:8787 --public https://hall.example.com

The teams are those of [offers.NAME] in the config; without any, the live demo alone. The file whose path `serve` prints has the \
operator's token. Press Ctrl-C to stop: no new call leaves, those under way get 20 s, and the next `serve` continues the work. \
All routes and settings: docs/serve.md.";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787", value_parser = address)]
    pub(crate) addr: SocketAddr,
    /// The address at which others reach this server, such as `https://hall.example.com`. Needed for every --addr but a loopback
    /// address, because requests for other hosts are refused
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) public: Vec<String>,
    /// Print no line for each request. Everything else that the operator should know is still printed
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an address and a port, both as numbers, such as 127.0.0.1:8787".to_owned())
}
