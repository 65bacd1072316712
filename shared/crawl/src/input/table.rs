//! A table in Parquet, read as a text: a line with the names of its columns, and a line for each row, with tabs between the values.
//!
//! - Only some columns are read. Of each there are in memory its dictionary, its current page and some values.
//! - A file is judged by its end ([`Table::open`]) before any row is read: its columns, their types, packing and sizes.
//! - Nothing that a file says of a size is believed before it is compared with a limit, and no page with more bytes than it says.
//! - A value that is missing is `-`, and tabs and line breaks in a value are percent-encoded, as CloudFront writes them.
//!
//! The form is described at <https://parquet.apache.org/docs/file-format/>. Not read are encrypted files, nested columns, columns in
//! other files, and pages that are packed with Brotli, LZ4 or LZO.

mod columns;
mod error;
mod header;
mod pages;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use columns::{Column, Values};
pub use error::TableError;
use pages::Pages;

/// The bytes with which a file begins and ends.
pub(crate) const MAGIC: &[u8] = b"PAR1";

/// The bytes with which a file ends whose end is encrypted.
const ENCRYPTED: &[u8] = b"PARE";

/// The bytes of the length and the magic at a file's end.
const TAIL_BYTES: usize = 8;

/// The bytes of a file's end, which has the columns of all row groups. It is read at once. One of 33 columns has some 3 KB a row group.
pub const MAX_FOOTER_BYTES: u64 = 16 * 1024 * 1024;

/// The bytes, unpacked, of the columns that are read of a row group. Writers begin a new group at 128 MB, of all columns.
pub const MAX_ROW_GROUP_BYTES: u64 = 256 * 1024 * 1024;

/// The rows of which values are in memory.
const BATCH_ROWS: usize = 1_024;

/// The rows of a table as a text.
#[derive(Debug)]
pub struct Table {
    file: Arc<File>,
    metadata: ParquetMetaData,
    columns: Vec<Column>,
    /// The number of the next row group.
    group: usize,
    values: Vec<Box<dyn Values>>,
    /// Rows of the group that are not yet in `values`, and those in `values` that are not yet in `line`.
    rows: usize,
    ready: usize,
    /// What is not yet given is `line[at..]`.
    line: Vec<u8>,
    at: usize,
    /// Why there is no further row. It is told when all before is given.
    failed: Option<TableError>,
}

impl Table {
    /// Begins to read a file. `wanted`: the names of the columns, as CloudFront's text has them. `needed`: of those that a row needs,
    /// each with others that do as well.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is damaged or encrypted, lacks needed columns, or has wanted ones that are not read.
    pub fn open(file: File, wanted: &[&str], needed: &[&[&str]]) -> Result<Self, TableError> {
        let metadata = footer(&file)?;
        let columns = columns::find(metadata.file_metadata().schema_descr(), wanted, needed)?;
        let length = file.metadata().map_err(TableError::Read)?.len();
        let rows = metadata.row_groups().iter();
        let rows = rows.fold(0_i64, |sum, group| sum.saturating_add(group.num_rows()));
        let said = metadata.file_metadata().num_rows();
        if rows != said {
            let reason = format!("it has {said} rows, and its row groups have {rows}");
            return Err(TableError::Footer(reason));
        }
        for (group, number) in metadata.row_groups().iter().zip(1..) {
            let mut bytes = 0_u64;
            for column in &columns {
                let chunk = columns::chunk(group, column, number, length)?;
                bytes = bytes.saturating_add(chunk.unpacked);
            }
            if bytes > MAX_ROW_GROUP_BYTES {
                return Err(TableError::RowGroup { number, bytes });
            }
        }
        let mut line = b"#Fields:".to_vec();
        for column in &columns {
            line.push(b' ');
            line.extend_from_slice(column.field.as_bytes());
        }
        line.push(b'\n');
        Ok(Self {
            file: Arc::new(file),
            metadata,
            columns,
            group: 0,
            values: Vec::new(),
            rows: 0,
            ready: 0,
            line,
            at: 0,
            failed: None,
        })
    }

    /// Writes the next row. Returns `false` after the last.
    fn advance(&mut self) -> Result<bool, TableError> {
        while self.ready == 0 {
            if self.rows > 0 {
                self.fill()?;
            } else if !self.begin()? {
                return Ok(false);
            }
        }
        self.ready -= 1;
        self.line.clear();
        self.at = 0;
        for values in &mut self.values {
            values.write(&mut self.line);
            self.line.push(b'\t');
        }
        self.line.pop();
        // A line that begins so has names.
        if self.line.first() == Some(&b'#') {
            self.line.splice(..1, *b"%23");
        }
        self.line.push(b'\n');
        Ok(true)
    }

    /// Begins the next row group. Returns `false` after the last.
    fn begin(&mut self) -> Result<bool, TableError> {
        self.values.clear();
        let Some(group) = self.metadata.row_groups().get(self.group) else {
            return Ok(false);
        };
        self.group += 1;
        self.rows = columns::rows(group, self.group)?;
        let length = self.file.metadata().map_err(TableError::Read)?.len();
        let room = Arc::new(AtomicU64::new(MAX_ROW_GROUP_BYTES));
        for column in &self.columns {
            let chunk = columns::chunk(group, column, self.group, length)?;
            let (file, room) = (self.file.clone(), room.clone());
            let pages = Pages::new(file, &chunk, column.may_miss(), self.rows, room);
            self.values.push(columns::values(column, pages));
        }
        Ok(true)
    }

    /// Reads the values of the next rows.
    fn fill(&mut self) -> Result<(), TableError> {
        let rows = self.rows.min(BATCH_ROWS);
        for (values, column) in self.values.iter_mut().zip(&self.columns) {
            let damaged = |reason| TableError::Column {
                column: column.name.clone(),
                group: self.group,
                reason,
            };
            let read = values.fill(rows).map_err(damaged)?;
            if read != rows {
                return Err(damaged(format!("it ends {} rows early", self.rows - read)));
            }
        }
        self.rows -= rows;
        self.ready = rows;
        Ok(())
    }
}

impl Read for Table {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() && self.failed.is_none() {
            if self.at == self.line.len() {
                match self.advance() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => self.failed = Some(error),
                }
                continue;
            }
            let rest = &self.line[self.at..];
            let bytes = rest.len().min(into.len() - filled);
            into[filled..filled + bytes].copy_from_slice(&rest[..bytes]);
            filled += bytes;
            self.at += bytes;
        }
        if filled == 0
            && let Some(error) = self.failed.take()
        {
            return Err(error.into());
        }
        Ok(filled)
    }
}

/// Reads the end of a file.
fn footer(file: &File) -> Result<ParquetMetaData, TableError> {
    let at = |from: SeekFrom, bytes: usize| -> io::Result<Vec<u8>> {
        let (mut read, mut file) = (vec![0; bytes], file);
        file.seek(from)?;
        file.read_exact(&mut read)?;
        Ok(read)
    };
    let length = file.metadata().map_err(TableError::Read)?.len();
    let Some(before) = length.checked_sub((TAIL_BYTES + MAGIC.len()) as u64) else {
        return Err(TableError::Cut);
    };
    let tail = at(SeekFrom::End(-(TAIL_BYTES as i64)), TAIL_BYTES).map_err(TableError::Read)?;
    let (size, magic) = tail.split_at(TAIL_BYTES - MAGIC.len());
    if magic == ENCRYPTED {
        return Err(TableError::Encrypted);
    }
    if magic != MAGIC {
        return Err(TableError::Cut);
    }
    let size = size
        .iter()
        .rev()
        .fold(0, |size, byte| size << 8 | u64::from(*byte));
    if size > before {
        return Err(TableError::Cut);
    }
    if size > MAX_FOOTER_BYTES {
        return Err(TableError::Footer(format!(
            "it has {size} bytes, and {MAX_FOOTER_BYTES} are the most"
        )));
    }
    let begin = SeekFrom::Start(length - TAIL_BYTES as u64 - size);
    let bytes = at(begin, size as usize).map_err(TableError::Read)?;
    let decode = || ParquetMetaDataReader::decode_metadata(&bytes);
    columns::guarded(decode).map_err(TableError::Footer)
}
