//! TCP connections to subscribers, in place of ureq's, for two things that those do not have: a bound for the kernel's send
//! buffer, so that what was handed over is soon acknowledged, and a count of the bytes that were taken while they go out.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use socket2::SockRef;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, ShutdownHandle, Transport,
    time,
};

/// The first link of the hub's chain of connectors.
#[derive(Debug)]
pub(super) struct HubTcpConnector;

impl Connector for HubTcpConnector {
    type Out = HubTcpTransport;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _chained: Option<()>,
    ) -> Result<Option<HubTcpTransport>, ureq::Error> {
        let stream = connect(details)?;
        stream.set_nodelay(true)?;
        SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER_BYTES)?;
        let handle: Arc<dyn ShutdownHandle> = Arc::new(Handle(stream.try_clone()?));
        (details.register_shutdown)(Arc::downgrade(&handle))?;
        let config = details.config;
        Ok(Some(HubTcpTransport {
            stream,
            buffers: LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size()),
            _handle: handle,
        }))
    }
}

/// Connects to the first address that answers; each but the last has half of the time that is left.
fn connect(details: &ConnectionDetails) -> Result<TcpStream, ureq::Error> {
    let now = Instant::now();
    let began = match details.now {
        time::Instant::Exact(began) => began,
        _ => now,
    };
    let all = *details.timeout.after;
    let mut failed = ureq::Error::ConnectionFailed;
    for (index, address) in details.addrs.iter().enumerate() {
        let left = all.saturating_sub(began.elapsed());
        let share = match index + 1 < details.addrs.len() {
            true => left / 2,
            false => left,
        };
        if share.is_zero() {
            return Err(ureq::Error::Timeout(details.timeout.reason));
        }
        match TcpStream::connect_timeout(address, share) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = of_io(error, details.timeout),
        }
    }
    Err(failed)
}

/// An error of the socket as ureq's; the end of a wait has the reason of its deadline.
fn of_io(error: io::Error, timeout: NextTimeout) -> ureq::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ureq::Error::Timeout(timeout.reason),
        _ => error.into(),
    }
}

/// Refuses a wait whose time is over: to the system, zero is no bound at all.
fn still(timeout: NextTimeout) -> Result<NextTimeout, ureq::Error> {
    match timeout.after.is_zero() {
        true => Err(ureq::Error::Timeout(timeout.reason)),
        false => Ok(timeout),
    }
}

/// Breaks a connection from another thread, when the hub stops.
struct Handle(TcpStream);

impl ShutdownHandle for Handle {
    fn shutdown(&self) {
        // One that is closed already needs no more.
        let _closed = self.0.shutdown(Shutdown::Both);
    }
}

/// A connection.
pub(super) struct HubTcpTransport {
    stream: TcpStream,
    buffers: LazyBuffers,
    _handle: Arc<dyn ShutdownHandle>,
}

impl Transport for HubTcpTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let timeout = still(timeout.for_write())?;
        self.stream.set_write_timeout(Some(*timeout.after))?;
        let output = &self.buffers.output()[..amount];
        self.stream
            .write_all(output)
            .map_err(|error| of_io(error, timeout))?;
        note_sent(amount);
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        let timeout = still(timeout.for_read())?;
        self.stream.set_read_timeout(Some(*timeout.after))?;
        let input = self.buffers.input_append_buf();
        let amount = loop {
            match self.stream.read(input) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| of_io(error, timeout))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// No connection is used again.
    fn is_open(&mut self) -> bool {
        false
    }
}

impl fmt::Debug for HubTcpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HubTcpTransport")
    }
}

/// The kernel's send buffer of a connection, which Linux doubles. Our choice: what of a body is not acknowledged when its
/// last byte is handed over reaches a slow subscriber within the time for its answer, and one delivery still fills a line
/// of 20 Mbit/s with a round trip of 0.1 s.
const SEND_BUFFER_BYTES: usize = 128 * 1024;

thread_local! {
    /// Whether the exchange of this thread has come as far as a connection; ureq calls on the caller's thread.
    pub(super) static CONNECTED: Cell<bool> = const { Cell::new(false) };

    /// Counts the bytes of this thread's delivery that the kernel took.
    pub(super) static SENT: RefCell<Arc<AtomicU64>> = RefCell::default();
}

/// Notes that so many bytes were taken.
fn note_sent(count: usize) {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    SENT.with_borrow(|sent| sent.fetch_add(count, Ordering::Relaxed));
}

/// Notes that a connection came about.
pub(super) fn mark_connected() {
    CONNECTED.set(true);
}
