//! Servers on loopback: a request is read here, and answered by the test.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// What was asked.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path, with its query.
    pub(crate) target: String,
    /// By their names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns a header's text, which is empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let mut request = Self {
            method: words.next().ok_or(io::ErrorKind::UnexpectedEof)?,
            target: words.next().unwrap_or_default(),
            ..Self::default()
        };
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
            request.headers.insert(name, value);
        }
        let length = request.header("content-length").parse().unwrap_or(0);
        request.body.resize(length, 0);
        reader.read_exact(&mut request.body)?;
        Ok(request)
    }
}

/// A server that does not answer yet.
pub(crate) struct Loopback {
    listener: TcpListener,
    /// Its origin.
    pub(crate) origin: String,
}

impl Loopback {
    pub(crate) fn bind() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        Self {
            listener,
            origin: format!("http://{address}"),
        }
    }

    /// Answers until the test's process ends: one request a connection, each by a thread of its own. Returns the origin.
    pub(crate) fn serve(
        self,
        answer: impl Fn(&Request, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> String {
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for mut stream in self.listener.incoming().map_while(Result::ok) {
                let answer = answer.clone();
                thread::spawn(move || {
                    // A client that has left is no failure of the server's.
                    if let Ok(request) = Request::read(&stream) {
                        drop(answer(&request, &mut stream));
                    }
                });
            }
        });
        self.origin
    }
}

/// Sends an answer, and ends the connection with it. `headers`: lines, each with its end.
pub(crate) fn respond(
    stream: &mut TcpStream,
    status: &str,
    headers: &str,
    body: &[u8],
) -> io::Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}
