//! Prints what is read of each line of a log, as JSON: `requests FILE [FORM]`.
//!
//! A byte of a text is printed as the character with its number. Tests compare this with what they asked servers for.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use crawl::forms::Form;
use crawl::input::Lines;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("no file")?;
    let mut lines = Lines::open(File::open(file)?)?;
    let form = match arguments.next() {
        Some(name) => Form::parse(&name)?,
        None => Form::detect(lines.head()?)?,
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut reader = form.reader();
    while let Some(line) = lines.next()? {
        let read = match reader.read(line) {
            Ok(None) => continue,
            Ok(Some(request)) => json!({
                "form": form.name(),
                "time": request.time,
                "client": request.client,
                "method": text(&request.method),
                "host": request.host.as_deref().map(text),
                "target": text(&request.target),
                "is_cut": request.is_cut,
                "status": request.status,
                "agent": request.agent.as_deref().map(text),
            }),
            Err(unread) => json!({ "form": form.name(), "unread": format!("{unread:?}") }),
        };
        writeln!(out, "{read}")?;
    }
    out.flush()?;
    match lines.stop() {
        Some(stop) => Err(stop.to_string().into()),
        None => Ok(()),
    }
}

fn text(bytes: &[u8]) -> Value {
    bytes
        .iter()
        .map(|&byte| char::from(byte))
        .collect::<String>()
        .into()
}
