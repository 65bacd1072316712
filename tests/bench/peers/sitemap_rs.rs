//! The crate sitemap-rs, as its examples use it.

use std::fs::File;
use std::io::{BufRead, BufReader};

use flate2::{Compression, write::GzEncoder};
use sitemap_rs::{image::Image, url::Url, url_set::UrlSet};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let records = BufReader::new(File::open(&arguments[1]).unwrap()).lines();
    let urls = records.map(|line| {
        let record: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let images = record["images"].as_array().unwrap().iter();
        let at: jiff::Timestamp = record["modified_at"].as_str().unwrap().parse().unwrap();
        Url::builder(text(&record["url"]))
            .last_modified(at.to_zoned(jiff::tz::TimeZone::UTC))
            .images(images.map(|image| Image::new(text(&image["url"]))).collect())
            .build()
            .unwrap()
    });
    let set = UrlSet::new(urls.collect()).unwrap();
    let mut gzip = GzEncoder::new(File::create(&arguments[2]).unwrap(), Compression::new(6));
    set.write(&mut gzip).unwrap();
    gzip.finish().unwrap();
}
