//! What is published, as files: what the front answers to a crawler for each path, in a folder.
//!
//! A file is written beside its place and then moved there, sitemaps before the indexes that list them and robots.txt last. So a
//! folder that is served meanwhile is whole at each moment.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use front::{Runtime, SITE_HOST_HEADER, SiteFront};
use futures::future::BoxFuture;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use objects::{Form, ObjectError, ObjectKey, all_sites};
use sitemap::site::Stylesheet;
use sitemap::stylesheet::{CSS_PATH, NEWS_XSL_PATH, VIDEO_XSL_PATH, XSL_PATH};

use crate::progress::{Progress, Unit};

use super::{BuildError, Site, World};

/// What a file is called until it is whole.
const PART: &str = ".part";

#[derive(Debug)]
struct Memory {
    now: i64,
}

impl Runtime for Memory {
    fn now(&self) -> i64 {
        self.now
    }

    /// What is in memory is there at once, so no time limit is ever needed.
    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(futures::future::pending())
    }

    fn body_broke(&self, _: &ObjectKey, _: &ObjectError) {}
}

/// A file of a site: its path, and how many entries it has.
struct File {
    path: String,
    order: u8,
}

impl World {
    /// Writes all sites into a folder: one into the folder itself, several into folders of it that are called as their hosts are.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub async fn write(&self, out: &Path) -> Result<Vec<Site>, BuildError> {
        let hosts = all_sites(&*self.objects()).await?;
        if hosts.is_empty() {
            return Err(BuildError::Empty);
        }
        let runtime = Arc::new(Memory { now: self.now() });
        let front = SiteFront::new(self.objects(), runtime, Duration::MAX);
        let mut sites = Vec::new();
        for host in &hosts {
            let folder = match hosts.len() {
                1 => out.to_owned(),
                // A port's colon is no part of a name everywhere.
                _ => out.join(host.replace(':', "_")),
            };
            sites.push(self.write_site(&front, host, folder).await?);
        }
        Ok(sites)
    }

    async fn write_site(
        &self,
        front: &SiteFront,
        host: &str,
        folder: PathBuf,
    ) -> Result<Site, BuildError> {
        let mut site = Site {
            host: host.to_owned(),
            folder,
            sitemaps: 0,
            entries: 0,
            files: 0,
            bytes: 0,
            stale: Vec::new(),
        };
        fs::create_dir_all(&site.folder).map_err(|error| BuildError::Write {
            file: site.folder.clone(),
            error,
        })?;
        let files = self.files(&mut site).await?;
        let name = format!("writing {}", site.folder.display());
        let mut progress = Progress::begin(&name, Unit::Things("files"), Some(files.len() as u64));
        for file in &files {
            let written = write(front, host, &file.path, &site.folder).await?;
            site.bytes += written;
            site.files += 1;
            progress.reach(site.files);
        }
        let names = files.iter().map(|file| file.path.trim_start_matches('/'));
        site.stale = stale(host, &site.folder, &names.collect());
        Ok(site)
    }

    /// The paths of a site, in the order in which they are written.
    async fn files(&self, site: &mut Site) -> Result<Vec<File>, BuildError> {
        let (objects, table) = (self.objects(), &self.reconciler().table);
        let settings = table.site(&site.host).await?.map(|row| row.settings);
        let mut files = Vec::new();
        let mut add = |path: String, order| files.push(File { path, order });
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
            Stylesheet::Css => &[CSS_PATH],
            // What XSLT makes has the style of the view.
            Stylesheet::Xsl => &[XSL_PATH, VIDEO_XSL_PATH, NEWS_XSL_PATH, "/sitemap-view.css"],
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
}

/// Writes what the front answers, and says how many bytes that is.
async fn write(
    front: &SiteFront,
    host: &str,
    path: &str,
    folder: &Path,
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
    let place = folder.join(path.trim_start_matches('/'));
    let mut part = place.clone().into_os_string();
    part.push(PART);
    let failed = |error| BuildError::Write {
        file: place.clone(),
        error,
    };
    let mut file = fs::File::create(&part).map_err(failed)?;
    let mut body = response.into_body();
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame;
        if let Ok(piece) = frame.into_data() {
            bytes += piece.len() as u64;
            file.write_all(&piece).map_err(failed)?;
        }
    }
    drop(file);
    // A body never ends in an error, only early.
    if length.is_some_and(|length| length != bytes) {
        let error = io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the published object is damaged",
        );
        return Err(failed(error));
    }
    fs::rename(&part, &place).map_err(failed)?;
    Ok(bytes)
}

/// Sitemaps and indexes that were there before and were not written again.
fn stale(host: &str, folder: &Path, written: &BTreeSet<&str>) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_ours = |name: &String| {
        let stem = name
            .strip_suffix(Form::Gz.extension())
            .or_else(|| name.strip_suffix(Form::Xml.extension()));
        stem.is_some_and(|stem| ObjectKey::from_stem(host, stem).is_some())
    };
    let mut names: Vec<String> = names
        .filter(|name| is_ours(name) && !written.contains(name.as_str()))
        .collect();
    names.sort();
    names
}
