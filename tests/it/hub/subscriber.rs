//! A test subscriber: a blocking HTTPS server that records each request and answers as the test specifies.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use socket2::SockRef;

use super::authority;
use crate::support::client::read_request;
use crate::support::wait_until;

/// A request as received.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// Path and query, undecoded.
    pub(crate) target: String,
    /// Names in lower case, in order.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) at: Instant,
}

/// How a request is answered.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A status and a body with its length.
    Answer(u16, Vec<u8>),
    /// These bytes, and then the connection ends.
    Raw(Vec<u8>),
    /// These bytes, one at a time with this pause, and then the connection ends.
    Drip(Vec<u8>, Duration),
    /// These bytes repeatedly, until the peer closes the connection.
    Flood(Vec<u8>),
    /// Nothing, for this long.
    Silence(Duration),
    /// No response; the connection is closed.
    HangUp,
}

type Stream = StreamOwned<ServerConnection, TcpStream>;

/// How a subscriber answers.
pub(crate) trait Behavior: Fn(&Received) -> Reply + Send + Sync + 'static {}

impl<F: Fn(&Received) -> Reply + Send + Sync + 'static> Behavior for F {}

/// The certificate for each local address; without one, TLS handshakes are not answered.
type Certificates = dyn Fn(IpAddr) -> Option<Arc<ServerConfig>> + Send + Sync;

/// A connection, whose bytes take as long as the simulated link needs.
struct Link<'s> {
    stream: Stream,
    shared: &'s Shared,
}

impl Read for Link<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(bytes)?;
        self.shared.pass(count);
        Ok(count)
    }
}

/// A listening subscriber; dropping it stops it.
pub(crate) struct Subscriber {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    received: Mutex<Vec<Received>>,
    behavior: Mutex<Arc<dyn Behavior>>,
    certificates: Box<Certificates>,
    /// Whether requests are recorded; 100,000 of them would use more memory than everything else.
    is_noting: bool,
    connections: AtomicUsize,
    is_over: Mutex<bool>,
    /// Tells the connections that wait that `is_over` has become true.
    ended: Condvar,
    /// Bandwidth in bytes per second of a simulated link that all connections share, and when the link is idle again.
    line: Mutex<Option<(u64, Instant)>>,
}

impl Received {
    /// Returns the query's pairs, decoded.
    pub(crate) fn query(&self) -> HashMap<String, String> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        let url = url::Url::parse(&format!("https://x/?{query}")).unwrap();
        url.query_pairs().into_owned().collect()
    }

    /// Returns the value of the only field with this name.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.fields.iter().filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} came twice");
        value
    }

    /// Returns the target without its query.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(crate) fn mode(&self) -> String {
        self.query().remove("hub.mode").unwrap_or_default()
    }
}

impl Reply {
    /// Answers with a status and no body.
    pub(crate) fn status(status: u16) -> Reply {
        Reply::Answer(status, Vec::new())
    }

    /// Confirms a verification, and acknowledges everything else.
    pub(crate) fn good(request: &Received) -> Reply {
        match request.query().remove("hub.challenge") {
            Some(challenge) => Reply::Answer(200, challenge.into_bytes()),
            None => Reply::status(204),
        }
    }
}

impl Subscriber {
    /// Starts one that confirms and acknowledges everything, with a certificate for 127.0.0.1 and `*.sub.test`.
    pub(crate) fn good() -> Subscriber {
        Subscriber::start(Reply::good)
    }

    /// Starts one that confirms everything, and answers deliveries with `deliveries`.
    pub(crate) fn delivering(deliveries: impl Behavior) -> Subscriber {
        Subscriber::start(move |request| match request.method.as_str() {
            "GET" => Reply::good(request),
            _ => deliveries(request),
        })
    }

    /// Starts one that answers with `behavior`.
    pub(crate) fn start(behavior: impl Behavior) -> Subscriber {
        let config = authority::server_config(&["127.0.0.1", "127.0.0.2", "*.sub.test"]);
        Subscriber::start_with(Some(config), behavior)
    }

    /// Starts one with this certificate; without one it never answers a handshake.
    pub(crate) fn start_with(
        tls: Option<Arc<ServerConfig>>,
        behavior: impl Behavior,
    ) -> Subscriber {
        Subscriber::listen(Ipv4Addr::LOCALHOST, true, move |_| tls.clone(), behavior)
    }

    /// Starts one on all addresses of this machine, including 127.0.0.0/8, with a certificate for each. It records no
    /// requests; `behavior` can.
    #[allow(dead_code, reason = "benches/fanout.rs uses it")]
    pub(crate) fn everywhere(
        certificates: impl Fn(IpAddr) -> Option<Arc<ServerConfig>> + Send + Sync + 'static,
        behavior: impl Behavior,
    ) -> Subscriber {
        Subscriber::listen(Ipv4Addr::UNSPECIFIED, false, certificates, behavior)
    }

    fn listen(
        at: Ipv4Addr,
        is_noting: bool,
        certificates: impl Fn(IpAddr) -> Option<Arc<ServerConfig>> + Send + Sync + 'static,
        behavior: impl Behavior,
    ) -> Subscriber {
        let listener = TcpListener::bind((at, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            received: Mutex::default(),
            behavior: Mutex::new(Arc::new(behavior)),
            certificates: Box::new(certificates),
            is_noting,
            connections: AtomicUsize::new(0),
            is_over: Mutex::new(false),
            ended: Condvar::new(),
            line: Mutex::new(None),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepting.is_over() {
                    return;
                }
                let serving = Arc::clone(&accepting);
                thread::spawn(move || serving.serve(stream));
            }
        });
        Subscriber { address, shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the callback URL with this path, at 127.0.0.1.
    pub(crate) fn callback(&self, path: &str) -> String {
        self.callback_at("127.0.0.1", path)
    }

    /// Returns the callback URL with this path, at a host that the test's `Names` resolve.
    pub(crate) fn callback_at(&self, host: &str, path: &str) -> String {
        format!("https://{host}:{}{path}", self.port())
    }

    /// Answers with `behavior` from now on.
    pub(crate) fn behave(&self, behavior: impl Behavior) {
        *self.shared.behavior.lock().unwrap() = Arc::new(behavior);
    }

    /// Limits all connections together to this many bytes per second.
    pub(crate) fn narrow(&self, bytes_per_s: u64) {
        *self.shared.line.lock().unwrap() = Some((bytes_per_s, Instant::now()));
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns the verification requests so far.
    pub(crate) fn verifications(&self) -> Vec<Received> {
        self.of(|request| ["subscribe", "unsubscribe"].contains(&request.mode().as_str()))
    }

    /// Returns the deliveries so far.
    pub(crate) fn deliveries(&self) -> Vec<Received> {
        self.of(|request| request.method == "POST")
    }

    /// Returns the denials so far.
    pub(crate) fn denials(&self) -> Vec<Received> {
        self.of(|request| request.mode() == "denied")
    }

    fn of(&self, keep: impl Fn(&Received) -> bool) -> Vec<Received> {
        self.received().into_iter().filter(keep).collect()
    }

    /// Waits for the `count`-th verification and returns it.
    pub(crate) fn wait_verification(&self, count: usize) -> Received {
        self.wait_for(count, Subscriber::verifications)
    }

    /// Waits for the `count`-th delivery and returns it.
    pub(crate) fn wait_delivery(&self, count: usize) -> Received {
        self.wait_for(count, Subscriber::deliveries)
    }

    /// Waits for the `count`-th denial and returns it.
    pub(crate) fn wait_denial(&self, count: usize) -> Received {
        self.wait_for(count, Subscriber::denials)
    }

    fn wait_for(&self, count: usize, received: fn(&Subscriber) -> Vec<Received>) -> Received {
        let has_come = || received(self).len() >= count;
        wait_until("a request to the callback", has_come);
        received(self).swap_remove(count - 1)
    }

    /// Checks how many deliveries and denials were received.
    pub(crate) fn assert_received(&self, deliveries: usize, denials: usize) {
        let received = (self.deliveries().len(), self.denials().len());
        assert_eq!(received, (deliveries, denials));
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        *self.shared.is_over.lock().unwrap() = true;
        self.shared.ended.notify_all();
        // Wakes the accepting thread; an error means that it has already ended.
        let _awake = TcpStream::connect(self.address);
    }
}

impl Shared {
    /// Serves one connection until either side closes it; errors are ignored, because the hub notices them.
    fn serve(&self, stream: TcpStream) {
        self.connections.fetch_add(1, Ordering::SeqCst);
        let address = stream.local_addr().unwrap().ip();
        let Some(config) = (self.certificates)(address) else {
            return self.hold(Duration::from_secs(60));
        };
        stream.set_nodelay(true).unwrap();
        if self.line.lock().unwrap().is_some() {
            // A small buffer, because bytes in the kernel's buffer bypass the simulated link.
            SockRef::from(&stream)
                .set_recv_buffer_size(32 * 1024)
                .unwrap();
        }
        let connection = ServerConnection::new(config).unwrap();
        let mut stream = BufReader::new(Link {
            stream: StreamOwned::new(connection, stream),
            shared: self,
        });
        while let Ok(read) = read_request(&mut stream) {
            let mut words = read.first_line.split(' ').map(str::to_owned);
            let request = Received {
                method: words.next().unwrap(),
                target: words.next().unwrap(),
                fields: read.fields,
                body: read.body,
                at: Instant::now(),
            };
            if self.is_noting {
                self.received.lock().unwrap().push(request.clone());
            }
            let behavior = Arc::clone(&self.behavior.lock().unwrap());
            let reply = behavior(&request);
            let goes_on = matches!(reply, Reply::Answer(..));
            let stream = &mut stream.get_mut().stream;
            if self.reply(reply, stream).is_err() || !goes_on {
                return;
            }
        }
    }

    fn reply(&self, reply: Reply, stream: &mut Stream) -> io::Result<()> {
        match reply {
            Reply::Answer(status, body) => {
                let length = match status {
                    204 => String::new(),
                    _ => format!("Content-Length: {}\r\n", body.len()),
                };
                let head = format!("HTTP/1.1 {status} \r\n{length}\r\n").into_bytes();
                stream.write_all(&[head, body].concat())
            }
            Reply::Raw(bytes) => {
                stream.write_all(&bytes)?;
                stream.conn.send_close_notify();
                stream.flush()
            }
            Reply::Drip(bytes, pause) => {
                for byte in bytes {
                    if self.is_over() {
                        break;
                    }
                    stream.write_all(&[byte])?;
                    thread::sleep(pause);
                }
                Ok(())
            }
            Reply::Flood(bytes) => {
                while !self.is_over() {
                    stream.write_all(&bytes)?;
                }
                Ok(())
            }
            Reply::Silence(time) => {
                self.hold(time);
                Ok(())
            }
            Reply::HangUp => Ok(()),
        }
    }

    /// Waits as long as the simulated link needs for this many bytes.
    fn pass(&self, count: usize) {
        let mut line = self.line.lock().unwrap();
        if let Some((bytes_per_s, free_at)) = &mut *line {
            let nanos = count as u64 * 1_000_000_000 / *bytes_per_s;
            *free_at = (*free_at).max(Instant::now()) + Duration::from_nanos(nanos);
            let free_at = *free_at;
            drop(line);
            thread::sleep(free_at.saturating_duration_since(Instant::now()));
        }
    }

    fn is_over(&self) -> bool {
        *self.is_over.lock().unwrap()
    }

    /// Waits for `time`, or until the subscriber ends.
    fn hold(&self, time: Duration) {
        let is_over = self.is_over.lock().unwrap();
        let waited = self
            .ended
            .wait_timeout_while(is_over, time, |is_over| !*is_over);
        drop(waited.unwrap());
    }
}
