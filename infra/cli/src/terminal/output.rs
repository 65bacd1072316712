//! The streams that the command prints to: results on stdout, messages and logs on stderr, all of it escaped.
//!
//! - A result is text for people, or JSON for a program ([`Format`]). Only text on stdout has colours.
//! - A reader that closes the pipe is no error: the rest is dropped, and the command's status says what it found.
//! - A device that is full is an error.
//! - What cannot be written to stderr is dropped: there is no other place for it.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use serde::Serialize;
use tracing_subscriber::fmt::MakeWriter;

use crate::terminal::text::{Text, Tone, json_escaped, shortened};

/// Puts the cursor into the first place and erases the screen (ECMA-48, CUP and ED).
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// In what form results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON document, when all is known.
    Json,
    /// One JSON document a line, as soon as each is known.
    JsonLines,
}

/// When text has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// On a terminal, unless the environment asks for none.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Returns whether stdout's text has colours. See <https://no-color.org> for the variable.
    #[must_use]
    pub fn is_on(self) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = || std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => !is_set("NO_COLOR") && !is_dumb() && io::stdout().is_terminal(),
        }
    }
}

/// Standard output.
#[derive(Debug, Default)]
pub struct Output {
    format: Format,
    colours: bool,
    closed: bool,
}

impl Output {
    /// Creates the standard output in this form, with or without colours.
    #[must_use]
    pub fn new(format: Format, colours: bool) -> Self {
        Self {
            format,
            colours,
            closed: false,
        }
    }

    /// Returns the form in which results are printed.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Prints a line, escaped, in a colour where there are colours.
    ///
    /// # Errors
    ///
    /// As [`Output::line`].
    pub fn toned(&mut self, tone: Tone, line: impl Display) -> io::Result<()> {
        let mut text = Text::default();
        text.toned(tone, line);
        self.text(&text)
    }

    /// Prints a result as JSON, over several lines or in one as the form says.
    ///
    /// # Errors
    ///
    /// As [`Output::line`].
    pub fn json(&mut self, result: &impl Serialize) -> io::Result<()> {
        let document = match self.format {
            Format::JsonLines => serde_json::to_string(result)?,
            _ => serde_json::to_string_pretty(result)?,
        };
        self.document(&format!("{}\n", json_escaped(&document)))
    }

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
        match self.colours {
            true => self.document(&shortened(&text.coloured())),
            false => self.document(&shortened(text)),
        }
    }

    /// Prints lines in place of all that the terminal shows.
    ///
    /// # Errors
    ///
    /// As [`Output::line`].
    pub fn redraw(&mut self, text: &Text) -> io::Result<()> {
        let text = match self.colours {
            true => text.coloured(),
            false => text.to_string(),
        };
        self.document(&format!("{CLEAR}{text}"))
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

    /// Returns whether the reader has closed the pipe.
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
    let _ = io::stderr().lock().write_all(shortened(&text).as_bytes());
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
