//! TLS of the server, tested with a rustls client that trusts a self-signed certificate.

mod pair;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use reviewd::server::{Config, TlsFiles};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;

use crate::support::frames::{END_STREAM, Frames, kind};
use crate::support::program::run;
use crate::support::{DEADLINE, Program, Server, service, wait_until};
use crate::timeouts::wait_for_slow_reader;

/// A self-signed certificate for localhost and its key, in files.
pub(crate) struct Pair {
    directory: TempDir,
    certificate: CertificateDer<'static>,
}

/// Years in which a certificate of the tests is valid.
pub(crate) const ALWAYS: (i32, i32) = (1975, 4096);

impl Pair {
    pub(crate) fn new() -> Pair {
        let directory = tempfile::tempdir().unwrap();
        let certificate = write_pair(directory.path(), ALWAYS);
        Pair {
            directory,
            certificate,
        }
    }

    /// Replaces both files.
    fn renew(&mut self, years: (i32, i32)) {
        self.certificate = write_pair(self.directory.path(), years);
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn files(&self) -> TlsFiles {
        TlsFiles {
            certificate: self.file("cert.pem"),
            key: self.file("key.pem"),
            hsts_s: 0,
        }
    }

    fn server(&self) -> Server {
        self.server_with(|_| {})
    }

    fn server_with(&self, change: impl FnOnce(&mut Config)) -> Server {
        Server::start_with(|config| {
            config.tls = Some(self.files());
            change(config);
        })
    }

    /// Completes a handshake with `server`, as [`shake`].
    fn shake(&self, server: &Server, protocol: &str) -> StreamOwned<ClientConnection, TcpStream> {
        shake(server.address(), &self.certificate, &[protocol]).unwrap()
    }

    /// The flags that name both files.
    pub(crate) fn flags(&self) -> [String; 2] {
        ["cert", "key"].map(|name| {
            let path = self.file(&format!("{name}.pem"));
            format!("--tls-{name}={}", path.display())
        })
    }

    /// Starts `reviewd serve` with this pair.
    fn serve(&self, more: &[&str]) -> Program {
        let flags = self.flags();
        Program::serve(&[&flags.each_ref().map(String::as_str), more].concat())
    }
}

pub(crate) fn write_pair(directory: &Path, years: (i32, i32)) -> CertificateDer<'static> {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
    params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    std::fs::write(directory.join("key.pem"), key.serialize_pem()).unwrap();
    std::fs::write(directory.join("cert.pem"), certificate.pem()).unwrap();
    certificate.der().clone()
}

/// Completes a TLS handshake as a client that trusts only `certificate` and offers `protocols` by ALPN.
fn shake(
    address: SocketAddr,
    certificate: &CertificateDer<'static>,
    protocols: &[&str],
) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = protocols.collect();
    let name = ServerName::try_from("localhost").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(DEADLINE))?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    Ok(stream)
}

/// Sends one GET over HTTP/1.1, and returns everything up to the close.
fn get(
    address: SocketAddr,
    certificate: &CertificateDer<'static>,
    path: &str,
) -> io::Result<String> {
    ask(shake(address, certificate, &["http/1.1"])?, path)
}

fn ask(mut stream: impl Read + Write, path: &str) -> io::Result<String> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}

#[test]
fn documents_come_over_tls_with_the_public_address_in_them() {
    let pair = Pair::new();
    let server = pair.server();
    let reply = get(server.address(), &pair.certificate, "/feed.xml").unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply:.200}");
    let own = format!("<https://{}/feed.xml>; rel=\"self\"", server.address());
    assert!(reply.contains(&own), "{reply:.800}");
}

#[test]
fn alpn_chooses_the_protocol_and_without_it_http_1_1_is_spoken() {
    let pair = Pair::new();
    let server = pair.server();
    let expected = service().get("/badge.svg").body;
    for offered in [&["h2", "http/1.1"][..], &["http/1.1", "h2"], &["h2"]] {
        let stream = shake(server.address(), &pair.certificate, offered).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"h2"[..]), "{offered:?}");
        let mut frames = Frames::over(stream, "localhost", &[]).unwrap();
        frames.get(1, "/badge.svg");
        let (status, body) = frames.answer(1);
        assert_eq!((status, body.len()), (0x88, expected.len()));
    }
    for (offered, chosen) in [(&["http/1.1"][..], Some(&b"http/1.1"[..])), (&[], None)] {
        let stream = shake(server.address(), &pair.certificate, offered).unwrap();
        assert_eq!(stream.conn.alpn_protocol(), chosen);
        let reply = ask(stream, "/healthz").unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    }
    assert!(shake(server.address(), &pair.certificate, &["h3"]).is_err());
}

#[test]
fn a_client_that_does_not_trust_the_certificate_is_served_nothing() {
    let pair = Pair::new();
    let other = Pair::new();
    let server = pair.server();
    assert!(get(server.address(), &other.certificate, "/healthz").is_err());
    wait_until("it is counted", || {
        server.running().counters().handshake_failures.get() == 1
    });
    assert!(get(server.address(), &pair.certificate, "/healthz").is_ok());
}

/// Requests a document on 16 streams with windows of maximal size, reads nothing for 300 ms, so that the socket fills,
/// and checks that all responses are complete.
fn read_late<S: Read + Write>(mut frames: Frames<S>) {
    const WINDOW_MAX: u32 = 0x7fff_ffff;
    let path = "/reviews.json";
    frames.get(1, path);
    let (_, expected) = frames.answer(1);
    let rest = WINDOW_MAX - 65_535 - u32::try_from(expected.len()).unwrap();
    frames.send(kind::WINDOW_UPDATE, 0, 0, &rest.to_be_bytes());
    for stream in (3..35).step_by(2) {
        frames.get(stream, path);
    }
    // The late reading itself is tested.
    thread::sleep(Duration::from_millis(300));
    let mut bodies: HashMap<u32, Vec<u8>> = HashMap::new();
    let mut ended = 0;
    while ended < 16 {
        let frame = frames.next().expect("all answers come");
        if frame.kind == kind::DATA {
            let body = bodies.entry(frame.stream).or_default();
            body.extend(&frame.payload);
        }
        ended += usize::from(frame.kind <= kind::HEADERS && frame.flags & END_STREAM != 0);
    }
    assert_eq!(bodies.len(), 16);
    assert!(bodies.values().all(|body| *body == expected));
}

#[test]
fn a_client_of_http_2_that_reads_late_gets_everything_with_tls_and_without() {
    // The maximal window for each stream, as for the connection.
    let settings = [(4, 0x7fff_ffff)];
    let pair = Pair::new();
    let server = pair.server();
    let stream = pair.shake(&server, "h2");
    read_late(Frames::over(stream, "localhost", &settings).unwrap());
    read_late(Frames::open(service().address(), &settings));
}

#[test]
fn plain_http_on_the_tls_port_is_400_and_names_https() {
    let pair = Pair::new();
    let server = pair.server();
    let response = server.get("/healthz");
    response.assert_error(400, "bad_request");
    assert!(response.text().contains("https://"));
    assert_eq!(response.field("connection"), Some("close"));
}

#[test]
fn silence_and_unfinished_handshakes_and_heads_end_after_the_header_time() {
    let pair = Pair::new();
    let short = Duration::from_millis(300);
    let server = pair.server_with(|config| config.limits.header_time = short);
    // The beginning of a TLS record that is never completed.
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    for bytes in [&b""[..], b"\x16", hello] {
        let began = Instant::now();
        let mut connection = server.connect();
        connection.write(bytes);
        connection.rest();
        assert!(began.elapsed() >= short, "{:?}", began.elapsed());
    }
    let mut stream = pair.shake(&server, "http/1.1");
    stream.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 408 "), "{reply}");
    assert!(get(server.address(), &pair.certificate, "/healthz").is_ok());
}

#[test]
fn tls_records_without_data_do_not_start_the_header_time() {
    let pair = Pair::new();
    let short = Duration::from_millis(300);
    let server = pair.server_with(|config| config.limits.header_time = short);
    let mut stream = pair.shake(&server, "http/1.1");
    let head = b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(head).unwrap();
    let mut reply = Vec::new();
    while !reply.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        reply.extend(byte);
    }
    stream.conn.refresh_traffic_keys().unwrap();
    stream.flush().unwrap();
    // Longer than the header time, which must not have begun.
    thread::sleep(short * 2);
    let reply = ask(stream, "/healthz").unwrap();
    assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
}

#[test]
fn a_client_that_reads_nothing_is_dropped_under_tls_as_well() {
    let pair = Pair::new();
    let short = Duration::from_millis(300);
    let server = pair.server_with(|config| config.limits.rate_time = short);
    let mut stream = pair.shake(&server, "http/1.1");
    let requests = "GET /reviews.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200);
    stream.write_all(requests.as_bytes()).unwrap();
    wait_for_slow_reader(&server);
}

#[test]
fn an_unfinished_handshake_does_not_delay_shutdown() {
    let pair = Pair::new();
    let server = pair.server();
    let mut silent = server.connect();
    let mut half = server.connect();
    half.write(b"\x16\x03\x01");
    let idle = pair.shake(&server, "h2");
    server.wait_for_open(3);
    let mut frames = Frames::over(idle, "localhost", &[]).unwrap();
    frames.get(1, "/healthz");
    frames.answer(1);
    let began = Instant::now();
    let end = thread::spawn(move || server.shutdown());
    frames.wait_for(kind::GOAWAY);
    while frames.next().is_some() {}
    assert!(end.join().unwrap(), "nothing had to be cut");
    assert!(began.elapsed() < Duration::from_secs(4));
    silent.rest();
    half.rest();
}

#[test]
fn healthcheck_verifies_the_certificate_except_of_a_loopback_address() {
    let pair = Pair::new();
    let program = pair.serve(&[]);
    let address = program.address();
    for (url, status) in [
        (format!("https://{address}/readyz"), 0),
        (format!("http://{address}/readyz"), 1),
        (format!("https://localhost:{}/readyz", address.port()), 1),
    ] {
        run(&["healthcheck", &url]).with(status);
    }
}

#[test]
fn every_response_has_strict_transport_security_if_set() {
    let pair = Pair::new();
    for hsts_s in [31_536_000, 0] {
        let mut files = pair.files();
        files.hsts_s = hsts_s;
        let server = pair.server_with(|config| config.tls = Some(files));
        for target in ["/", "/nowhere", "/reviews.json"] {
            let reply = get(server.address(), &pair.certificate, target).unwrap();
            let mut lines = reply.lines();
            let line = lines.find(|line| line.starts_with("strict-transport-security"));
            let expected = "strict-transport-security: max-age=31536000";
            assert_eq!(line, (hsts_s > 0).then_some(expected), "{target}");
        }
    }
}
