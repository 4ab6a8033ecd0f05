//! Checks which callbacks the hub may contact: their port, their host, and every address that the host resolves to.
//!
//! The hub sends requests to URLs that any client can choose, from inside the operator's network, so addresses and names
//! must be public by [`reviewd_wire::address`]. One refused address refuses the whole name, because attackers bypass guards
//! with DNS responses that mix public and private addresses.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use url::Host;

use crate::Callback;
use reviewd_wire::address::{is_permitted, is_public_name};

/// The rules for callbacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Permits private, shared, loopback and unique-local addresses and names of private networks; link-local,
    /// metadata, multicast and reserved addresses stay refused.
    pub allow_private: bool,
    /// Permitted ports of callbacks.
    pub ports: Ports,
}

/// Why a callback is not called; the text is the rest of a message that begins with the field's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The port is in none of the permitted ranges.
    #[error("port {port} is not one of {permitted}")]
    Port {
        /// The port of the callback.
        port: u16,
        /// The ranges, as the operator wrote them.
        permitted: String,
    },
    /// The name is that of a private network.
    #[error("host {0} is not a public name")]
    Name(String),
    /// The address is not global unicast.
    #[error("address {0} is not public")]
    Address(IpAddr),
}

/// Ranges of ports, written `443,8443,1024-65535`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    text: String,
    ranges: Vec<RangeInclusive<u16>>,
}

/// Why a text is no list of ports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortsError {
    /// Something that should be a port is no number from 1 to 65535.
    #[error("{0:?} is not a port from 1 to 65535")]
    NotAPort(String),
    /// The first port of a range is above the last.
    #[error("the range {0:?} is empty")]
    EmptyRange(String),
}

impl Guard {
    /// Checks the port, and the host without resolving it.
    ///
    /// # Errors
    /// The port, the name or the address is not permitted.
    pub fn check_callback(&self, callback: &Callback) -> Result<(), GuardError> {
        if !self.ports.contains(callback.port()) {
            return Err(GuardError::Port {
                port: callback.port(),
                permitted: self.ports.text.clone(),
            });
        }
        match callback.host() {
            Host::Domain(name) => self.check_name(name),
            Host::Ipv4(address) => self.check_address(IpAddr::V4(*address)),
            Host::Ipv6(address) => self.check_address(IpAddr::V6(*address)),
        }
    }

    fn check_name(&self, name: &str) -> Result<(), GuardError> {
        if !self.allow_private && !is_public_name(name) {
            return Err(GuardError::Name(name.to_owned()));
        }
        Ok(())
    }

    fn check_address(&self, address: IpAddr) -> Result<(), GuardError> {
        if !self.permits(address) {
            return Err(GuardError::Address(address));
        }
        Ok(())
    }

    /// Tells whether an address of a callback, literal or resolved, is permitted.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        is_permitted(address, self.allow_private)
    }
}

impl Ports {
    /// Parses ranges separated by commas; `1024-` has no upper end.
    ///
    /// # Errors
    /// A part is no port, or a range is empty.
    pub fn parse(text: &str) -> Result<Ports, PortsError> {
        let mut ranges = Vec::new();
        for part in text.split(',') {
            ranges.push(parse_range(part.trim())?);
        }
        Ok(Ports {
            text: text.to_owned(),
            ranges,
        })
    }

    fn contains(&self, port: u16) -> bool {
        self.ranges.iter().any(|range| range.contains(&port))
    }
}

/// Parses `443`, `8000-8999` or `1024-`.
fn parse_range(part: &str) -> Result<RangeInclusive<u16>, PortsError> {
    let Some((first, last)) = part.split_once('-') else {
        let port = parse_port(part)?;
        return Ok(port..=port);
    };
    let first = parse_port(first)?;
    let last = if last.is_empty() {
        u16::MAX
    } else {
        parse_port(last)?
    };
    if first > last {
        return Err(PortsError::EmptyRange(part.to_owned()));
    }
    Ok(first..=last)
}

fn parse_port(digits: &str) -> Result<u16, PortsError> {
    match digits.parse() {
        Ok(port @ 1..) => Ok(port),
        _ => Err(PortsError::NotAPort(digits.to_owned())),
    }
}

/// Returns the host of a URL without the brackets of an IPv6 address.
pub(super) fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
#[path = "guard/tests.rs"]
mod tests;
