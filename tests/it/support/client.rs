//! A small HTTP/1.1 client over a plain socket: it hides nothing and repairs nothing.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use super::DEADLINE;

/// Most bytes that are read for one reply; a test that needs more is wrong.
const RESPONSE_BYTES_MAX: usize = 256 << 20;

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
        let value = values.next();
        assert!(
            values.next().is_none(),
            "{name} came twice: {:?}",
            self.fields
        );
        value.map(|(_, value)| value.as_str())
    }

    /// Returns the entity-tag; panics if there is none.
    pub(crate) fn etag(&self) -> &str {
        self.field("etag").expect("the reply has an entity-tag")
    }

    /// Asserts the status of a refusal, the word of its body, and what every refusal has in common.
    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16, error: &str) {
        assert_eq!(
            (self.status, self.json()["error"].as_str()),
            (status, Some(error)),
            "{self:?}"
        );
        assert!(
            self.json()["message"]
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
    let mut connection = Connection::open(address);
    connection.request("GET", target, fields, b"");
    connection.response("GET")
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
        stream
            .set_read_timeout(Some(DEADLINE))
            .expect("a timeout can be set");
        stream
            .set_write_timeout(Some(DEADLINE))
            .expect("a timeout can be set");
        stream.set_nodelay(true).expect("the option can be set");
        Connection {
            stream,
            unread: Vec::new(),
        }
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
        self.request("GET", target, &[], b"");
        self.response("GET")
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
        if !fields
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
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

    /// Tells the server that nothing more comes from us.
    pub(crate) fn finish_writing(&mut self) {
        self.stream
            .shutdown(Shutdown::Write)
            .expect("the socket is open");
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
        let end = self.read_until(b"\r\n\r\n")?;
        let head: Vec<u8> = self.unread.drain(..end).collect();
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
        let length = response
            .field("content-length")
            .ok_or_else(|| invalid("there is no length"))?;
        let length: usize = length
            .parse()
            .map_err(|_| invalid("the length is no number"))?;
        while self.unread.len() < length {
            self.fill_some()?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    fn read_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = self.read_until(b"\r\n")?;
            let line: Vec<u8> = self.unread.drain(..end).collect();
            let digits = String::from_utf8_lossy(&line);
            let length =
                usize::from_str_radix(digits.trim(), 16).map_err(|_| invalid("no chunk length"))?;
            while self.unread.len() < length + 2 {
                self.fill_some()?;
            }
            body.extend(self.unread.drain(..length));
            self.unread.drain(..2);
            if length == 0 {
                return Ok(body);
            }
        }
    }

    /// Reads until `mark` is there, and returns the place behind it.
    fn read_until(&mut self, mark: &[u8]) -> io::Result<usize> {
        loop {
            if let Some(at) = self
                .unread
                .windows(mark.len())
                .position(|window| window == mark)
            {
                return Ok(at + mark.len());
            }
            self.fill_some()?;
        }
    }

    fn fill_some(&mut self) -> io::Result<()> {
        match self.fill()? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        assert!(
            self.unread.len() < RESPONSE_BYTES_MAX,
            "the reply has no end"
        );
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
