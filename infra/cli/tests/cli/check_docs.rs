//! docs/cli/check.md: its examples have the output that it shows, it names every option, and it lists every rule.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps nothing fails, as it should"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use check::rules::Rule;

fn guide() -> String {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli/check.md");
    fs::read_to_string(guide).unwrap()
}

fn waymark(folder: &Path, arguments: &[&str]) -> String {
    let outcome = crate::limited::waymark(folder, arguments);
    assert_ne!(outcome.status, 2, "{arguments:?}: {}", outcome.errors);
    outcome.output
}

/// Writes the build that the guide checks.
fn build(folder: &Path) {
    const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    const NS: &str = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";
    let origin = "https://www.example.com";
    let public = folder.join("public");
    fs::create_dir(&public).unwrap();
    let write = |name: &str, text: &str| fs::write(public.join(name), text).unwrap();
    write(
        "robots.txt",
        &format!("User-agent: *\nDisallow:\n\nSitemap: {origin}/sitemap_index.xml\n"),
    );
    write(
        "sitemap_index.xml",
        &format!(
            "{HEAD}<sitemapindex {NS}>\n<sitemap><loc>{origin}/post-sitemap.xml</loc></sitemap>\n\
             <sitemap><loc>{origin}/page-sitemap.xml</loc></sitemap>\n</sitemapindex>\n"
        ),
    );
    write(
        "post-sitemap.xml",
        &format!(
            "{HEAD}<urlset {NS}>\n<url><loc>{origin}/snow/</loc><lastmod>2026-11-20</lastmod></url>\n\
             <url><loc>http://www.example.com/soup/</loc></url>\n<url><loc>{origin}/ice/</loc><lastmod>2026-11</lastmod></url>\n\
             </urlset>\n"
        ),
    );
    write(
        "page-sitemap.xml",
        &format!(
            "{HEAD}<urlset {NS}>\n<url><loc>{origin}/about/</loc><lastmod>2026-01-02</lastmod></url>\n\
             <url><loc>{origin}/snow</loc><lastmod>2026-11-20</lastmod></url>\n</urlset>\n"
        ),
    );
}

/// Returns the text without how long it took.
fn timeless(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(" in ") {
        Some((before, after)) if after.contains(" s") => before.to_owned(),
        _ => line.to_owned(),
    };
    text.trim_end()
        .lines()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn examples_have_the_output_that_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let guide = guide();
    let blocks: Vec<String> = indented(&guide);
    let mut examples = 0;
    for block in &blocks {
        if block.starts_with("[rules]") {
            // Only the example that names it follows it: the others run elsewhere.
            fs::write(folder.path().join("waymark-check.toml"), block).unwrap();
            continue;
        }
        for example in block.split("$ ").skip(1) {
            let (command, shown) = example.split_once('\n').unwrap();
            let arguments: Vec<&str> = command.split(' ').skip(1).collect();
            let (config, folder) = (folder.path().join("waymark-check.toml"), folder.path());
            let hidden = folder.join("hidden.toml");
            let follows = command.contains("--config");
            if config.exists() && !follows {
                fs::rename(&config, &hidden).unwrap();
            }
            let output = waymark(folder, &arguments);
            if hidden.exists() {
                fs::rename(&hidden, &config).unwrap();
            }
            assert_eq!(timeless(&output), timeless(shown), "{command}");
            examples += 1;
        }
    }
    assert_eq!(examples, 6);
    for report in ["check.sarif", "check.xml", "new.jsonl", "baseline.json"] {
        assert!(folder.path().join(report).exists(), "{report}");
    }
}

/// Returns the guide's indented blocks.
fn indented(guide: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in guide.lines() {
        let block = blocks.last_mut().unwrap();
        match line.strip_prefix("    ") {
            Some(line) => *block += &format!("{line}\n"),
            None if line.is_empty() && block.starts_with('[') => block.push('\n'),
            None if !block.is_empty() => blocks.push(String::new()),
            None => {}
        }
    }
    blocks
}

#[test]
fn every_option_is_named() {
    let help = waymark(&PathBuf::from("."), &["check", "--help"]);
    let options = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
        let options = words.filter(|word| word.starts_with("--") && word.len() > 3);
        options.map(str::to_owned).collect()
    };
    let mut in_help = options(&help);
    in_help.remove("--help");
    let in_guide = options(&guide());
    let missing: Vec<_> = in_help.difference(&in_guide).collect();
    assert!(missing.is_empty(), "{missing:?} is not in the guide");
    let unknown: Vec<_> = in_guide.difference(&in_help).collect();
    assert!(unknown.is_empty(), "{unknown:?} is not in --help");
}

#[test]
fn every_rule_is_listed() {
    let guide = guide();
    let (_, table) = guide
        .split_once("| rule | severity | what must be so |\n|---|---|---|\n")
        .unwrap();
    let expected: Vec<String> = Rule::ALL
        .iter()
        .map(|rule| {
            let info = rule.info();
            format!(
                "| `{}` | {} | {} |",
                info.id,
                info.severity,
                info.what.replace('|', "\\|")
            )
        })
        .collect();
    assert_eq!(table.lines().collect::<Vec<_>>(), expected);
}
