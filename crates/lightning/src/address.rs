//! The address and the keys of a wallet. A key is money: it is never displayed, and travels only over TLS or inside this machine.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;
use reqwest::header::HeaderValue;

/// The longest address, in bytes.
const URL_BYTES_MAX: usize = 1024;

/// The longest key, in bytes. A key of LNbits has 32.
const KEY_BYTES_MAX: usize = 256;

/// Where a key may travel without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainHttp {
    /// Only to this machine.
    Loopback,
    /// To every server. The caller knows that the network is protected, by a VPN for example.
    Anywhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// The address of an LNbits server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletUrl(Url);

/// Why a text is not the address of a wallet server, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalletUrlError {
    /// The text is not an address.
    #[error(
        "this is not an address of a web server: write it like https://lnbits.example.org or http://127.0.0.1:5000"
    )]
    NotAUrl,
    /// The address has parts that do not belong to it, or would be secret.
    #[error(
        "the address has a user, password, query or fragment: give only its beginning, such as https://lnbits.example.org"
    )]
    TooMuch,
    /// The keys would travel unprotected.
    #[error(
        "the keys of the wallet would travel to {host} without encryption: use an address that begins with https://"
    )]
    Unprotected {
        /// The host.
        host: String,
    },
}

impl WalletUrl {
    /// Reads an address. A path is kept: LNbits can be served below one.
    pub fn parse(text: &str, plain_http: PlainHttp) -> Result<WalletUrl, WalletUrlError> {
        let text = text.trim();
        if text.len() > URL_BYTES_MAX {
            return Err(WalletUrlError::NotAUrl);
        }
        let mut url = Url::parse(text).map_err(|_| WalletUrlError::NotAUrl)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if !["http", "https"].contains(&url.scheme()) || host.is_empty() {
            return Err(WalletUrlError::NotAUrl);
        }
        let more =
            [!url.username().is_empty(), url.password().is_some(), url.query().is_some(), url.fragment().is_some()];
        if more.contains(&true) {
            return Err(WalletUrlError::TooMuch);
        }
        if url.scheme() == "http" && plain_http == PlainHttp::Loopback && !is_loopback(&host) {
            return Err(WalletUrlError::Unprotected { host });
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(WalletUrl(url))
    }

    /// Returns the address in its one stored form.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    pub(crate) fn scheme(&self) -> Scheme {
        if self.0.scheme() == "https" { Scheme::Https } else { Scheme::Http }
    }

    /// Returns the address of a method, such as `wallet`.
    pub(crate) fn method(&self, method: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}/api/v1/{method}", self.0.path().trim_end_matches('/')));
        url
    }
}

impl fmt::Display for WalletUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// A key of a wallet. It is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct WalletKey(String);

/// A text is not a key of a wallet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of the wallet must be one line of letters and digits: copy it again from the wallet's page in LNbits")]
pub struct WalletKeyError;

impl WalletKey {
    /// Takes a key. White space around it is removed.
    pub fn new(text: &str) -> Result<WalletKey, WalletKeyError> {
        let text = text.trim();
        let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_key = is_printable && !text.is_empty() && text.len() <= KEY_BYTES_MAX;
        if is_key { Ok(WalletKey(text.to_owned())) } else { Err(WalletKeyError) }
    }

    /// Removes the key from a text of the server.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }

    pub(crate) fn header(&self) -> HeaderValue {
        let mut value = HeaderValue::from_str(&self.0).expect("a key is printable ASCII");
        value.set_sensitive(true);
        value
    }
}

impl fmt::Debug for WalletKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WalletKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::{PlainHttp, WalletKey, WalletUrl, WalletUrlError};

    fn parse(text: &str) -> Result<String, WalletUrlError> {
        WalletUrl::parse(text, PlainHttp::Loopback).map(|url| url.to_string())
    }

    #[test]
    fn an_address_is_stored_in_one_form() {
        assert_eq!(parse(" https://LNbits.example.org/ ").unwrap(), "https://lnbits.example.org");
        assert_eq!(parse("https://example.org/lnbits//").unwrap(), "https://example.org/lnbits");
        let url = WalletUrl::parse("https://example.org/lnbits/", PlainHttp::Loopback).unwrap();
        assert_eq!(url.method("wallet").as_str(), "https://example.org/lnbits/api/v1/wallet");
        let url = WalletUrl::parse("http://[::1]:5000", PlainHttp::Loopback).unwrap();
        assert_eq!(url.method("wallet").as_str(), "http://[::1]:5000/api/v1/wallet");
    }

    #[test]
    fn an_address_with_a_secret_or_a_query_is_refused() {
        for text in ["https://me:secret@example.org", "https://example.org/wallet?usr=1", "https://example.org/#a"] {
            assert_eq!(parse(text), Err(WalletUrlError::TooMuch), "{text}");
        }
        let long = format!("https://example.org/{}", "a".repeat(2000));
        for text in ["", "example.org", "ftp://example.org", "file:///etc/passwd", "https://", long.as_str()] {
            assert_eq!(parse(text), Err(WalletUrlError::NotAUrl), "{text}");
        }
    }

    #[test]
    fn keys_travel_without_encryption_only_inside_this_machine() {
        for text in ["http://127.0.0.1:5000", "http://localhost:5000", "http://127.8.8.8"] {
            assert!(parse(text).is_ok(), "{text}");
        }
        for host in ["10.0.0.1", "example.org", "localhost.example.org", "0.0.0.0", "[::2]"] {
            let refused = Err(WalletUrlError::Unprotected { host: host.to_owned() });
            assert_eq!(parse(&format!("http://{host}:5000")), refused);
        }
        assert!(WalletUrl::parse("http://10.0.0.1", PlainHttp::Anywhere).is_ok());
    }

    #[test]
    fn a_key_is_not_displayed() {
        let key = WalletKey::new(" 0123456789abcdef\n").unwrap();
        assert_eq!(format!("{key:?} {:?}", key.header()), "WalletKey(…) Sensitive");
        assert_eq!(key.redact("no wallet for 0123456789abcdef"), "no wallet for [key]");
        for text in ["", " ", "two words", "naïve", "a\nb", &"a".repeat(257)] {
            assert!(WalletKey::new(text).is_err(), "{text}");
        }
    }
}
