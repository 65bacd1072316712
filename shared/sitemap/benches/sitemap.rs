//! Benchmarks of the format's cost, as ratios of medians from interleaved runs: `cargo bench -p waymark-sitemap`.
//!
//! A single time means little on a shared machine, but the ratio of two times that were measured in turn does.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::ops::Range;
use std::process::Command;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use sitemap::entry::{self, Entry};
use sitemap::loc::Loc;
use sitemap::member::{
    Builder, Built, Frame, MAX_SEGMENTS, Member, SEGMENT_SLOTS, Segment, splice,
};
use sitemap::time::When;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const SEGMENT: usize = SEGMENT_SLOTS as usize;
const PAGES: usize = MAX_SEGMENTS * SEGMENT;
const LEVEL: u32 = 7;
const EPOCH: u64 = 1;
/// The argument with which this process measures its own memory.
const PEAK: &str = "--peak";

fn main() -> Outcome {
    if std::env::args().any(|argument| argument == PEAK) {
        println!("{}", peak_over_floor()?);
        return Ok(());
    }
    // `cargo test --all-targets` runs benchmarks too, without optimization.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("run as: cargo bench -p waymark-sitemap");
        return Ok(());
    }
    let pages = pages(0..PAGES, Images::Mixed)?;
    let rows: Vec<Vec<u8>> = pages
        .iter()
        .map(|page| rendered(std::slice::from_ref(page)))
        .collect();
    let frame = Frame::urlset(None);
    let mut document = frame.prolog.clone();
    document.extend(rows.iter().flatten());
    document.extend_from_slice(frame.epilogue);
    println!(
        "{PAGES} URLs, one image each: {} bytes of XML\n",
        document.len()
    );
    println!("{:<58} {:>9} {:>9}", "", "measured", "aim");

    rendering(&pages, &document)?;
    shard(&pages, &document, &frame)?;
    one_record(&rows, &frame)?;
    memory()
}

fn rendering(pages: &[Page], document: &[u8]) -> Outcome {
    let (mut ours, mut copy, mut events) = (buffer(document), buffer(document), buffer(document));
    let times = interleaved(
        41,
        &mut [
            &mut || {
                ours.clear();
                pages
                    .iter()
                    .for_each(|page| entry::render(&page.entry(), &mut ours));
                black_box(&ours);
                Ok(())
            },
            &mut || {
                copy.clear();
                copy.extend_from_slice(black_box(document));
                black_box(&copy);
                Ok(())
            },
            &mut || {
                events.clear();
                write_events(pages, &mut events)?;
                black_box(&events);
                Ok(())
            },
        ],
    )?;
    report(
        "rendering, against memcpy of the same bytes",
        ratio(times[0], times[1]),
        Some(3.5),
        "x",
    );
    report(
        "rendering, against quick-xml's events API",
        ratio(times[0], times[2]),
        None,
        "x",
    );
    Ok(())
}

fn shard(pages: &[Page], document: &[u8], frame: &Frame) -> Outcome {
    let segments: Vec<Vec<u8>> = pages.chunks(SEGMENT).map(rendered).collect();
    let (mut whole, mut gzip, mut segmented) = (Vec::new(), Vec::new(), Vec::new());
    let times = interleaved(
        11,
        &mut [
            &mut || {
                let mut builder = Builder::new(frame, EPOCH);
                let mut xml = Vec::new();
                for pages in pages.chunks(SEGMENT) {
                    xml.clear();
                    pages
                        .iter()
                        .for_each(|page| entry::render(&page.entry(), &mut xml));
                    builder.push(&segment(&xml));
                }
                whole = builder.finish().bytes;
                Ok(())
            },
            &mut || {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
                encoder.write_all(document)?;
                gzip = encoder.finish()?;
                Ok(())
            },
            &mut || {
                let mut builder = Builder::new(frame, EPOCH);
                segments.iter().for_each(|xml| builder.push(&segment(xml)));
                segmented = builder.finish().bytes;
                Ok(())
            },
        ],
    )?;
    assert_eq!(whole, segmented);
    report(
        "whole shard, against gzip alone",
        ratio(times[0], times[1]),
        Some(1.3),
        "x",
    );
    report(
        "segmented, against monolithic: time",
        ratio(times[2], times[1]),
        Some(1.05),
        "x",
    );
    report(
        "segmented, against monolithic: size",
        percent_larger(&segmented, &gzip),
        Some(3.1),
        "% more",
    );
    sizes(frame)
}

/// Measures the sizes for further data, because they depend on nothing else. The less of an entry differs from the previous one,
/// the more the fresh start of each segment costs.
fn sizes(frame: &Frame) -> Outcome {
    for (what, images) in [
        (
            "- the same, all images named after their posts",
            Images::Titled,
        ),
        ("- the same, no images", Images::None),
    ] {
        let pages = pages(0..PAGES, images)?;
        let mut builder = Builder::new(frame, EPOCH);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
        encoder.write_all(&frame.prolog)?;
        for pages in pages.chunks(SEGMENT) {
            let xml = rendered(pages);
            builder.push(&segment(&xml));
            encoder.write_all(&xml)?;
        }
        encoder.write_all(frame.epilogue)?;
        report(
            what,
            percent_larger(&builder.finish().bytes, &encoder.finish()?),
            None,
            "% more",
        );
    }
    Ok(())
}

fn percent_larger(bytes: &[u8], base: &[u8]) -> f64 {
    (bytes.len() as f64 / base.len() as f64 - 1.0) * 100.0
}

fn one_record(rows: &[Vec<u8>], frame: &Frame) -> Outcome {
    let rebuild = || {
        let mut builder = Builder::new(frame, EPOCH);
        for rows in rows.chunks(SEGMENT) {
            builder.push(&segment(&rows.concat()));
        }
        builder.finish()
    };
    let stored = rebuild();
    let changed = MAX_SEGMENTS / 2;
    let (mut spliced, mut built): (Option<Built>, Option<Built>) = (None, None);
    let times = interleaved(
        11,
        &mut [
            &mut || {
                let member = Member::parse(&stored.bytes)?;
                let xml = rows[changed * SEGMENT..][..SEGMENT].concat();
                let changes = BTreeMap::from([(changed as u32, segment(&xml))]);
                spliced = Some(splice(&member, frame, &changes));
                Ok(())
            },
            &mut || {
                built = Some(rebuild());
                Ok(())
            },
        ],
    )?;
    assert_eq!(spliced, built);
    report(
        "one record spliced: a rebuild is so many times dearer",
        ratio(times[1], times[0]),
        Some(-40.0),
        "x",
    );
    Ok(())
}

fn memory() -> Outcome {
    let output = Command::new(std::env::current_exe()?).arg(PEAK).output()?;
    let kib: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    report(
        "peak memory of a whole build, over the process's floor",
        kib / 1024.0,
        Some(20.0),
        "MiB",
    );
    Ok(())
}

/// Returns the KiB that a build of all pages takes at its peak, in addition to the process's memory before.
fn peak_over_floor() -> Outcome<u64> {
    let floor = high_water_mark()?;
    let mut builder = Builder::new(&Frame::urlset(None), EPOCH);
    for number in 0..MAX_SEGMENTS {
        let pages = pages(number * SEGMENT..(number + 1) * SEGMENT, Images::Mixed)?;
        builder.push(&segment(&rendered(&pages)));
    }
    black_box(builder.finish());
    Ok(high_water_mark()? - floor)
}

/// Returns `VmHWM` in KiB.
fn high_water_mark() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("no VmHWM in /proc/self/status")?.parse()?)
}

struct Page {
    loc: Loc,
    lastmod: When,
    image: Option<Loc>,
}

/// How a page's image is named.
#[derive(Clone, Copy)]
enum Images {
    /// A third each: after the post, by a camera, or by a hash.
    Mixed,
    /// After the post.
    Titled,
    /// No image.
    None,
}

impl Page {
    fn entry(&self) -> Entry<'_> {
        Entry {
            loc: &self.loc,
            lastmod: Some(self.lastmod),
            changefreq: None,
            priority: None,
            videos: &[],
            news: None,
            images: self.image.as_slice(),
            alternates: &[],
        }
    }
}

fn pages(numbers: Range<usize>, images: Images) -> Outcome<Vec<Page>> {
    numbers.map(|number| page(number, images)).collect()
}

/// Returns a page of a blog with the same number of posts a day for 18 years. Its URL has a date, a few words of a title, and
/// sometimes a query with an ampersand. One page of four was edited later.
fn page(number: usize, images: Images) -> Outcome<Page> {
    const FIRST: i64 = 1_199_145_600; // 2008-01-01
    const APART: i64 = 18 * 365 * 86_400 / PAGES as i64;
    let mut random = Random(number as u64);
    let published = FIRST + number as i64 * APART + random.below(APART as u64) as i64;
    let age = (FIRST + PAGES as i64 * APART - published) as u64;
    let edited = if random.below(4) == 0 {
        random.below(age) as i64
    } else {
        0
    };
    let date = When::at(published).to_string()[..10].replace('-', "/");
    let words: Vec<String> = (0..3 + random.below(5)).map(|_| random.word()).collect();
    let title = words.join("-");
    let query = if random.below(20) == 0 {
        "?page=2&view=full"
    } else {
        ""
    };
    let image = match (images, random.below(3)) {
        (Images::None, _) => None,
        (Images::Titled, _) | (Images::Mixed, 0) => Some(format!(
            "{title}-{}x{}",
            300 + random.below(1_700),
            300 + random.below(900)
        )),
        (Images::Mixed, 1) => Some(format!(
            "IMG_{:08}_{:06}",
            random.below(100_000_000),
            random.below(1_000_000)
        )),
        (Images::Mixed, _) => Some(format!(
            "{:016x}{:016x}",
            random.below(u64::MAX),
            random.below(u64::MAX)
        )),
    };
    let image = image.map(|name| {
        Loc::parse_any(&format!(
            "https://cdn.example.com/uploads/{}/{name}.jpg",
            &date[..7]
        ))
    });
    Ok(Page {
        loc: Loc::parse_any(&format!(
            "https://www.example.com/blog/{date}/{title}/{query}"
        ))?,
        lastmod: When::at(published + edited),
        image: image.transpose()?,
    })
}

/// splitmix64: <https://prng.di.unimi.it/splitmix64.c>.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Returns one of 8,000 words. Short ones are much more frequent, as in a language.
    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 20] = [
            "ma", "ter", "in", "co", "de", "re", "li", "sto", "ver", "ny", "pa", "ble", "tu", "ra",
            "gen", "so", "win", "lo", "ch", "es",
        ];
        let count = 1 + self.below(3);
        (0..count)
            .map(|_| SYLLABLES[self.below(20) as usize])
            .collect()
    }
}

fn rendered(pages: &[Page]) -> Vec<u8> {
    let mut xml = Vec::new();
    pages
        .iter()
        .for_each(|page| entry::render(&page.entry(), &mut xml));
    xml
}

fn segment(xml: &[u8]) -> Segment<'_> {
    Segment {
        stamp: SEGMENT as u64,
        entries: SEGMENT_SLOTS,
        newest: None,
        xml,
    }
}

/// Writes the same document with quick-xml.
fn write_events(pages: &[Page], out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut writer = Writer::new(out);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut root = BytesStart::new("urlset");
    root.push_attribute(("xmlns", "http://www.sitemaps.org/schemas/sitemap/0.9"));
    root.push_attribute((
        "xmlns:image",
        "http://www.google.com/schemas/sitemap-image/1.1",
    ));
    root.push_attribute(("xmlns:xhtml", "http://www.w3.org/1999/xhtml"));
    writer.write_event(Event::Start(root))?;
    for page in pages {
        writer.write_event(Event::Start(BytesStart::new("url")))?;
        write_element(&mut writer, "loc", page.loc.as_str())?;
        write_element(&mut writer, "lastmod", &page.lastmod.to_string())?;
        if let Some(image) = &page.image {
            writer.write_event(Event::Start(BytesStart::new("image:image")))?;
            write_element(&mut writer, "image:loc", image.as_str())?;
            writer.write_event(Event::End(BytesEnd::new("image:image")))?;
        }
        writer.write_event(Event::End(BytesEnd::new("url")))?;
        writer.get_mut().push(b'\n');
    }
    writer.write_event(Event::End(BytesEnd::new("urlset")))
}

fn write_element(writer: &mut Writer<&mut Vec<u8>>, name: &str, text: &str) -> std::io::Result<()> {
    writer.write_event(Event::Start(BytesStart::new(name)))?;
    writer.write_event(Event::Text(BytesText::new(text)))?;
    writer.write_event(Event::End(BytesEnd::new(name)))
}

/// Returns the median time of each run. All are run once in every round, after a round to warm up.
#[expect(
    clippy::disallowed_methods,
    reason = "the crate is pure, its benchmark is not"
)]
fn interleaved(rounds: usize, runs: &mut [&mut dyn FnMut() -> Outcome]) -> Outcome<Vec<Duration>> {
    let mut times = vec![Vec::with_capacity(rounds); runs.len()];
    for round in 0..=rounds {
        for (run, times) in runs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            run()?;
            let time = start.elapsed();
            if round > 0 {
                times.push(time);
            }
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    Ok(times.into_iter().map(median).collect())
}

fn ratio(time: Duration, base: Duration) -> f64 {
    time.as_secs_f64() / base.as_secs_f64()
}

/// Prints a line. A negative aim is a minimum, any other a maximum.
fn report(what: &str, measured: f64, aim: Option<f64>, unit: &str) {
    let (aim, verdict) = match aim {
        None => (String::new(), ""),
        Some(least) if least < 0.0 => (
            format!(">= {}", -least),
            if measured >= -least { "ok" } else { "under" },
        ),
        Some(most) => (
            format!("<= {most}"),
            if measured <= most { "ok" } else { "over" },
        ),
    };
    println!("{what:<58} {measured:>9.2} {aim:>9} {unit:<7} {verdict}");
}

fn buffer(document: &[u8]) -> Vec<u8> {
    Vec::with_capacity(document.len())
}
