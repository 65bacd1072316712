//! Passes a body from a connection to the thread that reads it.

use std::fmt::Display;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use aws::chain;
use aws_smithy_types::body::SdkBody;
use bytes::{Buf, Bytes};
use check::page::response::{End, Response};
use http_body_util::BodyExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::time::{Instant, timeout, timeout_at};

/// The option that sets the time limit of one response, as failures end with it.
pub(crate) const TIMEOUT: &str = "--timeout";
/// Pieces of a body that wait to be read.
const PIECES: usize = 8;
/// Bytes of a body that is read once all of it has come. To have a thread wait for so few takes longer than to read them.
const SMALL: usize = 64 * 1024;

/// Until when a body may come, and how long that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) limit: Duration,
}

/// Reads a body as it comes. It is cut after `limit` bytes. What is known of the body by then is added to `response`.
///
/// # Errors
///
/// If the reader breaks off.
pub(crate) async fn read<T: Send + 'static>(
    body: SdkBody,
    response: &mut Response,
    limit: u64,
    reader: impl FnOnce(Box<dyn Read + Send>) -> T + Send + 'static,
    deadline: Deadline,
) -> Result<T, String> {
    let is_small = (body.content_length()).is_some_and(|bytes| bytes <= SMALL as u64);
    // A piece has a byte at least. One more says that the body was cut.
    let (send, receive) = mpsc::channel(if is_small { SMALL + 1 } else { PIECES });
    let read = move || {
        reader(Box::new(Pipe {
            receive,
            piece: Bytes::new(),
        }))
    };
    let broke_off = |error: &dyn Display| format!("the reader failed: {error}");
    if is_small {
        pump(body, response, send, deadline, limit).await;
        return catch_unwind(AssertUnwindSafe(read)).map_err(|_| broke_off(&"it panicked"));
    }
    let reading = tokio::task::spawn_blocking(read);
    pump(body, response, send, deadline, limit).await;
    reading.await.map_err(|error| broke_off(&error))
}

/// Returns a reader of a body for a thread that may wait. It reads as the body comes, and returns an error where the body is cut. A
/// reader may take its time: only the time that the server takes counts for the time limit.
pub(crate) fn piped(
    mut body: SdkBody,
    limit: u64,
    time: Duration,
    runtime: &Handle,
) -> impl Read + use<> {
    let (send, receive) = mpsc::channel(PIECES);
    // It ends with the body, with its time, or when nobody reads any more.
    runtime.spawn(async move {
        let (mut left, mut room) = (time, limit);
        loop {
            let began = Instant::now();
            let piece = match timeout(left, body.frame()).await {
                Ok(None) => return,
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
                Ok(Some(Err(_))) | Err(_) => return drop(send.send(Err(())).await),
            };
            left = left.saturating_sub(began.elapsed());
            room = room.saturating_sub(piece.len() as u64);
            let piece = if room == 0 { Err(()) } else { Ok(piece) };
            if send.send(piece).await.is_err() || room == 0 {
                return;
            }
        }
    });
    Pipe {
        receive,
        piece: Bytes::new(),
    }
}

/// Reads at most `limit` bytes of a body, uncompressed.
pub(crate) async fn text(
    body: SdkBody,
    response: &mut Response,
    limit: usize,
    deadline: Deadline,
) -> Vec<u8> {
    let (send, mut receive) = mpsc::channel::<Result<Bytes, ()>>(PIECES);
    let mut raw = Vec::new();
    let collect = async {
        while let Some(Ok(piece)) = receive.recv().await {
            raw.extend_from_slice(&piece);
            if raw.len() > limit {
                break;
            }
        }
        drop(receive);
    };
    futures::join!(pump(body, response, send, deadline, limit as u64), collect);
    if !response.is_gzip_encoded() {
        return raw;
    }
    let mut text = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(&raw[..]).take(limit as u64 + 1);
    // What is damaged or cut is as long as it can be read.
    let _ = reader.read_to_end(&mut text);
    text
}

/// Passes a body on, piece by piece.
async fn pump(
    body: SdkBody,
    response: &mut Response,
    send: mpsc::Sender<Result<Bytes, ()>>,
    deadline: Deadline,
    limit: u64,
) {
    let mut body = body;
    let cut = loop {
        let frame = match timeout_at(deadline.at, body.frame()).await {
            Err(_) => break format!("it took more than {:?} ({TIMEOUT})", deadline.limit),
            Ok(None) => {
                response.end = End::Whole;
                return;
            }
            Ok(Some(Err(error))) => break chain(&*error),
            Ok(Some(Ok(frame))) => frame,
        };
        let piece = frame.into_data().unwrap_or_default();
        if piece.is_empty() {
            continue;
        }
        response.received += piece.len() as u64;
        if send.send(Ok(piece)).await.is_err() || response.received > limit {
            // The reader has what it wants; a body over the limit is cut there.
            response.end = End::Enough;
            if response.received > limit {
                // If nobody reads any more, nobody is to be told.
                let _ = send.send(Err(())).await;
            }
            return;
        }
    };
    // As above.
    let _ = send.send(Err(())).await;
    response.end = End::Cut(cut);
}

/// A body that comes from elsewhere, for a reader that waits.
struct Pipe {
    receive: mpsc::Receiver<Result<Bytes, ()>>,
    piece: Bytes,
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            // What is there already is taken where nobody may wait.
            let piece = match self.receive.try_recv() {
                Ok(piece) => Some(piece),
                Err(TryRecvError::Disconnected) => None,
                Err(TryRecvError::Empty) => self.receive.blocking_recv(),
            };
            match piece {
                None => return Ok(0),
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(())) => return Err(io::Error::other("the body ended early")),
            }
        }
        let count = self.piece.len().min(out.len());
        self.piece.copy_to_slice(&mut out[..count]);
        Ok(count)
    }
}
