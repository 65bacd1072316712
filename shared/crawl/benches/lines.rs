//! Lines a CPU second of the readers, and of an awk script that only counts the URLs of bots: `cargo bench -p waymark-crawl`. With
//! `--features parquet` also rows.
//!
//! A single time means little on a shared machine. The ratio is of the CPU times of one run on the same file.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use crawl::forms::Form;
use crawl::input::Lines;
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::time::{ClockId, clock_gettime};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const LINES: u64 = 1_000_000;
const AWK: &str = r#"BEGIN { FS = "\"" } $6 ~ /Googlebot|bingbot|GPTBot/ { split($2, r, " "); n[r[2]]++ } END { print length(n) }"#;

const AGENTS: [&str; 5] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:144.0) Gecko/20100101 Firefox/144.0",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
];

fn main() -> Outcome {
    // `cargo test --all-targets` runs benchmarks too, without optimization.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("run as: cargo bench -p waymark-crawl");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let combined = path("combined");
    write(&combined, |out, n| {
        let (client, url, agent) = parts(n);
        let clock = clock(n);
        writeln!(
            out,
            r#"{client} - - [27/Nov/2026:{clock} +0000] "GET {url} HTTP/1.1" 200 {n} "-" "{agent}""#
        )
    })?;
    write(&path("caddy"), |out, n| {
        let (client, url, agent) = parts(n);
        writeln!(
            out,
            r#"{{"level":"info","ts":{}.25,"logger":"http.log.access.log0","msg":"handled request","request":{{"remote_ip":"{client}","remote_port":"50712","proto":"HTTP/1.1","method":"GET","host":"www.example.com","uri":"{url}","headers":{{"User-Agent":["{agent}"],"Accept":["*/*"]}}}},"user_id":"","duration":0.0046,"size":5,"status":200,"resp_headers":{{"Server":["Caddy"],"Content-Type":["text/html; charset=utf-8"]}}}}"#,
            1_795_822_917 + n / 20
        )
    })?;
    write(&path("cloudfront"), |out, n| {
        let (client, url, agent) = parts(n);
        let (clock, agent) = (clock(n), agent.replace(' ', "%20"));
        writeln!(
            out,
            "2026-11-27\t{clock}\tFRA56-P4\t{n}\t{client}\tGET\td1.cloudfront.net\t{url}\t200\t-\t{agent}\t-\t-\tHit\txyz==\twww.example.com\thttps\t23\t0.001\t-\tTLSv1.3\tTLS_AES_128_GCM_SHA256\tHit\tHTTP/2.0\t-\t-\t11040\t0.001\tHit\ttext/html;%20charset=utf-8\t78\t-\t-"
        )
    })?;
    write(&path("cloudfront-json"), |out, n| {
        let (client, url, agent) = parts(n);
        let (clock, agent) = (clock(n), agent.replace(' ', "%20"));
        writeln!(
            out,
            r#"{{"date":"2026-11-27","time":"{clock}","x-edge-location":"FRA56-P4","sc-bytes":"{n}","c-ip":"{client}","cs-method":"GET","cs(Host)":"d1.cloudfront.net","cs-uri-stem":"{url}","sc-status":"200","cs(Referer)":"-","cs(User-Agent)":"{agent}","cs-uri-query":"-","cs(Cookie)":"-","x-edge-result-type":"Hit","x-edge-request-id":"xyz==","x-host-header":"www.example.com","cs-protocol":"https","cs-bytes":"23","time-taken":"0.001"}}"#
        )
    })?;
    #[cfg(feature = "parquet")]
    table(&path("cloudfront-parquet"))?;
    let text = fs::read(&combined)?;
    let mut gzip = GzEncoder::new(File::create(path("combined.gz"))?, Compression::default());
    gzip.write_all(&text)?;
    gzip.finish()?;
    let packed = compress_to_vec(&text[..], CompressionLevel::Fastest);
    fs::write(path("combined.zst"), packed)?;
    println!("{LINES} combined lines, {} MB\n", text.len() / 1_000_000);
    drop(text);

    let awk = awk(&combined)?;
    println!("{:<34} {:>14}", "", "lines a CPU s");
    let say = |name: &str, seconds: f64| {
        let (rate, ratio) = (LINES as f64 / seconds, seconds / awk);
        println!("{name:<34} {rate:>14.0}   {ratio:.2} of awk's CPU");
    };
    say("awk, which counts bots' URLs", awk);
    say("lines alone", measured(&combined, None)?);
    say("combined", measured(&combined, Some(&Form::Combined))?);
    for (name, form) in [
        ("combined.gz", Form::Combined),
        ("combined.zst", Form::Combined),
        ("caddy", Form::Caddy),
        ("cloudfront", Form::CloudFront),
        ("cloudfront-json", Form::CloudFrontJson),
        #[cfg(feature = "parquet")]
        ("cloudfront-parquet", Form::CloudFrontParquet),
    ] {
        say(name, measured(&path(name), Some(&form))?);
    }
    Ok(())
}

fn write(path: &Path, line: impl Fn(&mut BufWriter<File>, u64) -> std::io::Result<()>) -> Outcome {
    let mut out = BufWriter::new(File::create(path)?);
    (0..LINES).try_for_each(|n| line(&mut out, n))?;
    Ok(out.flush()?)
}

/// Writes the same lines as a table whose columns are texts.
#[cfg(feature = "parquet")]
fn table(path: &Path) -> Outcome {
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    const ROWS: u64 = 100_000;
    let names = [
        "date",
        "time",
        "c_ip",
        "cs_method",
        "cs_uri_stem",
        "sc_status",
        "cs_User_Agent",
        "cs_uri_query",
        "x_host_header",
    ];
    let columns = names.map(|name| format!("required binary {name} (STRING);"));
    let schema = parse_message_type(&format!("message log {{ {} }}", columns.concat()))?;
    let out = File::create(path)?;
    let mut writer = SerializedFileWriter::new(out, schema.into(), Default::default())?;
    for first in (0..LINES).step_by(ROWS as usize) {
        let rows = (first..first + ROWS).map(|n| {
            let (client, url, agent) = parts(n);
            let agent = agent.replace(' ', "%20");
            let [day, get, status, none, host] =
                ["2026-11-27", "GET", "200", "-", "www.example.com"].map(str::to_owned);
            [day, clock(n), client, get, url, status, agent, none, host]
        });
        let rows: Vec<[String; 9]> = rows.collect();
        let mut group = writer.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = group.next_column()? {
            let values = rows.iter().map(|row| ByteArray::from(row[at].as_str()));
            let values: Vec<ByteArray> = values.collect();
            column
                .typed::<ByteArrayType>()
                .write_batch(&values, None, None)?;
            column.close()?;
            at += 1;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

/// Returns a client, a URL and an agent: of 20,000, 5,000 and a few.
fn parts(n: u64) -> (String, String, &'static str) {
    let random = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let (client, page) = (random % 20_000, random / 20_000 % 5_000);
    let agent = AGENTS[(random / 100_000_000) as usize % AGENTS.len()];
    (
        format!("203.0.{}.{}", client / 250, client % 250),
        format!(
            "/articles/{}/some-title-of-an-article-{page}.html",
            page % 37
        ),
        agent,
    )
}

fn clock(n: u64) -> String {
    let second = n * 86_400 / LINES;
    format!(
        "{:02}:{:02}:{:02}",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

/// Returns the seconds of this thread's CPU in which a file is read.
fn measured(path: &Path, form: Option<&Form>) -> Outcome<f64> {
    let begin = cpu();
    let file = File::open(path)?;
    let mut lines = match form {
        #[cfg(feature = "parquet")]
        Some(Form::CloudFrontParquet) => Lines::of_table(crawl::forms::table(file)?)?,
        _ => Lines::open(file)?,
    };
    let mut reader = form.map(Form::reader);
    let (mut read, mut bytes) = (0, 0);
    while let Some(line) = lines.next()? {
        match &mut reader {
            None => (read, bytes) = (read + 1, bytes + line.len()),
            Some(reader) => {
                if let Some(request) = reader.read(line)? {
                    read += 1;
                    bytes += request.target.len() + request.agent.map_or(0, |agent| agent.len());
                }
            }
        }
    }
    let seconds = cpu() - begin;
    if read != LINES || bytes == 0 || lines.stop().is_some() {
        return Err(format!("{}: {read} lines of {LINES}", path.display()).into());
    }
    Ok(seconds)
}

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the seconds of CPU that awk takes, as the shell's `times` says them.
fn awk(path: &Path) -> Outcome<f64> {
    let script = "awk \"$1\" \"$2\" >/dev/null && times";
    let run = Command::new("sh")
        .args(["-c", script, "sh", AWK])
        .arg(path)
        .output()?;
    let out = String::from_utf8(run.stdout)?;
    let children = out.lines().nth(1).ok_or("awk failed")?;
    let seconds = children.split_whitespace().map(|time| -> Outcome<f64> {
        let (minutes, seconds) = time.split_once('m').ok_or("no time")?;
        Ok(minutes.parse::<f64>()? * 60.0 + seconds.trim_end_matches('s').parse::<f64>()?)
    });
    seconds.sum()
}
