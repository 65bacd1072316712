//! Posts that are kept in a temporary file until their export was read, because later entries decide about them, too.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A post as it was read.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Post {
    pub(super) id: String,
    pub(super) type_name: String,
    /// As WordPress calls it.
    pub(super) status: String,
    /// The number of the post that it is under; 0 for none.
    pub(super) parent: u64,
    /// Its dates in the zone of the site, by the record's field, where there is none in GMT.
    pub(super) local: Vec<(String, String)>,
    /// The fields of its record that are known already.
    pub(super) fields: Map<String, Value>,
}

impl Post {
    /// Returns its address.
    pub(super) fn url(&self) -> &str {
        let url = self.fields.get("url").and_then(Value::as_str);
        url.unwrap_or_default()
    }
}

/// Posts in a temporary file.
pub(super) struct Spool(BufWriter<File>);

impl Spool {
    /// Makes the temporary file.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(BufWriter::new(tempfile::tempfile()?)))
    }

    /// Adds a post.
    pub(super) fn add(&mut self, post: &Post) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, post)?;
        self.0.write_all(b"\n")
    }

    /// Returns the posts in their order.
    pub(super) fn posts(self) -> io::Result<impl Iterator<Item = io::Result<Post>>> {
        let mut file = self
            .0
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        let lines = BufReader::new(file).lines();
        Ok(lines.map(|line| Ok(serde_json::from_str(&line?)?)))
    }
}
