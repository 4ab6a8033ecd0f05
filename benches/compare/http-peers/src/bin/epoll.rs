//! The floor of plain sockets: one thread, epoll, and a request recognised by its first line alone.
//!
//! It parses nothing else, checks nothing, and expects one whole request in each read, so it is no server; what it
//! costs is what no server on sockets can go below.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::time::SystemTime;

use http_peers::{Document, Documents, Fields, Result, arguments};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

const LISTENER: Token = Token(0);
/// Connections at a time.
const CONNECTIONS_MAX: usize = 1_024;

/// Prepared replies, head and body in one.
struct Replies {
    plain: Vec<u8>,
    gzip: Option<Vec<u8>>,
    not_modified: Vec<u8>,
}

fn prepare(document: &Document) -> Replies {
    let date = httpdate::fmt_http_date(SystemTime::now());
    let lines = |fields: &Fields| -> String {
        let lines = fields
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"));
        lines.collect()
    };
    let fields = lines(&document.fields);
    let whole = |body: &[u8], coding: &str| {
        let mut reply = format!(
            "HTTP/1.1 200 OK\r\n{fields}{coding}content-length: {}\r\ndate: {date}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        reply.extend_from_slice(body);
        reply
    };
    let not_modified = lines(&document.not_modified);
    Replies {
        plain: whole(&document.body, ""),
        gzip: document
            .gzip
            .as_ref()
            .map(|body| whole(body, "content-encoding: gzip\r\n")),
        not_modified: format!("HTTP/1.1 304 Not Modified\r\n{not_modified}date: {date}\r\n\r\n")
            .into_bytes(),
    }
}

/// A peer, and what of its reply it has not taken yet: the reply, and how far it got.
struct Client<'r> {
    stream: TcpStream,
    reply: &'r [u8],
}

impl<'r> Client<'r> {
    /// Goes on until the socket has nothing more to give or to take. Says whether the peer is still there.
    fn go_on(&mut self, table: &'r HashMap<Vec<u8>, Replies>, buffer: &mut [u8]) -> bool {
        loop {
            while !self.reply.is_empty() {
                match self.stream.write(self.reply) {
                    Ok(written) => self.reply = &self.reply[written..],
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                    Err(_) => return false,
                }
            }
            match self.stream.read(buffer) {
                Ok(0) => return false,
                Ok(read) => match reply(table, &buffer[..read]) {
                    Some(reply) => self.reply = reply,
                    None => return false,
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
    }
}

fn reply<'r>(table: &'r HashMap<Vec<u8>, Replies>, request: &[u8]) -> Option<&'r [u8]> {
    let rest = request.strip_prefix(b"GET ")?;
    let end = rest.iter().position(|byte| *byte == b' ')?;
    let Some(replies) = table.get(&rest[..end]) else {
        return Some(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    };
    let has = |name: &[u8]| rest.windows(name.len()).any(|window| window == name);
    match &replies.gzip {
        Some(gzip) if has(b"Accept-Encoding: gzip") => Some(gzip),
        _ if has(b"If-None-Match: ") => Some(&replies.not_modified),
        _ => Some(&replies.plain),
    }
}

fn serve(documents: &Documents, address: std::net::SocketAddr) -> Result<()> {
    let table: HashMap<Vec<u8>, Replies> = documents
        .iter()
        .map(|(target, document)| (target.clone().into_bytes(), prepare(document)))
        .collect();
    let mut poll = Poll::new()?;
    let mut listener = TcpListener::bind(address)?;
    poll.registry()
        .register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut clients: HashMap<Token, Client<'_>> = HashMap::new();
    let mut next = 1;
    let mut events = Events::with_capacity(CONNECTIONS_MAX);
    let mut buffer = vec![0; 64 << 10];
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() != LISTENER {
                let Some(client) = clients.get_mut(&event.token()) else {
                    continue;
                };
                if !client.go_on(&table, &mut buffer) {
                    clients.remove(&event.token());
                }
                continue;
            }
            while let Ok((mut stream, _)) = listener.accept() {
                if clients.len() >= CONNECTIONS_MAX {
                    continue;
                }
                stream.set_nodelay(true)?;
                let both = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut stream, Token(next), both)?;
                clients.insert(Token(next), Client { stream, reply: &[] });
                next += 1;
            }
        }
    }
}

fn main() -> Result<()> {
    let (documents, address) = arguments()?;
    serve(&documents, address)
}
