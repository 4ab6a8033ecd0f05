//! A small HTTP/1.1 client over a plain socket: it hides nothing and repairs nothing.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use super::DEADLINE;

/// One reply, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    /// The status code.
    pub(crate) status: u16,
    /// Field names in lower case, values without the white space around them, in the order they came.
    pub(crate) fields: Vec<(String, String)>,
    /// The body, as long as Content-Length or the chunks say.
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// Returns the value of the one field with this name (in lower case); panics if it came twice.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.fields.iter().filter(|(field, _)| field == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} came twice: {self:?}");
        value
    }

    /// Returns the entity-tag; panics if there is none.
    pub(crate) fn etag(&self) -> &str {
        self.field("etag").expect("the reply has an entity-tag")
    }

    /// Asserts the status of a refusal, the word of its body, and what every refusal has in common.
    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16, error: &str) {
        let body = self.json();
        let found = (self.status, body["error"].as_str());
        assert_eq!(found, (status, Some(error)), "{self:?}");
        assert!(
            body["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty())
        );
        assert_eq!(self.field("content-type"), Some("application/json"));
        assert_eq!(self.field("cache-control"), Some("no-store"));
        assert_eq!(self.field("access-control-allow-origin"), Some("*"));
        assert!(self.field("etag").is_none() && self.field("last-modified").is_none());
    }

    /// Returns the body as text; panics if it is not UTF-8.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }

    /// Returns the body as JSON; panics if it is not.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// A connection to a server; what was read beyond a reply is kept for the next.
pub(crate) struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// Connects from another address of this machine.
pub(crate) fn connect_from(source: IpAddr, server: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((source, 0)).into())?;
    socket.connect(&server.into())?;
    Ok(socket.into())
}

/// Connects with a receive buffer so small that the server has to wait for us.
pub(crate) fn connect_narrow(server: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    socket.connect(&server.into()).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.into()
}

/// Sends one GET on a connection of its own.
pub(crate) fn get(address: SocketAddr, target: &str, fields: &[(&str, &str)]) -> Response {
    send(address, "GET", target, fields, b"")
}

/// Sends one request with a body on a connection of its own.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    target: &str,
    fields: &[(&str, &str)],
    body: &[u8],
) -> Response {
    let mut connection = Connection::open(address);
    connection.request(method, target, fields, body);
    connection.response(method)
}

impl Connection {
    /// Connects; reads and writes that take longer than the deadline of the tests fail.
    pub(crate) fn open(address: SocketAddr) -> Connection {
        Connection::over(TcpStream::connect(address).expect("the server accepts"))
    }

    /// Takes a socket that is connected.
    pub(crate) fn over(stream: TcpStream) -> Connection {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        stream.set_nodelay(true).unwrap();
        let unread = Vec::new();
        Connection { stream, unread }
    }

    /// Returns the socket.
    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends bytes as they are; panics if the server does not take them.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).expect("the server takes the bytes");
    }

    /// Sends bytes as they are.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a request with a Host, and with a Content-Length where there is a body or the method is POST.
    pub(crate) fn request(
        &mut self,
        method: &str,
        target: &str,
        fields: &[(&str, &str)],
        body: &[u8],
    ) {
        let head = self.head(method, target, fields, body.len());
        self.write(&[head.as_bytes(), body].concat());
    }

    /// Sends a request without a body, and reads its reply.
    pub(crate) fn send(&mut self, method: &str, target: &str, fields: &[(&str, &str)]) -> Response {
        self.request(method, target, fields, b"");
        self.response(method)
    }

    /// Sends a GET.
    pub(crate) fn get(&mut self, target: &str) -> Response {
        self.send("GET", target, &[])
    }

    /// Returns the head that [`Connection::request`] sends.
    pub(crate) fn head(
        &self,
        method: &str,
        target: &str,
        fields: &[(&str, &str)],
        length: usize,
    ) -> String {
        let host = self.stream.peer_addr().expect("the socket is connected");
        let mut head = format!("{method} {target} HTTP/1.1\r\n");
        if !fields.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {host}\r\n"));
        }
        for (name, value) in fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if length > 0 || method == "POST" {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head.push_str("\r\n");
        head
    }

    /// Reads the reply to a request with `method`; panics if none comes.
    pub(crate) fn response(&mut self, method: &str) -> Response {
        self.try_response(method).expect("a whole reply comes")
    }

    /// Reads the reply to a request with `method`.
    ///
    /// # Errors
    /// Those of the socket, `UnexpectedEof` where the connection ends before the reply, and `InvalidData` where the
    /// bytes are no reply.
    pub(crate) fn try_response(&mut self, method: &str) -> io::Result<Response> {
        let head = self.take_until(b"\r\n\r\n")?;
        let head = String::from_utf8(head).map_err(|_| invalid("the head is not UTF-8"))?;
        let (status, fields) = parse_head(&head)?;
        if (100..200).contains(&status) {
            return self.try_response(method);
        }
        let mut response = Response {
            status,
            fields,
            body: Vec::new(),
        };
        if method != "HEAD" && status != 204 && status != 304 {
            response.body = self.read_body(&response)?;
        }
        Ok(response)
    }

    /// Reads until the server closes, and returns everything that it still sent; a reset counts as closing.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        loop {
            match self.fill() {
                Ok(0) => return std::mem::take(&mut self.unread),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return std::mem::take(&mut self.unread);
                }
                Err(error) => panic!("the server does not close: {error}"),
            }
        }
    }

    fn read_body(&mut self, response: &Response) -> io::Result<Vec<u8>> {
        if response.field("transfer-encoding").is_some() {
            return self.read_chunks();
        }
        let length = response.field("content-length");
        let length = length.and_then(|text| text.parse().ok());
        self.take(length.ok_or_else(|| invalid("there is no length"))?)
    }

    fn read_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.take_until(b"\r\n")?;
            let digits = String::from_utf8_lossy(&line);
            let length =
                usize::from_str_radix(digits.trim(), 16).map_err(|_| invalid("no chunk length"))?;
            body.extend(self.take(length)?);
            self.take(2)?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    /// Reads up to the end of `mark`.
    fn take_until(&mut self, mark: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            match memchr::memmem::find(&self.unread, mark) {
                Some(at) => return self.take(at + mark.len()),
                None => self.fill_some()?,
            }
        }
    }

    /// Reads this many bytes.
    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.unread.len() < length {
            self.fill_some()?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    fn fill_some(&mut self) -> io::Result<()> {
        match self.fill()? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut buffer = [0; 64 * 1024];
        let length = self.stream.read(&mut buffer)?;
        self.unread.extend_from_slice(&buffer[..length]);
        Ok(length)
    }
}

pub(crate) fn parse_head(head: &str) -> io::Result<(u16, Vec<(String, String)>)> {
    let mut lines = head.trim_end().split("\r\n");
    let status = lines.next().and_then(|line| {
        let rest = line
            .strip_prefix("HTTP/1.1 ")
            .or_else(|| line.strip_prefix("HTTP/1.0 "))?;
        rest.get(..3)?.parse().ok()
    });
    let fields = lines.map(|line| {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| invalid("a field without a colon"))?;
        Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Ok((
        status.ok_or_else(|| invalid("no status line"))?,
        fields.collect::<io::Result<_>>()?,
    ))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
