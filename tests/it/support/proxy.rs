//! A reverse proxy that names a client to the server: loopback itself has no rates.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// The client that requests through [`start`] are counted for.
pub(crate) const CLIENT: (&str, &str) = ("X-Forwarded-For", "192.0.2.1");

/// The end of every request line.
const REQUEST_LINE_END: &[u8] = b" HTTP/1.1\r\n";

/// Starts a proxy in front of `server`, and returns its address; it runs until the process ends.
pub(crate) fn start(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                // The end of a connection ends its two threads.
                let _ended = forward(client, server);
            });
        }
    });
    address
}

/// Passes bytes in both directions, and adds [`CLIENT`] to each head, which must arrive in one piece.
fn forward(mut client: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    let (mut responses, mut receiver) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        let _ended = std::io::copy(&mut responses, &mut receiver);
        receiver.shutdown(Shutdown::Both)
    });
    let mut buffer = [0; 64 << 10];
    loop {
        let length = client.read(&mut buffer)?;
        if length == 0 {
            return server.shutdown(Shutdown::Write);
        }
        let bytes = &buffer[..length];
        let mut windows = bytes.windows(REQUEST_LINE_END.len());
        let head = windows.position(|window| window == REQUEST_LINE_END);
        let at = head.map_or(0, |at| at + REQUEST_LINE_END.len());
        server.write_all(&bytes[..at])?;
        if at > 0 {
            let (name, value) = CLIENT;
            server.write_all(format!("{name}: {value}\r\n").as_bytes())?;
        }
        server.write_all(&bytes[at..])?;
    }
}
