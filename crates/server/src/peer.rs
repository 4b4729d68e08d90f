//! The address of a client.

use std::net::{IpAddr, Ipv6Addr};

/// The address of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl Peer {
    /// Returns what counts as one client: an IPv4 address, or an IPv6 network of 64 bits, which one client has as a whole.
    pub(crate) fn network(self) -> IpAddr {
        match self.0 {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => match address.to_ipv4_mapped() {
                Some(address) => IpAddr::V4(address),
                None => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Peer;

    #[test]
    fn addresses_of_one_client_count_as_one() {
        let network = |text: &str| Peer(text.parse().unwrap()).network().to_string();
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    }
}
