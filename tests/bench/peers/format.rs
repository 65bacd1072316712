//! Waymark's format layer alone: from records to rendered entries to a gzipped sitemap, as a build and the functions do it. With
//! a third argument, gzip alone: the sitemap of the second argument, compressed at the same level.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use sitemap::entry::{self, Entry};
use sitemap::loc::Loc;
use sitemap::member::{Builder, Frame, SEGMENT_SLOTS, Segment};

/// The compression level of Waymark's sitemaps.
const LEVEL: u32 = 7;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(3) {
        None => std::fs::write(&arguments[2], format(&arguments[1])).unwrap(),
        Some(out) => std::fs::write(out, gzip(&arguments[2])).unwrap(),
    }
}

fn format(records: &str) -> Vec<u8> {
    let mut lines = BufReader::new(File::open(records).unwrap())
        .lines()
        .peekable();
    let mut builder = Builder::new(&Frame::urlset(None), 1);
    let mut xml = Vec::new();
    while lines.peek().is_some() {
        xml.clear();
        let mut entries = 0;
        for line in lines.by_ref().take(SEGMENT_SLOTS as usize) {
            let record: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            let loc = |value: &serde_json::Value| Loc::parse_any(value.as_str().unwrap()).unwrap();
            let images: Vec<_> = record["images"]
                .as_array()
                .unwrap()
                .iter()
                .map(|image| loc(&image["url"]))
                .collect();
            let entry = Entry {
                loc: &loc(&record["url"]),
                lastmod: Some(record["modified_at"].as_str().unwrap().parse().unwrap()),
                changefreq: None,
                priority: None,
                videos: &[],
                news: None,
                images: &images,
                alternates: &[],
            };
            entry::render(&entry, &mut xml);
            entries += 1;
        }
        builder.push(&Segment {
            stamp: 1,
            entries,
            newest: None,
            xml: &xml,
        });
    }
    builder.finish().bytes
}

fn gzip(sitemap: &str) -> Vec<u8> {
    let mut xml = Vec::new();
    MultiGzDecoder::new(File::open(sitemap).unwrap())
        .read_to_end(&mut xml)
        .unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    encoder.write_all(&xml).unwrap();
    encoder.finish().unwrap()
}
