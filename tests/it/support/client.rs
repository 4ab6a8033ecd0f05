//! A small HTTP/1.1 client over a plain socket, which returns responses exactly as received.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use super::DEADLINE;

/// One response, as received.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    /// The status code.
    pub(crate) status: u16,
    /// The fields.
    pub(crate) fields: ReceivedFields,
    /// The body, delimited by Content-Length or by chunks.
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// Returns the value of the one field with this name (in lower case); panics if it is repeated.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.fields.iter().filter(|(field, _)| field == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} came twice: {self:?}");
        value
    }

    /// Returns the entity-tag; panics if there is none.
    pub(crate) fn etag(&self) -> &str {
        self.field("etag").expect("the response has an entity-tag")
    }

    /// Asserts the status and error code of an error response, and the properties that all error responses share.
    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16, error: &str) {
        let body = self.json();
        let found = (self.status, body["error"].as_str());
        assert_eq!(found, (status, Some(error)), "{self:?}");
        let message = body["message"].as_str();
        assert!(message.is_some_and(|text| !text.is_empty()));
        assert_eq!(self.field("content-type"), Some("application/json"));
        assert_eq!(self.field("cache-control"), Some("no-store"));
        assert_eq!(self.field("access-control-allow-origin"), Some("*"));
        assert!(self.field("etag").is_none());
        assert!(self.field("last-modified").is_none());
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

/// A connection to a server; bytes read beyond a response are kept for the next one.
pub(crate) struct Connection(BufReader<TcpStream>);

/// Connects from another address of this machine.
pub(crate) fn connect_from(source: IpAddr, server: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((source, 0)).into())?;
    socket.connect(&server.into())?;
    Ok(socket.into())
}

/// Connects with a receive buffer so small that the server has to wait for the client.
pub(crate) fn connect_narrow(server: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    socket.connect(&server.into()).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket.into()
}

/// Fields of a request: names and values.
pub(crate) type Fields<'a> = &'a [(&'a str, &'a str)];

/// Sends one GET on a new connection.
pub(crate) fn get(address: SocketAddr, target: &str, fields: Fields<'_>) -> Response {
    send(address, "GET", target, fields, b"")
}

/// Sends one request with a body on a new connection.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    target: &str,
    fields: Fields<'_>,
    body: &[u8],
) -> Response {
    let mut connection = Connection::open(address);
    connection.request(method, target, fields, body);
    connection.response(method)
}

/// Sends a JSON message to `/mcp` with further header fields on a new connection.
pub(crate) fn post_mcp(address: SocketAddr, fields: Fields<'_>, message: &str) -> Response {
    let fields = [&[("Content-Type", "application/json")], fields].concat();
    send(address, "POST", "/mcp", &fields, message.as_bytes())
}

/// Returns a request to the hub as a form, with further fields.
pub(crate) fn hub_form(mode: &str, topic: &str, callback: &str, more: Fields<'_>) -> String {
    let fields = [
        ("hub.mode", mode),
        ("hub.topic", topic),
        ("hub.callback", callback),
    ];
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields).extend_pairs(more).finish()
}

/// The media type of forms.
pub(crate) const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Sends a request to the hub at `address`; see [`hub_form`].
pub(crate) fn ask_hub(
    address: SocketAddr,
    mode: &str,
    topic: &str,
    callback: &str,
    more: Fields<'_>,
) -> Response {
    let form = hub_form(mode, topic, callback, more);
    send(address, "POST", "/api/websub/hub", &[FORM], form.as_bytes())
}

/// Returns the statuses of all responses in the output of a connection, interim ones included.
pub(crate) fn statuses(output: &str) -> Vec<&str> {
    let responses = output.split("HTTP/1.1 ").skip(1);
    responses
        .map(|rest| rest.get(..3).unwrap_or(rest))
        .collect()
}

impl Connection {
    /// Connects; reads and writes that take longer than the deadline of the tests fail.
    pub(crate) fn open(address: SocketAddr) -> Connection {
        Connection::over(TcpStream::connect(address).expect("the server accepts"))
    }

    /// Connects and gets a response, so that the connection is registered and idle.
    pub(crate) fn kept(address: SocketAddr) -> Connection {
        let mut connection = Connection::open(address);
        connection.assert_served();
        connection
    }

    /// Asserts that the connection is still served.
    #[track_caller]
    pub(crate) fn assert_served(&mut self) {
        assert_eq!(self.get("/healthz").status, 200);
    }

    /// Wraps a connected socket.
    pub(crate) fn over(stream: TcpStream) -> Connection {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Connection(BufReader::new(stream))
    }

    /// Returns the socket.
    pub(crate) fn stream(&self) -> &TcpStream {
        self.0.get_ref()
    }

    /// Sends raw bytes; panics if the server does not take them.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).expect("the server takes the bytes");
    }

    /// Sends raw bytes.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// Sends a request with a Host, and with a Content-Length if there is a body or the method is POST.
    pub(crate) fn request(&mut self, method: &str, target: &str, fields: Fields<'_>, body: &[u8]) {
        let head = self.head(method, target, fields, body.len());
        self.write(&[head.as_bytes(), body].concat());
    }

    /// Sends a request without a body, and reads its response.
    pub(crate) fn send(&mut self, method: &str, target: &str, fields: Fields<'_>) -> Response {
        self.request(method, target, fields, b"");
        self.response(method)
    }

    /// Sends a GET.
    pub(crate) fn get(&mut self, target: &str) -> Response {
        self.send("GET", target, &[])
    }

    /// Sends a GET to a server that may have closed the connection.
    pub(crate) fn try_get(&mut self, target: &str, fields: Fields<'_>) -> io::Result<Response> {
        let head = self.head("GET", target, fields, 0);
        self.try_write(head.as_bytes())?;
        self.try_response("GET")
    }

    /// Returns the head that [`Connection::request`] sends.
    pub(crate) fn head(
        &self,
        method: &str,
        target: &str,
        fields: Fields<'_>,
        length: usize,
    ) -> String {
        let mut head = format!("{method} {target} HTTP/1.1\r\n");
        if !fields.iter().any(|(name, _)| *name == "Host") {
            let host = self.stream().peer_addr().expect("the socket is connected");
            head.push_str(&format!("Host: {host}\r\n"));
        }
        for (name, value) in fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if length > 0 || method == "POST" {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head + "\r\n"
    }

    /// Reads the response to a request with `method`; panics if there is none.
    pub(crate) fn response(&mut self, method: &str) -> Response {
        self.try_response(method).expect("a whole response comes")
    }

    /// Reads the response to a request with `method`.
    ///
    /// # Errors
    /// Those of the socket, `UnexpectedEof` if the connection ends before the response, and `InvalidData` if the
    /// bytes are not a response.
    pub(crate) fn try_response(&mut self, method: &str) -> io::Result<Response> {
        let (first, fields) = read_head(&mut self.0)?;
        let status = first
            .strip_prefix("HTTP/1.")
            .and_then(|rest| rest.get(2..5));
        let status = status
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| invalid(&first))?;
        if (100..200).contains(&status) {
            return self.try_response(method);
        }
        let mut response = Response {
            status,
            fields,
            body: Vec::new(),
        };
        if method != "HEAD" && status != 204 && status != 304 {
            response.body = self.body(&response)?;
        }
        Ok(response)
    }

    /// Reads until the server closes, and returns everything that it still sent; a reset counts as closing.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Err(error) if error.kind() != io::ErrorKind::ConnectionReset => {
                panic!("the server does not close: {error}")
            }
            _ => rest,
        }
    }

    fn body(&mut self, response: &Response) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if response.field("transfer-encoding").is_none() {
            let length = response
                .field("content-length")
                .and_then(|text| text.parse().ok());
            self.take(length.ok_or_else(|| invalid("no length"))?, &mut body)?;
            return Ok(body);
        }
        loop {
            let digits = read_line(&mut self.0)?;
            let length = u64::from_str_radix(&digits, 16).map_err(|_| invalid(&digits))?;
            self.take(length, &mut body)?;
            read_line(&mut self.0)?;
            if length == 0 {
                return Ok(body);
            }
        }
    }

    /// Reads this many bytes more.
    fn take(&mut self, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        let taken = self.0.by_ref().take(length).read_to_end(bytes)?;
        if taken as u64 == length {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

/// Names in lower case and values, in the order received.
pub(crate) type ReceivedFields = Vec<(String, String)>;

/// Reads the first line of a message and its fields, whose values lose the white space around them.
pub(crate) fn read_head(stream: &mut impl BufRead) -> io::Result<(String, ReceivedFields)> {
    let first = read_line(stream)?;
    let mut fields = Vec::new();
    loop {
        let line = read_line(stream)?;
        if line.is_empty() {
            return Ok((first, fields));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid(&line))?;
        fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// Reads a line, and returns it without its end.
fn read_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_owned()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A request that a test's own server received.
pub(crate) struct ReadRequest {
    /// The method, the target, and the version.
    pub(crate) first_line: String,
    pub(crate) fields: ReceivedFields,
    pub(crate) body: Vec<u8>,
}

/// Reads a request whose body, if it has one, has a Content-Length.
pub(crate) fn read_request(stream: &mut impl BufRead) -> io::Result<ReadRequest> {
    let (first_line, fields) = read_head(stream)?;
    let length = fields.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    stream.read_exact(&mut body)?;
    Ok(ReadRequest {
        first_line,
        fields,
        body,
    })
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
