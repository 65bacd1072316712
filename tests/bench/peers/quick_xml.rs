//! A loop over quick-xml by hand: each record is written as it is read.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use flate2::{Compression, write::GzEncoder};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

#[derive(serde::Deserialize)]
struct Record {
    url: String,
    modified_at: String,
    images: Vec<Image>,
}

#[derive(serde::Deserialize)]
struct Image {
    url: String,
}

fn text<W: Write>(writer: &mut Writer<W>, name: &str, text: &str) -> std::io::Result<()> {
    let element = writer.create_element(name);
    element.write_text_content(BytesText::new(text)).map(drop)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let records = BufReader::new(File::open(&arguments[1]).unwrap()).lines();
    let gzip = GzEncoder::new(File::create(&arguments[2]).unwrap(), Compression::new(6));
    let mut writer = Writer::new(gzip);
    let declaration = BytesDecl::new("1.0", Some("UTF-8"), None);
    writer.write_event(Event::Decl(declaration)).unwrap();
    let urlset = writer
        .create_element("urlset")
        .with_attribute(("xmlns", "http://www.sitemaps.org/schemas/sitemap/0.9"))
        .with_attribute(("xmlns:image", "http://www.google.com/schemas/sitemap-image/1.1"));
    let write = |writer: &mut Writer<_>| {
        for line in records {
            let record: Record = serde_json::from_str(&line?)?;
            writer
                .create_element("url")
                .write_inner_content(|writer| {
                    text(writer, "loc", &record.url)?;
                    text(writer, "lastmod", &record.modified_at)?;
                    for image in &record.images {
                        writer
                            .create_element("image:image")
                            .write_inner_content(|writer| text(writer, "image:loc", &image.url))?;
                    }
                    Ok(())
                })?;
        }
        Ok(())
    };
    urlset.write_inner_content(write).unwrap();
    writer.into_inner().finish().unwrap();
}
