//! The published files in a folder: for each path, the bytes that the front answers to a crawler.
//!
//! A folder holds one site, or with `per_site` a folder for each: what is in the content never decides it. All files are written
//! aside first ([`Disk`]). Then each is moved to its place, sitemaps before the indexes that list them and robots.txt last. So a
//! folder that is served meanwhile is whole at each moment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use front::{Runtime, SITE_HOST_HEADER, SiteFront};
use futures::future::BoxFuture;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use objects::{FILES, Form, ObjectError, ObjectKey, all_sites};
use serde::Serialize;
use sitemap::redirects::Target;
use sitemap::site::{Stylesheet, is_indexnow_key};
use sitemap::stylesheet::{CSS_PATH, NEWS_XSL_PATH, VIDEO_XSL_PATH, XSL_PATH};

use super::disk::Disk;
use super::error::BuildError;
use super::site::{Hosts, Site};
use crate::first_load::World;
use crate::redirects::{self, Findings, Made};
use crate::terminal::progress::{Progress, Unit};

/// The style sheets that documents name.
const CSS: &[&str] = &[CSS_PATH];
/// What XSLT makes has the style of the view.
const XSL: &[&str] = &[XSL_PATH, VIDEO_XSL_PATH, NEWS_XSL_PATH, "/sitemap-view.css"];
/// How long a build waits for another that writes into the same folder. Writing alone is locked, not reading and placing.
const WAIT: Duration = Duration::from_secs(60);

/// Where and how a build is written.
#[derive(Clone, Debug, Default)]
pub struct Out {
    /// The folder.
    pub folder: PathBuf,
    /// Whether each site has a folder in it, which is called as its host is. Otherwise it holds one site.
    pub per_site: bool,
    /// Whether files that no build made are replaced.
    pub force: bool,
    /// Whether files that earlier builds made, and this one does not, are deleted.
    pub prune: bool,
    /// The servers for which the redirects of moved and gone pages are written.
    pub redirects: Vec<Target>,
}

/// What was written. Files are named from the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The sites.
    pub sites: Vec<Site>,
    /// Files of earlier builds that this one does not make, and that are still there.
    pub stale: BTreeSet<String>,
    /// Those that were deleted.
    pub pruned: BTreeSet<String>,
    /// Files whose names differ in case alone.
    pub case_clashes: Vec<Vec<String>>,
}

#[derive(Debug)]
struct Memory {
    now: i64,
}

impl Runtime for Memory {
    fn now(&self) -> i64 {
        self.now
    }

    /// Waits forever: memory answers at once, so no time limit is ever needed.
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(futures::future::pending())
    }

    fn body_broke(&self, _: &ObjectKey, _: &ObjectError) {}
}

/// A file of a site: its path, and how late it is moved to its place.
struct File {
    path: String,
    order: u8,
    /// Its text, if the front does not serve it.
    text: Option<String>,
}

impl World {
    /// Writes the sites. If that fails before the first file is moved to its place, the folder is as it was.
    ///
    /// # Errors
    ///
    /// If a file cannot be written, if the folder would hold more than one site, or if files are there that no build made.
    pub async fn write(&self, out: &Out) -> Result<Written, BuildError> {
        let hosts = self.hosts(!out.redirects.is_empty()).await?;
        if hosts.0.is_empty() {
            return Err(BuildError::Empty);
        }
        if hosts.0.len() > 1 && !out.per_site {
            return Err(BuildError::Sites(hosts));
        }
        let (mut written, mut names, mut sites) = (Written::default(), Vec::new(), Vec::new());
        for (host, _) in hosts.0 {
            // A port's colon is no part of a name everywhere.
            let name = out.per_site.then(|| host.replace(':', "_"));
            let folder = match &name {
                Some(name) => out.folder.join(name),
                None => out.folder.clone(),
            };
            let mut site = Site {
                host,
                folder,
                sitemaps: 0,
                entries: 0,
                files: 0,
                bytes: 0,
                stale: Vec::new(),
                redirects: Vec::new(),
                moves: Findings::default(),
            };
            let prefix = name.map_or_else(String::new, |name| name + "/");
            let mut files = self.files(&mut site).await?;
            self.redirects(&mut site, &out.redirects, &mut files)
                .await?;
            let first = names.len();
            names.extend(
                files
                    .iter()
                    .map(|file| prefix.clone() + file.path.trim_start_matches('/')),
            );
            sites.push((site, files, first));
        }
        written.case_clashes = clashes(&names);
        let mut disk = Disk::open(&out.folder, is_made, WAIT).await?;
        if !written.case_clashes.is_empty() && disk.ignores_case() {
            return Err(BuildError::Case {
                folder: out.folder.clone(),
                files: written.case_clashes.concat(),
            });
        }
        let runtime = Arc::new(Memory { now: self.now() });
        let front = SiteFront::new(self.objects(), runtime, Duration::MAX);
        for (site, files, first) in &mut sites {
            let name = format!("writing {}", site.folder.display());
            let total = Some(files.len() as u64);
            let mut progress = Progress::begin(&name, Unit::Things("files"), total);
            for (file, name) in files.iter().zip(&names[*first..]) {
                let place = out.folder.join(name);
                let failed = |error| BuildError::Write { file: place, error };
                site.bytes += match (disk.stage(name.clone()), &file.text) {
                    (Ok(mut to), Some(text)) => {
                        to.write_all(text.as_bytes()).map_err(failed)?;
                        text.len() as u64
                    }
                    (Ok(to), None) => write(&front, &site.host, &file.path, to, failed).await?,
                    (Err(error), _) => return Err(failed(error)),
                };
                site.files += 1;
                progress.reach(site.files);
            }
        }
        let left = disk.publish(out.force, out.prune)?;
        (written.stale, written.pruned) = (left.stale, left.pruned);
        let made: BTreeSet<PathBuf> = names.iter().map(|name| out.folder.join(name)).collect();
        for (mut site, ..) in sites {
            let found = stale(&site, &made, out, &written.stale);
            site.stale = found.map_err(|error| BuildError::Move {
                file: site.folder.clone(),
                error,
            })?;
            written.sites.push(site);
        }
        Ok(written)
    }

    /// Finds the hosts that are sites: those that have settings or a listed page. A draft alone makes no site, nor does a page whose URL
    /// is refused, unless no other host has either. With `redirects` a moved or gone page makes one, too.
    async fn hosts(&self, redirects: bool) -> Result<Hosts, BuildError> {
        let all = all_sites(&*self.objects()).await?;
        let mut departed = BTreeSet::new();
        if redirects {
            for host in &all {
                if !self.table().departures_of(host).await?.is_empty() {
                    departed.insert(host.clone());
                }
            }
        }
        let has = |host: &String| {
            self.listed.contains_key(host) || self.settled.contains(host) || departed.contains(host)
        };
        let is_any = all.iter().any(has);
        let hosts = all.into_iter().filter(|host| !is_any || has(host));
        let hosts: Vec<String> = hosts.collect();
        let described = hosts.into_iter().map(|host| {
            let pages = self.listed.get(&host).cloned().unwrap_or_default();
            (host, pages)
        });
        Ok(Hosts(described.collect()))
    }

    /// Lists the paths of a site, in the order in which they are written.
    async fn files(&self, site: &mut Site) -> Result<Vec<File>, BuildError> {
        let (objects, table) = (self.objects(), self.table());
        let settings = table.site(&site.host).await?.map(|row| row.settings);
        let mut files = Vec::new();
        let mut add = |path: String, order| {
            let text = None;
            files.push(File { path, order, text });
        };
        for key in objects.list(&site.host).await? {
            let meta = objects.head(&key).await?;
            let entries = meta
                .and_then(|meta| meta.document)
                .map_or(0, |document| document.entries);
            let order = match &key {
                ObjectKey::Shard { .. } if entries > 0 => {
                    site.sitemaps += 1;
                    site.entries += entries;
                    0
                }
                ObjectKey::Index { n, .. } if entries > 0 || *n == 1 => 1,
                ObjectKey::Feed { .. }
                    if settings
                        .as_ref()
                        .is_some_and(|settings| settings.public && settings.feed) =>
                {
                    1
                }
                ObjectKey::Llms { .. }
                    if settings
                        .as_ref()
                        .is_some_and(|settings| settings.public_llms().is_some()) =>
                {
                    1
                }
                ObjectKey::Robots { .. } => 2,
                // Only caches ask for what is empty. The site file is not public.
                _ => continue,
            };
            for form in key.file().forms {
                if !matches!(form, Form::Text | Form::TextGz) {
                    add(format!("/{}{}", key.stem(), form.extension()), order);
                }
            }
        }
        let Some(settings) = settings else {
            return Ok(files);
        };
        let sheets: &[&str] = match settings.stylesheet {
            Stylesheet::None => &[],
            Stylesheet::Css => CSS,
            Stylesheet::Xsl => XSL,
        };
        for sheet in sheets {
            add((*sheet).to_owned(), 0);
        }
        if let Some(key) = &settings.indexnow_key {
            add(format!("/{key}.txt"), 0);
        }
        files.sort_by(|a, b| (a.order, &a.path).cmp(&(b.order, &b.path)));
        Ok(files)
    }

    /// Adds the files of a site's redirects before its other files, and notes what is wrong with its moves.
    async fn redirects(
        &self,
        site: &mut Site,
        targets: &[Target],
        files: &mut Vec<File>,
    ) -> Result<(), BuildError> {
        let joined = redirects::read(self.table(), &site.host).await?;
        site.moves = Findings::of(&joined);
        for target in targets {
            let made = Made::render(*target, &joined.redirects);
            let (text, made) = made.map_err(|refused| BuildError::Redirects {
                site: site.host.clone(),
                refused,
            })?;
            site.redirects.push(made);
            let file = File {
                path: format!("/{}", target.file_name()),
                order: 0,
                text: Some(text),
            };
            files.insert(0, file);
        }
        Ok(())
    }
}

/// Writes what the front answers, and says how many bytes that is.
async fn write(
    front: &SiteFront,
    host: &str,
    path: &str,
    mut to: fs::File,
    failed: impl FnOnce(io::Error) -> BuildError,
) -> Result<u64, BuildError> {
    let unserved = |status: StatusCode| BuildError::Unserved {
        site: host.to_owned(),
        path: path.to_owned(),
        status: status.as_u16(),
    };
    let request = Request::get(path).header(SITE_HOST_HEADER, host).body(());
    let (request, ()) = request
        .map_err(|_| unserved(StatusCode::BAD_REQUEST))?
        .into_parts();
    let response = front.respond(&request, path).await;
    if response.status() != StatusCode::OK {
        return Err(unserved(response.status()));
    }
    let length = response.headers().get(http::header::CONTENT_LENGTH);
    let length: Option<u64> = length.and_then(|length| length.to_str().ok()?.parse().ok());
    let mut body = response.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame;
        if let Ok(piece) = frame.into_data() {
            bytes += piece.len() as u64;
            if let Err(error) = to.write_all(&piece) {
                return Err(failed(error));
            }
        }
    }
    // A body never ends in an error, only early.
    if length.is_some_and(|length| length != bytes) {
        let error = io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the published object is damaged",
        );
        return Err(failed(error));
    }
    Ok(bytes)
}

/// Returns whether a build can have made a file of this name, which is without its folder.
fn is_made(name: &str) -> bool {
    let is_fixed = || {
        let files = FILES
            .iter()
            .filter(|file| !file.is_numbered && !file.forms.is_empty());
        let sheets = CSS
            .iter()
            .chain(XSL)
            .map(|path| path.trim_start_matches('/'));
        files
            .map(|file| file.name)
            .chain(sheets)
            .chain(Target::ALL.map(Target::file_name))
            .any(|known| known == name)
    };
    is_sitemap(name) || is_fixed() || name.strip_suffix(".txt").is_some_and(is_indexnow_key)
}

/// Returns whether a file has the name of a sitemap or an index.
fn is_sitemap(name: &str) -> bool {
    let stem = name
        .strip_suffix(Form::Gz.extension())
        .or_else(|| name.strip_suffix(Form::Xml.extension()));
    stem.is_some_and(|stem| ObjectKey::from_stem("", stem).is_some())
}

/// Finds the files of a site's folder that this build did not make. These are files of earlier builds, and other files with a sitemap's
/// name.
fn stale(
    site: &Site,
    made: &BTreeSet<PathBuf>,
    out: &Out,
    known: &BTreeSet<String>,
) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(&site.folder) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>()?,
        // Nothing was written there.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let names = entries
        .into_iter()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let is_known = |path: PathBuf| known.iter().any(|name| out.folder.join(name) == path);
    let mut names: Vec<String> = names
        .filter(|name| {
            let path = site.folder.join(name);
            !made.contains(&path) && (is_sitemap(name) || is_known(path))
        })
        .collect();
    names.sort();
    Ok(names)
}

/// Groups of files that are one file where a disk ignores case.
fn clashes(names: &[String]) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in names {
        groups
            .entry(name.to_lowercase())
            .or_default()
            .push(name.clone());
    }
    groups
        .into_values()
        .filter(|group| group.len() > 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_makes_files_of_these_names_alone() {
        for name in [
            "robots.txt",
            "feed.atom",
            "llms.txt",
            "sitemap.css",
            "sitemap.xsl",
            "sitemap-view.css",
            "video-sitemap.xsl",
            "sitemap_index.xml",
            "sitemap_index2.xml.gz",
            "post-sitemap.xml",
            "Post-sitemap12.xml.gz",
            "0123456789abcdef.txt",
            "_redirects",
            "redirects.csv",
        ] {
            assert!(is_made(name), "{name}");
        }
        for name in [
            "index.html",
            "site.json",
            "app.js",
            "post-sitemap.txt",
            "notes.txt",
            "sitemap.xml",
            ".htaccess",
            "",
        ] {
            assert!(!is_made(name), "{name}");
        }
    }

    #[test]
    fn names_that_differ_in_case_alone_are_grouped() {
        let names = [
            "b",
            "Post-sitemap.xml",
            "a",
            "post-sitemap.xml",
            "host/post-sitemap.xml",
        ];
        let names = names.map(str::to_owned);
        assert_eq!(clashes(&names), [["Post-sitemap.xml", "post-sitemap.xml"]]);
        assert_eq!(clashes(&names[2..]), Vec::<Vec<String>>::new());
    }
}
