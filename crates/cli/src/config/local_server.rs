//! The part of the config about model servers on this machine: the ports to search, and the user's answers about servers that
//! were found. Answers are added at the end of the file; the rest of the file is not changed.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::Config;

/// The default ports of Ollama, LM Studio, llama.cpp and vLLM.
const PORTS: [u16; 4] = [11434, 1234, 8080, 8000];

/// The most ports that are searched.
const PORTS_MAX: usize = 16;

/// The default time to wait for the list of models, in milliseconds, and the longest time that can be set.
const WAIT_MS: u64 = 300;
const WAIT_MS_MAX: u64 = 60_000;

/// The settings and answers of the user. Every key is optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LocalServerConfig {
    ports: Option<Ports>,
    wait_ms_max: Option<WaitMs>,
    answers: Vec<Answer>,
}

/// The user's answer about one server.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    address: Loopback,
    agreed: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Vec<NonZeroU16>")]
struct Ports(Vec<NonZeroU16>);

impl TryFrom<Vec<NonZeroU16>> for Ports {
    type Error = String;
    fn try_from(ports: Vec<NonZeroU16>) -> Result<Ports, String> {
        if ports.len() > PORTS_MAX {
            Err(format!("more than {PORTS_MAX} ports: remove some of them"))
        } else {
            Ok(Ports(ports))
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u64")]
struct WaitMs(u64);

impl TryFrom<u64> for WaitMs {
    type Error = String;
    fn try_from(ms: u64) -> Result<WaitMs, String> {
        let wrong = || format!("{ms} is out of range: write 1 to {WAIT_MS_MAX} milliseconds");
        (1..=WAIT_MS_MAX).contains(&ms).then_some(WaitMs(ms)).ok_or_else(wrong)
    }
}

/// An address on this machine.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Loopback(SocketAddrV4);

impl TryFrom<String> for Loopback {
    type Error = String;
    fn try_from(text: String) -> Result<Loopback, String> {
        let address: Option<SocketAddrV4> = text.parse().ok();
        let wrong = || {
            format!(
                "{text:?} is not an address on this machine (example: 127.0.0.1:11434): add a server on another machine as a provider"
            )
        };
        address.filter(|address| address.ip().is_loopback()).map(Loopback).ok_or_else(wrong)
    }
}

impl LocalServerConfig {
    /// The servers that the user agreed to. The newest answer about a server counts.
    pub(crate) fn agreed(&self) -> Vec<SocketAddrV4> {
        let newest = |address: SocketAddrV4| self.answers.iter().rev().find(|answer| answer.address.0 == address);
        let mut agreed = Vec::new();
        for Answer { address: Loopback(address), .. } in &self.answers {
            if newest(*address).is_some_and(|answer| answer.agreed) && !agreed.contains(address) {
                agreed.push(*address);
            }
        }
        agreed
    }

    /// The addresses to search for servers that the user has not answered about. There are none after the user said no once.
    pub(crate) fn unknown(&self) -> Vec<SocketAddrV4> {
        if self.answers.iter().any(|answer| !answer.agreed) {
            return Vec::new();
        }
        let ports: Vec<u16> = match &self.ports {
            None => PORTS.to_vec(),
            Some(Ports(ports)) => ports.iter().map(|port| port.get()).collect(),
        };
        let agreed = self.agreed();
        let addresses = ports.into_iter().map(|port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
        addresses.filter(|address| !agreed.contains(address)).collect()
    }

    /// How long to wait for the list of models.
    pub(crate) fn wait_max(&self) -> Duration {
        Duration::from_millis(self.wait_ms_max.map_or(WAIT_MS, |WaitMs(ms)| ms))
    }
}

/// Adds an answer at the end of the config. The existing text never changes.
pub(crate) fn remember(file: &Path, address: SocketAddrV4, agreed: bool) -> Result<(), String> {
    let before = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.to_string()),
    };
    let more = addition(&before, address, agreed);
    // A file is not changed if its TOML would be invalid with the addition, for example because it uses an inline table.
    Config::parse(&format!("{before}{more}"))?;
    append(file, &more).map_err(|error| error.to_string())
}

/// The lines of an answer, with a gap to the existing text.
fn addition(before: &str, address: SocketAddrV4, agreed: bool) -> String {
    let gap = match before {
        "" => "",
        whole if whole.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{gap}[[local_server.answers]]\naddress = \"{address}\"\nagreed = {agreed}\n")
}

fn append(file: &Path, more: &str) -> io::Result<()> {
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut open = OpenOptions::new().append(true).create(true).open(file)?;
    let length = open.metadata()?.len();
    open.write_all(more.as_bytes()).inspect_err(|_| {
        // Half an answer would make the whole file unreadable. The error of the write is returned in any case.
        open.set_len(length).ok();
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{Ipv4Addr, SocketAddrV4};

    use super::{LocalServerConfig, PORTS_MAX, remember};
    use crate::config::Config;

    fn at(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
    }

    fn read(text: &str) -> LocalServerConfig {
        Config::parse(text).unwrap().local_server
    }

    #[test]
    fn the_default_ports_are_searched_unless_the_config_sets_others() {
        assert_eq!(read("").unknown(), [11434, 1234, 8080, 8000].map(at));
        assert_eq!(read("[local_server]\nports = [5000]\n").unknown(), [at(5000)]);
        assert_eq!(read("[local_server]\nports = []\n").unknown(), []);
    }

    #[test]
    fn a_yes_is_for_one_address_and_a_no_ends_the_search() {
        let said = |answers: &[(u16, bool)]| {
            let answer = |(port, agreed): &(u16, bool)| {
                format!("[[local_server.answers]]\naddress = \"127.0.0.1:{port}\"\nagreed = {agreed}\n")
            };
            let local = read(&answers.iter().map(answer).collect::<String>());
            (local.agreed(), local.unknown())
        };
        assert_eq!(said(&[(1234, true)]), (vec![at(1234)], [11434, 8080, 8000].map(at).to_vec()));
        assert_eq!(said(&[(1234, false)]), (vec![], vec![]));
        assert_eq!(said(&[(1234, true), (8080, false)]), (vec![at(1234)], vec![]));
        assert_eq!(said(&[(1234, true), (1234, false)]), (vec![], vec![]), "the newest answer counts");
    }

    #[test]
    fn an_answer_is_added_and_the_rest_of_the_file_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new").join("config.toml");
        for before in [
            "",
            "# mine\nrate = { usd_per_btc = 95000, date = \"d\" } # so",
            "[local_server]\nports = [1]\n",
            "local_server.ports = [1]\r\n",
            "[aliases]\nfast = \"x\"\n\n\n",
        ] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, before).unwrap();
            remember(&file, at(1), true).unwrap();
            remember(&file, at(2), true).unwrap();
            let after = fs::read_to_string(&file).unwrap();
            assert!(after.starts_with(before), "{after}");
            assert_eq!(read(&after).agreed(), [at(1), at(2)], "{after}");
        }
        fs::remove_dir_all(file.parent().unwrap()).unwrap();
        remember(&file, at(1), false).unwrap();
        assert_eq!(read(&fs::read_to_string(&file).unwrap()).unknown(), []);
    }

    #[test]
    fn a_file_that_would_become_invalid_is_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        for before in ["local_server = { ports = [1] }\n", "model = "] {
            fs::write(&file, before).unwrap();
            remember(&file, at(1), true).unwrap_err();
            assert_eq!(fs::read_to_string(&file).unwrap(), before);
        }
    }

    #[test]
    fn only_this_machine_can_be_agreed_to() {
        let ports = vec!["1"; PORTS_MAX + 1].join(", ");
        for (text, says) in [
            ("answers = [{ address = \"192.168.0.7:11434\", agreed = true }]", "not an address on this machine"),
            ("answers = [{ address = \"localhost\", agreed = true }]", "not an address on this machine"),
            ("ports = [0]", "line"),
            ("wait_ms_max = 0", "milliseconds"),
            (&format!("ports = [{ports}]"), "more than 16"),
        ] {
            let why = Config::parse(&format!("[local_server]\n{text}\n")).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
