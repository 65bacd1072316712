//! Failures, kills and links, as only Unix has them or lets them be made.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::folder::{build, built, content, manifest, refused};
use super::{AT, OWN, files, pages};
use crate::limited::Limited as _;

/// Runs a build of which no file may be longer than `blocks` 512-byte blocks, as on a disk that is full.
fn limited(folder: &Path, before: &str, blocks: u32) -> std::process::Output {
    let script = format!(
        "{before}ulimit -f {blocks} && exec \"$0\" build content.jsonl --out out --at \"$1\""
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_waymark"), &AT]);
    command.current_dir(folder).stdin(Stdio::null());
    command.output_in_time()
}

#[test]
fn a_build_that_fails_or_is_killed_leaves_all_as_it_was_and_the_next_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let out = folder.join("out");
    built(folder, &pages(10), &[]);
    let (before, list) = (files(&out), manifest(&out));
    let mode = |name: &str| {
        fs::metadata(folder.join(name))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(
        mode("out/robots.txt"),
        mode("content.jsonl"),
        "others may read what is published"
    );
    // Few bytes of content, and a sitemap of many.
    let parts = pages(1).replace(r#""type""#, r#""pages":1000,"type""#);
    let large = pages(10)
        + &parts
            .replace("post/0", "parts")
            .replace(".com/0/", ".com/parts/");
    fs::write(folder.join("content.jsonl"), &large).unwrap();
    // The signal of such a limit is ignored, so that a write fails; and then it kills.
    let failed = limited(folder, "trap '' XFSZ; ", 100);
    let said = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(2), "{said}");
    assert!(
        said.contains("failed to write out/post-sitemap")
            && said.ends_with("The existing files are unchanged\n"),
        "{said}"
    );
    assert!(!out.join(OWN).join("new").exists());
    assert_eq!(
        (files(&out), manifest(&out)),
        (before.clone(), list.clone())
    );
    let killed = limited(folder, "", 100);
    assert!(killed.status.signal().is_some(), "{killed:?}");
    assert!(out.join(OWN).join("new/0").exists());
    assert_eq!((files(&out), manifest(&out)), (before, list));
    // Even if the rest of an older version is there.
    fs::write(out.join("post-sitemap.xml.part"), "<urlset").unwrap();
    built(folder, &large, &[]);
    assert!(!out.join(OWN).join("new").exists());
    let mut all = files(&out);
    assert_eq!(all.remove("post-sitemap.xml.part").unwrap(), b"<urlset");
    super::build(folder, "content.jsonl", "alone");
    assert_eq!(all, files(&folder.join("alone")));
}

#[test]
fn content_that_cannot_be_kept_in_a_temporary_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("content.jsonl"), pages(3_000)).unwrap();
    let failed = limited(folder, "trap '' XFSZ; ", 100);
    let said = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(2), "{said}");
    assert!(
        said.contains("failed to keep the content in a temporary file in ")
            && said.contains("TMPDIR"),
        "{said}"
    );
    assert!(!folder.join("out").exists());
}

#[test]
fn no_link_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (out, target) = (folder.join("out"), folder.join("target"));
    let one = content("a.example", &[("1", "published")]);
    fs::write(&target, "mine").unwrap();
    fs::create_dir(&out).unwrap();
    fs::create_dir(folder.join("elsewhere")).unwrap();
    for name in [
        "robots.txt.part",
        "post-sitemap.xml.part",
        "sitemap_index.xml.part",
    ] {
        symlink(&target, out.join(name)).unwrap();
    }
    built(folder, &one, &[]);
    assert_eq!(fs::read(&target).unwrap(), b"mine");

    // A link in a file's place is replaced, if that is asked for, and not followed.
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir(&out).unwrap();
    symlink(&target, out.join("robots.txt")).unwrap();
    assert!(refused(folder, &one, &[]).contains("no build wrote: robots.txt. Move"));
    built(folder, &one, &["--force"]);
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    assert!(!out.join("robots.txt").is_symlink());

    // A folder in a file's place, and a link in a folder's, are never replaced.
    let in_the_way = |name: &str, is_folder: bool, options: &[&str]| {
        fs::remove_dir_all(&out).unwrap();
        fs::create_dir(&out).unwrap();
        match is_folder {
            true => fs::create_dir(out.join(name)).unwrap(),
            false => symlink(folder.join("elsewhere"), out.join(name)).unwrap(),
        }
        let outcome = build(folder, options);
        assert_eq!(outcome.status, 2, "{name}");
        let said = format!("nothing was written: out/{name} is in the way");
        assert!(outcome.errors.contains(&said), "{}", outcome.errors);
        assert_eq!(fs::read_dir(folder.join("elsewhere")).unwrap().count(), 0);
    };
    in_the_way("robots.txt", true, &["--force"]);
    in_the_way("a.example", false, &["--force", "--per-site"]);
    in_the_way(OWN, false, &["--force"]);

    // Nor do the builds' own names lead anywhere.
    fs::remove_dir_all(&out).unwrap();
    fs::create_dir_all(out.join(OWN)).unwrap();
    symlink(folder.join("elsewhere"), out.join(OWN).join("new")).unwrap();
    built(folder, &one, &[]);
    fs::remove_file(out.join(OWN).join("lock")).unwrap();
    symlink(folder.join("none"), out.join(OWN).join("lock")).unwrap();
    assert!(refused(folder, &one, &[]).contains("lock: it is a link"));
    assert!(!folder.join("none").exists());
    assert_eq!(fs::read_dir(folder.join("elsewhere")).unwrap().count(), 0);
    assert_eq!(fs::read(&target).unwrap(), b"mine");

    // A stale file below a link that was a folder is not deleted.
    fs::remove_dir_all(&out).unwrap();
    built(folder, &one, &["--per-site"]);
    fs::remove_dir_all(out.join("a.example")).unwrap();
    fs::write(folder.join("elsewhere/robots.txt"), "mine").unwrap();
    symlink(folder.join("elsewhere"), out.join("a.example")).unwrap();
    built(folder, &one, &["--prune"]);
    assert_eq!(
        fs::read(folder.join("elsewhere/robots.txt")).unwrap(),
        b"mine"
    );
}
