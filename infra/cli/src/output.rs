//! Where the command prints: results on stdout, messages and logs on stderr, all of it escaped.
//!
//! - A reader that closes the pipe is no error: the rest is dropped, and the command's status says what it found.
//! - A device that is full is an error.
//! - What cannot be written to stderr is dropped: nobody is left to be told.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use tracing_subscriber::fmt::MakeWriter;

use crate::text::Text;

/// Standard output.
#[derive(Debug, Default)]
pub struct Output {
    closed: bool,
}

impl Output {
    /// Prints a line, escaped.
    ///
    /// # Errors
    ///
    /// If it cannot be written, but for a closed pipe.
    pub fn line(&mut self, line: impl Display) -> io::Result<()> {
        let mut text = Text::default();
        text.line(line);
        self.text(&text)
    }

    /// Prints lines.
    ///
    /// # Errors
    ///
    /// As [`Output::line`].
    pub fn text(&mut self, text: &Text) -> io::Result<()> {
        self.document(text)
    }

    /// Prints a document for a program, byte for byte: of the user's own or of ours.
    ///
    /// # Errors
    ///
    /// As [`Output::line`].
    pub fn document(&mut self, document: &str) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(document.as_bytes());
        match written.and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            written => written,
        }
    }

    /// Whether the reader has closed the pipe.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

/// Prints a message, escaped, on stderr.
pub fn note(message: impl Display) {
    let mut text = Text::default();
    text.line(message);
    // stderr itself failed, so there is nowhere to report it.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Where log lines go: [`note`], one event a line.
#[derive(Clone, Copy, Debug)]
pub struct Log;

impl Write for Log {
    /// Takes a whole event, as the formatter of `tracing-subscriber` writes them.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        note(text.trim_end_matches('\n'));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}
