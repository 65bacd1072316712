//! CloudFront's logs in Parquet: files of pyarrow's, which `tables/write.py` writes, and files that the tests write, sound and damaged.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;

use crawl::bots::Bots;
use crawl::forms::{self, Form};
use crawl::input::Lines;
use crawl::input::table::{MAX_ROW_GROUP_BYTES, TableError};
use crawl::join::{Join, Wanted};
use crawl::log::{Reading, Source};
use crawl::report::Report;
use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const LINES: &str = include_str!("tables/cloudfront.jsonl");
const SNAPPY: &[u8] = include_bytes!("tables/snappy.parquet");
/// Has pages of the second version, and their checksums.
const GZIP: &[u8] = include_bytes!("tables/gzip.parquet");
/// Has other encodings.
const ZSTD: &[u8] = include_bytes!("tables/zstd.parquet");
const LZ4: &[u8] = include_bytes!("tables/lz4.parquet");

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Returns the requests of a table, or why they are none, and why it is not read to its end.
fn rows(bytes: &[u8]) -> Result<(Vec<String>, Option<String>), TableError> {
    let mut lines: Lines<io::Empty> = Lines::of_table(forms::table(file(bytes))?).unwrap();
    let mut reader = Form::CloudFrontParquet.reader();
    let mut rows = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        match reader.read(line) {
            Ok(None) => {}
            read => rows.push(format!("{read:?}")),
        }
    }
    Ok((rows, lines.stop().map(ToString::to_string)))
}

/// Returns the requests of JSON lines, or why they are none.
fn expected() -> Vec<String> {
    let mut reader = Form::CloudFrontJson.reader();
    let lines = LINES.lines().map(str::as_bytes);
    lines
        .map(|line| format!("{:?}", reader.read(line)))
        .collect()
}

#[track_caller]
fn refused(bytes: &[u8], reason: &str) {
    let error = rows(bytes).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
}

/// A column that a test writes.
enum Column<'c> {
    Texts(&'c [Option<&'c str>]),
    Whole(&'c [i32]),
    Long(&'c [i64]),
    Float(&'c [f32]),
    Double(&'c [f64]),
}

use Column::{Double, Float, Long, Texts, Whole};

/// Writes a table with a row group.
fn table(schema: &str, columns: &[Column<'_>]) -> Vec<u8> {
    let schema = format!("message log {{ {schema} }}");
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut columns = columns.iter();
    while let Some(mut column) = group.next_column().unwrap() {
        match (column.untyped(), columns.next().unwrap()) {
            (ColumnWriter::ByteArrayColumnWriter(column), Texts(texts)) => {
                let levels: Vec<i16> = texts.iter().map(|text| i16::from(text.is_some())).collect();
                let values = texts.iter().flatten();
                let values: Vec<ByteArray> = values.map(|text| ByteArray::from(*text)).collect();
                column.write_batch(&values, Some(&levels), None).unwrap();
            }
            (ColumnWriter::Int32ColumnWriter(column), Whole(values)) => {
                column.write_batch(values, None, None).unwrap();
            }
            (ColumnWriter::Int64ColumnWriter(column), Long(values)) => {
                column.write_batch(values, None, None).unwrap();
            }
            (ColumnWriter::FloatColumnWriter(column), Float(values)) => {
                column.write_batch(values, None, None).unwrap();
            }
            (ColumnWriter::DoubleColumnWriter(column), Double(values)) => {
                column.write_batch(values, None, None).unwrap();
            }
            _ => panic!("a column of another type"),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

const AGENT: &str = "optional binary cs_user_agent (STRING);";
const USUAL: &str =
    "required int64 timestamp; required int32 sc_status; optional binary cs_method (STRING);
    optional binary cs_uri_stem (STRING); optional binary cs_user_agent (STRING);";
const GET: Column<'static> = Texts(&[Some("GET"), Some("GET")]);

#[test]
fn tables_of_another_writer_say_what_their_rows_say_as_json() {
    let expected = expected();
    assert!(expected[3].contains("status: 0"), "{}", expected[3]);
    for bytes in [SNAPPY, GZIP, ZSTD] {
        assert_eq!(rows(bytes).unwrap(), (expected.clone(), None));
    }
    refused(LZ4, "its column date is packed with LZ4_RAW");
}

#[test]
fn values_may_be_numbers_or_missing() {
    let schema = "required double timestamp_ms; required int32 sc_status; optional binary cs_method (STRING);
        optional binary cs_uri_stem (STRING); optional binary cs_user_agent; optional binary c_ip (STRING);";
    let bytes = table(
        schema,
        &[
            Double(&[1_795_822_923_250.0, -1.0, f64::NAN, 1_795_822_923.5]),
            Whole(&[200, 200, 200, 0]),
            Texts(&[Some("GET"), Some("GET"), Some("GET"), None]),
            Texts(&[Some("/a\tb\n"), Some("/b"), Some("/c"), Some("/d")]),
            Texts(&[Some("GPT%20Bot"), None, None, None]),
            Texts(&[None, None, None, Some("192.0.2.1")]),
        ],
    );
    let (rows, stop) = rows(&bytes).unwrap();
    assert_eq!((rows.len(), stop), (4, None));
    let request = &rows[0];
    for part in ["time: 1795822923,", "client: None", "status: 200"] {
        assert!(request.contains(part), "{request}");
    }
    assert!(
        request.contains(&format!("target: {:?}", b"/a%09b%0A")),
        "{request}"
    );
    assert!(
        request.contains(&format!("agent: Some({:?})", b"GPT Bot")),
        "{request}"
    );
    assert_eq!(rows[1..3], ["Err(Time)", "Err(Time)"]);
    for part in [
        "status: 0",
        "client: Some(192.0.2.1)",
        "agent: None",
        "method: []",
    ] {
        assert!(rows[3].contains(part), "{}", rows[3]);
    }
}

#[test]
fn names_are_those_of_the_text_whatever_their_signs_and_letters() {
    let schema = "required int64 timestamp (TIMESTAMP_MICROS); required float SC_status;
        optional binary cs__method (STRING); optional binary cs_uri_stem (STRING); optional binary cs_User_Agent_;
        optional binary x_edge (STRING); optional binary cs_Host (STRING);";
    let columns = [
        Long(&[1_795_822_923_000_000, 1_795_822_923_000_000]),
        Float(&[200.0, 304.0]),
        GET,
        Texts(&[Some("#a"), Some("/b")]),
        GET,
        GET,
        GET,
    ];
    let (rows, stop) = rows(&table(schema, &columns)).unwrap();
    assert_eq!((rows.len(), stop), (2, None));
    assert!(
        rows[1].contains("status: 304") && rows[1].contains("host: None"),
        "{}",
        rows[1]
    );
}

#[test]
fn columns_that_are_missing_nested_or_of_another_type_are_named() {
    let one = [Long(&[1])];
    refused(
        &table("required int64 timestamp;", &one),
        "it has no column cs-uri-stem, sc-status, cs-method, cs(User-Agent)",
    );
    refused(
        &table("required int64 sc_status;", &one),
        "it has no column timestamp(ms) or timestamp or time, cs-uri-stem",
    );
    refused(
        &table("required group sc_status { required int64 code; }", &one),
        "its column sc_status is nested or repeated",
    );
    let repeated = "repeated int64 sc_status;";
    let schema = Arc::new(parse_message_type(&format!("message log {{ {repeated} }}")).unwrap());
    let writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
    let empty = writer.into_inner().unwrap();
    refused(&empty, "its column sc_status is nested or repeated");
    refused(
        &table("required int32 date (DATE);", &[Whole(&[1])]),
        "its column date has the type INT32 (Date)",
    );
    refused(
        &table("required int64 time (TIME_MICROS);", &one),
        "its column time has the type INT64 (TIME_MICROS)",
    );
    let twice = table(
        &format!("{AGENT} optional binary cs_User_Agent;"),
        &[GET, GET],
    );
    refused(
        &twice,
        "its columns cs_user_agent and cs_User_Agent have the same field",
    );
}

#[test]
fn a_table_without_rows_is_a_log_without_lines() {
    let schema = Arc::new(parse_message_type(&format!("message log {{ {USUAL} }}")).unwrap());
    let writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
    let empty = writer.into_inner().unwrap();
    assert_eq!(rows(&empty).unwrap(), (vec![], None));
}

#[test]
fn values_longer_than_a_line_are_one_row_that_is_too_long() {
    let long = "a".repeat(100_000);
    let columns = [
        Long(&[1_795_822_923, 1_795_822_924]),
        Whole(&[200, 200]),
        GET,
        Texts(&[Some(&long), Some("/b")]),
        GET,
    ];
    let read = read(&[("log", &table(USUAL, &columns))], false);
    let unread = &read.0.logs.unread;
    assert_eq!((read.0.logs.lines, unread.len()), (2, 1));
    assert!(
        unread[0].reason.contains("longer than"),
        "{}",
        unread[0].reason
    );
}

/// Changes the end of a file.
fn with_size(bytes: &[u8], group: usize, size: i64) -> Vec<u8> {
    let mut file = file(bytes);
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .unwrap();
    let mut builder = metadata.into_builder();
    let groups = builder.take_row_groups().into_iter().enumerate();
    for (at, row_group) in groups {
        let mut changed = row_group.into_builder();
        for column in changed.take_columns() {
            let mut column = column.into_builder();
            if at == group {
                column = column.set_total_uncompressed_size(size);
            }
            changed = changed.add_column_metadata(column.build().unwrap());
        }
        builder = builder.add_row_group(changed.build().unwrap());
    }
    let mut changed = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut changed).unwrap();
    let tail: [u8; 4] = changed[changed.len() - 8..changed.len() - 4]
        .try_into()
        .unwrap();
    changed.truncate(changed.len() - 8 - u32::from_le_bytes(tail) as usize);
    let metadata = builder.build();
    ParquetMetaDataWriter::new(&mut changed, &metadata)
        .finish()
        .unwrap();
    changed
}

#[test]
fn a_row_group_over_the_limit_is_refused_before_any_row_is_read() {
    let most = i64::try_from(MAX_ROW_GROUP_BYTES).unwrap();
    refused(&with_size(SNAPPY, 1, most / 4), "its row group 2 has ");
    // The columns that are read alone count.
    assert!(rows(&with_size(SNAPPY, 1, most / 10)).unwrap().1.is_none());
}

#[test]
fn a_file_that_is_cut_off_or_encrypted_says_so() {
    for end in [4, 11, 12, 100, SNAPPY.len() / 2, SNAPPY.len() - 1] {
        refused(&SNAPPY[..end], "it was cut off, or is still being written");
    }
    let mut encrypted = SNAPPY.to_vec();
    let end = encrypted.len() - 1;
    encrypted[end] = b'E';
    refused(&encrypted, "it is encrypted");
    let mut longer = SNAPPY.to_vec();
    longer[end - 7..end - 3].copy_from_slice(&u32::MAX.to_le_bytes());
    refused(&longer, "it was cut off");
}

#[test]
fn a_damage_at_any_byte_is_an_error_or_does_no_harm() {
    let expected = expected();
    let mut errors = [0, 0, 0];
    for at in (4..GZIP.len()).step_by(5) {
        let mut damaged = GZIP.to_vec();
        damaged[at] ^= 1 << (at % 8);
        match rows(&damaged) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                errors[0] += 1;
            }
            Ok((read, Some(stop))) => {
                assert!(read.len() <= expected.len(), "{at}");
                assert!(
                    stop.contains("Parquet data are damaged") && stop.contains("row group"),
                    "{stop}"
                );
                errors[1] += 1;
            }
            Ok((read, None)) => {
                // All of a page that is read has a checksum.
                assert!(read.len() <= expected.len(), "{at}: {read:?}");
                errors[2] += usize::from(read != expected);
            }
        }
    }
    let [refused, stopped, other] = errors;
    assert!(refused > 100 && stopped > 100, "{errors:?}");
    assert!(other < 30, "{errors:?}");
}

#[test]
fn a_wrong_checksum_names_the_column_and_keeps_the_rows_before() {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file(GZIP));
    let metadata = metadata.unwrap();
    let mut columns = metadata.row_group(1).columns().iter();
    let paths = columns.find(|column| column.column_path().string() == "cs_uri_stem");
    let (begin, bytes) = paths.unwrap().byte_range();
    let mut damaged = GZIP.to_vec();
    damaged[(begin + bytes) as usize - 1] ^= 0x10;
    let (read, stop) = rows(&damaged).unwrap();
    assert_eq!(read, expected()[..4]);
    assert_eq!(
        stop.unwrap(),
        "its Parquet data are damaged or end early: column cs_uri_stem of row group 2: the checksum of a page is wrong"
    );
}

/// Gives its bytes as a file or as a stream.
struct Given<'b>(&'b [u8], bool);

impl<'b> Source for Given<'b> {
    type Reader = &'b [u8];

    fn open(&mut self) -> io::Result<Self::Reader> {
        Ok(self.0)
    }

    fn on_disk(&mut self) -> io::Result<Option<File>> {
        Ok(self.1.then(|| file(self.0)))
    }
}

/// Reads logs. Returns the report, and why some are not read.
fn read(logs: &[(&str, &[u8])], is_on_disk: bool) -> (Report, Vec<String>) {
    let bots = Arc::new(Bots::built_in());
    let now = 1_795_910_400;
    let mut join = Join::new(bots, Wanted::default(), &std::env::temp_dir(), now);
    let sitemap = join.sitemap("https://www.example.com/sitemap.xml");
    for page in ["blog/a", "blog/b", "c"] {
        let loc = format!("https://www.example.com/{page}");
        join.list(sitemap, &loc, "").unwrap();
    }
    let mut reading = Reading::default();
    let mut errors = Vec::new();
    for (name, bytes) in logs {
        let source = Given(bytes, is_on_disk);
        if let Err(error) = reading.read(name, None, &mut join, source) {
            errors.push(format!("{name}: {error}"));
        }
    }
    errors.extend(reading.damages().iter().cloned());
    let mut report = join.finish(String::new(), |_, _, _| Ok(())).unwrap();
    reading.report(&mut report);
    (report, errors)
}

#[test]
fn a_table_is_a_log_like_others_on_disk_packed_or_from_a_stream() {
    let (of_lines, errors) = read(&[("lines", LINES.as_bytes())], false);
    assert_eq!((of_lines.total.ever, errors.len()), (1, 0));
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(SNAPPY).unwrap();
    let packed = packed.finish().unwrap();
    for (bytes, is_on_disk) in [(SNAPPY, true), (SNAPPY, false), (&packed[..], true)] {
        let (report, errors) = read(&[("table", bytes)], is_on_disk);
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(report.logs.forms[0].form, "cloudfront-parquet");
        assert_eq!(report.logs.lines, of_lines.logs.lines);
        assert_eq!(report.logs.requests, of_lines.logs.requests);
        assert_eq!(report.total, of_lines.total);
        assert_eq!(report.logs.unread[0].reason, of_lines.logs.unread[0].reason);
        assert!(!report.logs.unread[0].example.contains("203.0.113"));
    }
}

#[test]
fn a_bad_table_harms_no_other_log_and_a_copy_counts_once() {
    let cut = &SNAPPY[..SNAPPY.len() - 9];
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(SNAPPY).unwrap();
    let packed = packed.finish().unwrap();
    let half = &packed[..packed.len() / 2];
    let alone = read(&[("good", SNAPPY)], true).0;
    let logs = [
        ("cut", cut),
        ("good", SNAPPY),
        ("half", half),
        ("again", ZSTD),
        ("lz4", LZ4),
    ];
    let (report, errors) = read(&logs, true);
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(
        errors[0].starts_with("cut: it begins as Parquet"),
        "{}",
        errors[0]
    );
    assert!(
        errors[1].starts_with("half: its gzip data are damaged"),
        "{}",
        errors[1]
    );
    assert!(
        errors[2].starts_with("lz4: its column date"),
        "{}",
        errors[2]
    );
    assert_eq!(report.total, alone.total);
    assert_eq!(report.logs.requests, alone.logs.requests);
    let note = report
        .notes
        .iter()
        .find(|note| note.contains("again begins with"));
    assert!(note.is_some(), "{:?}", report.notes);
}
