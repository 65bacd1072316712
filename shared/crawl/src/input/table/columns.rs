//! The columns of a table that are read, and their values as text.

use std::fmt;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use memchr::memchr3;
use parquet::basic::{CompressionCodec, ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};

use super::MAGIC;
use super::error::TableError;
use super::pages::{Chunk, Codec, Pages};
use crate::input::MAX_LINE_BYTES;

/// A column that is read.
#[derive(Debug)]
pub(super) struct Column {
    /// Its name in the file.
    pub(super) name: String,
    /// Its name in a text of CloudFront's.
    pub(super) field: String,
    /// Its place among all columns.
    at: usize,
    description: ColumnDescPtr,
}

impl Column {
    /// Returns whether values may be missing.
    pub(super) fn may_miss(&self) -> bool {
        self.description.max_def_level() > 0
    }
}

/// Finds columns. A name in a file may have underscores in place of other signs, and letters of any case.
pub(super) fn find(
    schema: &SchemaDescriptor,
    wanted: &[&str],
    needed: &[&[&str]],
) -> Result<Vec<Column>, TableError> {
    let mut found: Vec<Column> = Vec::new();
    for root in schema.root_schema().get_fields() {
        let name = root.name();
        let field = wanted.iter().find(|field| plain(field) == plain(name));
        let Some(field) = field else { continue };
        if let Some(first) = found.iter().find(|column| column.field == *field) {
            return Err(TableError::Twice {
                first: first.name.clone(),
                second: name.to_owned(),
            });
        }
        let all = schema.columns().iter();
        let at = all
            .clone()
            .position(|column| matches!(column.path().parts(), [only] if only == name));
        let Some((at, description)) = at.zip(at.and_then(|at| all.clone().nth(at))) else {
            return Err(TableError::Nested(name.to_owned()));
        };
        if description.max_rep_level() > 0 {
            return Err(TableError::Nested(name.to_owned()));
        }
        if let Some(kind) = unread(description) {
            let column = name.to_owned();
            return Err(TableError::Type { column, kind });
        }
        found.push(Column {
            name: name.to_owned(),
            field: (*field).to_owned(),
            at,
            description: description.clone(),
        });
    }
    let has = |field: &&str| found.iter().any(|column| column.field == *field);
    let missing = needed.iter().filter(|fields| !fields.iter().any(has));
    let missing: Vec<String> = missing.map(|fields| fields.join(" or ")).collect();
    if !missing.is_empty() {
        return Err(TableError::Missing(missing));
    }
    Ok(found)
}

/// Returns a name with an underscore in place of all that is neither letter nor digit, and of several such signs.
fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for sign in name.chars() {
        match sign {
            'a'..='z' | 'A'..='Z' | '0'..='9' => plain.push(sign.to_ascii_lowercase()),
            _ if plain.ends_with('_') => {}
            _ => plain.push('_'),
        }
    }
    plain.trim_end_matches('_').to_owned()
}

/// Returns the name of a column's type, if it is not read.
fn unread(column: &ColumnDescPtr) -> Option<String> {
    let physical = column.physical_type();
    if let Some(logical) = column.logical_type_ref() {
        let is_read = match logical {
            LogicalType::String | LogicalType::Enum | LogicalType::Json => true,
            LogicalType::Integer(_) | LogicalType::Timestamp(_) => physical != Type::INT96,
            _ => false,
        };
        if !is_read {
            return Some(format!("{physical} ({logical:?})"));
        }
    }
    let converted = column.converted_type();
    match converted {
        ConvertedType::DATE
        | ConvertedType::DECIMAL
        | ConvertedType::TIME_MILLIS
        | ConvertedType::TIME_MICROS
        | ConvertedType::INTERVAL
        | ConvertedType::BSON => return Some(format!("{physical} ({converted})")),
        _ => {}
    }
    match physical {
        Type::BYTE_ARRAY | Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => None,
        Type::BOOLEAN | Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY => Some(physical.to_string()),
    }
}

/// Returns the rows of a row group. `number`: the group's, from 1.
pub(super) fn rows(group: &RowGroupMetaData, number: usize) -> Result<usize, TableError> {
    let rows = group.num_rows();
    // A page says its values as an i32, and the pages of a group are limited.
    let rows = u32::try_from(rows)
        .ok()
        .and_then(|rows| usize::try_from(rows).ok());
    rows.ok_or_else(|| {
        TableError::Footer(format!(
            "row group {number} says that it has {} rows",
            group.num_rows()
        ))
    })
}

/// Returns the place of a column's pages in a file of `length` bytes.
pub(super) fn chunk(
    group: &RowGroupMetaData,
    column: &Column,
    number: usize,
    length: u64,
) -> Result<Chunk, TableError> {
    let bad = |reason: &str| TableError::Column {
        column: column.name.clone(),
        group: number,
        reason: reason.to_owned(),
    };
    let Some(chunk) = group.columns().get(column.at) else {
        return Err(bad("it is not there"));
    };
    if chunk.file_path().is_some_and(|path| !path.is_empty()) {
        return Err(bad("it is in another file"));
    }
    let codec = match chunk.compression_codec() {
        CompressionCodec::UNCOMPRESSED => Codec::None,
        CompressionCodec::SNAPPY => Codec::Snappy,
        CompressionCodec::GZIP => Codec::Gzip,
        CompressionCodec::ZSTD => Codec::Zstd,
        other => {
            return Err(TableError::Codec {
                column: column.name.clone(),
                codec: other.to_string(),
            });
        }
    };
    let data = chunk.data_page_offset();
    // Some writers say 0 if there is no dictionary.
    let dictionary = chunk.dictionary_page_offset().filter(|at| *at > 0);
    let from = u64::try_from(dictionary.unwrap_or(data).min(data));
    let bytes = u64::try_from(chunk.compressed_size());
    let (Ok(from), Ok(bytes)) = (from, bytes) else {
        return Err(bad("the file's end says less than no bytes of it"));
    };
    let Some(to) = from.checked_add(bytes).filter(|to| *to <= length) else {
        return Err(bad("the file's end says that it is behind the end"));
    };
    if from < MAGIC.len() as u64 {
        return Err(bad("the file's end says that it is before the beginning"));
    }
    Ok(Chunk {
        from,
        to,
        codec,
        unpacked: u64::try_from(chunk.uncompressed_size()).unwrap_or_default(),
    })
}

/// The values of a column.
pub(super) trait Values: Send {
    /// Reads the values of so many rows. Returns of how many there were some.
    fn fill(&mut self, rows: usize) -> Result<usize, String>;

    /// Writes the next value.
    fn write(&mut self, out: &mut Vec<u8>);
}

impl fmt::Debug for dyn Values {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Values")
    }
}

/// Returns a reader of a column's values.
pub(super) fn values(column: &Column, pages: Pages) -> Box<dyn Values> {
    match get_column_reader(column.description.clone(), Box::new(pages)) {
        ColumnReader::ByteArrayColumnReader(reader) => Box::new(Typed::new(reader, column)),
        ColumnReader::Int32ColumnReader(reader) => Box::new(Typed::new(reader, column)),
        ColumnReader::Int64ColumnReader(reader) => Box::new(Typed::new(reader, column)),
        ColumnReader::FloatColumnReader(reader) => Box::new(Typed::new(reader, column)),
        ColumnReader::DoubleColumnReader(reader) => Box::new(Typed::new(reader, column)),
        ColumnReader::BoolColumnReader(_)
        | ColumnReader::Int96ColumnReader(_)
        | ColumnReader::FixedLenByteArrayColumnReader(_) => Box::new(Unread),
    }
}

/// A column of a type that [`find`] refuses.
struct Unread;

impl Values for Unread {
    fn fill(&mut self, _: usize) -> Result<usize, String> {
        Err("its type is not read".to_owned())
    }

    fn write(&mut self, _: &mut Vec<u8>) {}
}

/// The values of a column of one type.
struct Typed<T: DataType> {
    reader: ColumnReaderImpl<T>,
    may_miss: bool,
    /// Of each row, whether it has a value.
    levels: Vec<i16>,
    values: Vec<T::T>,
    /// The next of both.
    row: usize,
    value: usize,
}

impl<T: DataType> Typed<T> {
    fn new(reader: ColumnReaderImpl<T>, column: &Column) -> Self {
        Self {
            reader,
            may_miss: column.may_miss(),
            levels: Vec::new(),
            values: Vec::new(),
            row: 0,
            value: 0,
        }
    }
}

impl<T: DataType> Values for Typed<T>
where
    T::T: Value,
    ColumnReaderImpl<T>: Send,
{
    fn fill(&mut self, rows: usize) -> Result<usize, String> {
        self.levels.clear();
        self.values.clear();
        (self.row, self.value) = (0, 0);
        let (reader, levels, values) = (&mut self.reader, &mut self.levels, &mut self.values);
        let levels = self.may_miss.then_some(levels);
        let (read, values, _) = guarded(|| reader.read_records(rows, levels, None, values))?;
        let expected = match self.may_miss {
            true => self.levels.iter().filter(|level| **level > 0).count(),
            false => read,
        };
        match values == expected && self.values.len() == expected {
            true => Ok(read),
            false => Err(format!("it has {values} values for {expected} rows")),
        }
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        let is_there = !self.may_miss || self.levels.get(self.row).is_some_and(|level| *level > 0);
        self.row += 1;
        let value = self.values.get(self.value).filter(|_| is_there);
        self.value += usize::from(is_there);
        match value {
            Some(value) => value.write(out),
            None => out.push(b'-'),
        }
    }
}

/// A value that has a text.
trait Value {
    fn write(&self, out: &mut Vec<u8>);
}

impl Value for ByteArray {
    fn write(&self, out: &mut Vec<u8>) {
        let mut rest = self.data();
        // Of a longer line no more is read. It has to be longer, so that it is counted as one.
        rest = &rest[..rest.len().min(MAX_LINE_BYTES + 1)];
        while let Some(at) = memchr3(b'\t', b'\n', b'\r', rest) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(match rest[at] {
                b'\t' => b"%09",
                b'\n' => b"%0A",
                _ => b"%0D",
            });
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
    }
}

macro_rules! written {
    ($($number:ty),*) => {
        $(impl Value for $number {
            fn write(&self, out: &mut Vec<u8>) {
                // To memory, which takes all.
                write!(out, "{self}").unwrap_or_default();
            }
        })*
    };
}

written!(i32, i64, f32, f64);

/// Calls the crate `parquet`. It panics at some damages that no check before has found.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(match error {
            ParquetError::General(reason)
            | ParquetError::NYI(reason)
            | ParquetError::EOF(reason) => reason,
            ParquetError::External(error) => error.to_string(),
            error => error.to_string(),
        }),
        Err(_) => Err("it is damaged in a way that its reader does not expect".to_owned()),
    }
}
