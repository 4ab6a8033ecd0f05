//! The flags of the limits of connections and requests.

use std::time::Duration;

use clap::Args;

use super::values::{parse_size, parse_size_within, time, whole};
use crate::http::Rates;
use crate::server::Limits;

/// Smallest bound of a size that can be set: below it no ordinary request would fit.
const SIZE_MIN: u64 = 1_024;

/// Largest bound of what is held in memory for one request.
const SIZE_MAX: u64 = 64 << 20;

/// Largest bound of a head; hyper's buffer is twice as large, for each connection.
const HEADER_SIZE_MAX: u64 = 1 << 20;

/// Most requests in a minute that a bucket can be set to.
pub(super) const RATE_MAX: u64 = 1_000_000;

/// Shortest time for what a client does: below it no ordinary one would be served.
const SHORTEST: Duration = Duration::from_millis(100);

/// Longest time for a client that does nothing: above it there might as well be no limit.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// Longest time between two requests.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Largest rate that a client can be asked for, in bytes a second.
const MIN_RATE_MAX: u64 = 1 << 20;

/// The flags of the limits.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits")]
pub(super) struct LimitFlags {
    /// Connections open at a time; for one more the one that is idle longest is closed
    #[arg(long, env = "REVIEWD_MAX_CONNECTIONS", value_name = "NUMBER", default_value = "10000",
        value_parser = whole::<u32>(1, 1_000_000))]
    max_connections: u32,
    /// Connections open at a time from one address, an IPv6 client being its /64, and four times as many from a /48;
    /// trusted proxies may have any number; 0 for any number
    #[arg(
        long = "address-connections",
        env = "REVIEWD_ADDRESS_CONNECTIONS",
        value_name = "NUMBER",
        default_value = "256",
        value_parser = whole::<u32>(0, 1_000_000)
    )]
    connections_per_address: u32,
    /// Requests on one connection; the last is answered with `Connection: close`
    #[arg(long, env = "REVIEWD_CONNECTION_REQUESTS", value_name = "NUMBER", default_value = "10000",
        value_parser = whole::<u32>(1, 1_000_000_000))]
    connection_requests: u32,
    /// Requests in a minute from one address, besides those to /mcp, the hub, /healthz and /readyz (429); 0 for any
    /// number
    #[arg(
        long,
        env = "REVIEWD_READ_RATE",
        value_name = "COUNT",
        default_value = "0",
        value_parser = whole::<u32>(0, RATE_MAX)
    )]
    read_rate: u32,
    /// Requests to /mcp in a minute from one address (429); 0 for any number
    #[arg(
        long,
        env = "REVIEWD_MCP_RATE",
        value_name = "COUNT",
        default_value = "0",
        value_parser = whole::<u32>(0, RATE_MAX)
    )]
    mcp_rate: u32,
    /// Time for a request's head, from its first byte to its last (408); the first one's includes the TLS handshake
    #[arg(long, env = "REVIEWD_HEADER_TIME", value_name = "TIME", default_value = "10s", value_parser = time(SHORTEST, HOUR))]
    header_time: Duration,
    /// Time between two requests of a connection
    #[arg(long, env = "REVIEWD_IDLE_TIME", value_name = "TIME", default_value = "60s", value_parser = time(SHORTEST, DAY))]
    idle_time: Duration,
    /// Time without a byte in either direction while something is under way
    #[arg(long, env = "REVIEWD_STALL_TIME", value_name = "TIME", default_value = "20s", value_parser = time(SHORTEST, HOUR))]
    stall_time: Duration,
    /// Bytes a second that a client has to take of its reply, on average, besides --rate-time; 0 for any
    #[arg(long, env = "REVIEWD_MIN_RATE", value_name = "SIZE", default_value = "4KiB", value_parser = parse_rate)]
    min_rate: u64,
    /// How long a client may take nothing of its reply; what it takes prolongs that at --min-rate, to five times as long
    #[arg(long, env = "REVIEWD_RATE_TIME", value_name = "TIME", default_value = "60s", value_parser = time(SHORTEST, HOUR))]
    rate_time: Duration,
    /// A request's head in bytes, all lines together (431)
    #[arg(long, env = "REVIEWD_HEADER_BYTES", value_name = "SIZE", default_value = "16KiB", value_parser = parse_header_size)]
    header_bytes: usize,
    /// Fields of a request's head, at most 100 (431)
    #[arg(long, env = "REVIEWD_HEADER_FIELDS", value_name = "NUMBER", default_value = "64",
        value_parser = whole::<u16>(1, 100))]
    header_fields: u16,
    /// A request's target in bytes (414)
    #[arg(long, env = "REVIEWD_TARGET_BYTES", value_name = "SIZE", default_value = "8KiB", value_parser = parse_header_size)]
    target_bytes: usize,
    /// Time for a request's body (408)
    #[arg(long, env = "REVIEWD_BODY_TIME", value_name = "TIME", default_value = "10s", value_parser = time(SHORTEST, HOUR))]
    body_time: Duration,
    /// Body of a request to /mcp in bytes (413)
    #[arg(long, env = "REVIEWD_MCP_BODY_BYTES", value_name = "SIZE", default_value = "1MiB", value_parser = parse_body_size)]
    mcp_body_bytes: usize,
    /// Body of a request to the hub in bytes (413)
    #[arg(long, env = "REVIEWD_HUB_BODY_BYTES", value_name = "SIZE", default_value = "8KiB", value_parser = parse_body_size)]
    hub_body_bytes: usize,
    /// Streams that an HTTP/2 client may have open at a time; one more is refused
    #[arg(long, env = "REVIEWD_HTTP2_STREAMS", value_name = "NUMBER", default_value = "64",
        value_parser = whole::<u32>(1, 1_000))]
    http2_streams: u32,
    /// Streams of an HTTP/2 client that it took back before we looked at them; one more ends the connection
    #[arg(long, env = "REVIEWD_HTTP2_RESETS", value_name = "NUMBER", default_value = "20",
        value_parser = whole::<u16>(1, 1_000))]
    http2_resets: u16,
}

impl LimitFlags {
    /// Returns the limits; the rate of the hub has its flag among those of the hub.
    pub(super) fn limits(&self, hub_rate: u32) -> Limits {
        Limits {
            connections: self.max_connections,
            connections_per_address: self.connections_per_address,
            rates: Rates {
                reads: self.read_rate,
                mcp: self.mcp_rate,
                hub: hub_rate,
            },
            http2_streams: self.http2_streams,
            http2_resets: usize::from(self.http2_resets),
            connection_requests: self.connection_requests,
            header_time: self.header_time,
            idle_time: self.idle_time,
            stall_time: self.stall_time,
            rate_min: self.min_rate,
            rate_time: self.rate_time,
            header_bytes: self.header_bytes,
            header_fields: usize::from(self.header_fields),
            target_bytes: self.target_bytes,
            body_time: self.body_time,
            mcp_body_bytes: self.mcp_body_bytes,
            hub_body_bytes: self.hub_body_bytes,
        }
    }
}

fn parse_rate(text: &str) -> Result<u64, String> {
    match parse_size(text)? {
        rate @ 0..=MIN_RATE_MAX => Ok(rate),
        _ => Err("must be from 0 to 1MiB".to_owned()),
    }
}

fn parse_header_size(text: &str) -> Result<usize, String> {
    parse_size_within(text, SIZE_MIN, HEADER_SIZE_MAX)
}

fn parse_body_size(text: &str) -> Result<usize, String> {
    parse_size_within(text, SIZE_MIN, SIZE_MAX)
}
