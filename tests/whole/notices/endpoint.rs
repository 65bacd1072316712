//! A search engine's endpoint on loopback, with prescribed answers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use sweep::Endpoint;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The answer to one request.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// A status, and header lines.
    Status(u16, String),
    /// 200, a byte at a time.
    Slow,
    /// No answer, and the connection stays open.
    Hang,
    /// An incomplete answer, and the connection stays open.
    Half,
    /// The connection is closed.
    Close,
}

impl Answer {
    /// Returns a status without header lines.
    pub(super) fn status(status: u16) -> Self {
        Self::Status(status, String::new())
    }
}

/// A received request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// The lines before the body.
    pub(super) head: String,
    /// The body.
    pub(super) json: Value,
}

impl Request {
    /// Returns its URLs, in order.
    pub(super) fn urls(&self) -> Vec<String> {
        let urls = self.json["urlList"].as_array().unwrap();
        let mut urls: Vec<_> = urls
            .iter()
            .map(|url| url.as_str().unwrap().to_owned())
            .collect();
        urls.sort();
        urls
    }
}

#[derive(Debug, Default)]
struct State {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Request>>,
}

/// The engine. It accepts every request without a prescribed answer.
pub(super) struct Engine {
    pub(super) endpoint: Endpoint,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl Engine {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/indexnow", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let accepting = state.clone();
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(converse(stream, accepting.clone()));
            }
        });
        Self {
            endpoint: Endpoint::parse(&url).unwrap(),
            state,
            task,
        }
    }

    /// Prescribes the answer for the next request without one.
    pub(super) fn answer(&self, answer: Answer) {
        self.state.answers.lock().unwrap().push_back(answer);
    }

    /// Returns the requests since the last call.
    pub(super) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.state.requests.lock().unwrap())
    }

    /// Returns whether there was a request since the last call.
    pub(super) fn was_called(&self) -> bool {
        !self.state.requests.lock().unwrap().is_empty()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut stream: TcpStream, state: Arc<State>) {
    let request = read(&mut stream).await;
    state.requests.lock().unwrap().push(request);
    let answer = state.answers.lock().unwrap().pop_front();
    let text = |status, lines: &str| {
        format!("HTTP/1.1 {status} Whatever\r\n{lines}content-length: 0\r\n\r\n")
    };
    let sent = match answer.unwrap_or(Answer::status(200)) {
        Answer::Status(status, lines) => stream.write_all(text(status, &lines).as_bytes()).await,
        Answer::Slow => {
            for byte in text(200, "").bytes() {
                stream.write_all(&[byte]).await.unwrap();
                stream.flush().await.unwrap();
                tokio::task::yield_now().await;
            }
            Ok(())
        }
        Answer::Hang => std::future::pending().await,
        Answer::Half => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncont").await.unwrap();
            std::future::pending().await
        }
        Answer::Close => Ok(()),
    };
    sent.unwrap();
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    loop {
        assert!(
            stream.read_buf(&mut bytes).await.unwrap() > 0,
            "a whole request"
        );
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().unwrap())
        });
        if let Ok(json) = serde_json::from_slice(&bytes[end + 4..]) {
            assert_eq!(length, Some(bytes.len() - end - 4));
            return Request { head, json };
        }
    }
}
