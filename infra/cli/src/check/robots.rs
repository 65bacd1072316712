//! The robots.txt of a site, over HTTP, in a folder or in a bucket: read, absent, or unknown.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use check::findings::{Findings, Policy};
use check::page::response::{End, Response};
use check::robots::{MAX_ROBOTS_BYTES, Robots};
use check::url::origin_of;
use tokio::sync::Mutex;

use crate::fetch::bucket::Bucket;
use crate::fetch::client::Client;
use crate::files;

/// The outcome of asking for a robots.txt.
#[derive(Debug)]
pub(crate) enum Came {
    /// Its text. Over HTTP with the answer, whose status is 2xx.
    Text(Vec<u8>, Option<Response>),
    /// It does not exist. Over HTTP with the status, which is 4xx (RFC 9309, 2.3.1.3).
    Absent(Option<u16>),
    /// It may be there: what it disallows is not known.
    Unknown(String),
    /// Nothing else would be read from there.
    Silent(String),
}

/// Asks for a robots.txt over HTTP. More redirects are followed than the five that crawlers should follow (2.3.1.2).
pub(crate) async fn over_http(client: &Client, url: &str) -> Came {
    let (response, text) = match client.text(url, MAX_ROBOTS_BYTES).await {
        Ok(answer) => answer,
        Err(failure) => return Came::Silent(failure),
    };
    match (response.status, &response.end) {
        (200..300, End::Cut(how)) => Came::Unknown(format!("it ended early: {how}")),
        (200..300, _) if !is_readable(&response) => {
            Came::Unknown("it has a Content-Encoding that was not asked for".to_owned())
        }
        (200..300, _) => Came::Text(text, Some(response)),
        // Too many requests say nothing of what is there.
        (429, _) => Came::Unknown("status 429".to_owned()),
        (400..500, _) => Came::Absent(Some(response.status)),
        (status, _) => Came::Unknown(format!("status {status}")),
    }
}

fn is_readable(response: &Response) -> bool {
    let encoding = response
        .content_encoding
        .as_deref()
        .unwrap_or_default()
        .trim();
    encoding.is_empty() || encoding.eq_ignore_ascii_case("identity") || response.is_gzip_encoded()
}

/// Reads a robots.txt in a folder. Only one that does not exist is absent.
pub(crate) fn on_disk(path: &Path) -> Came {
    let read = |file: File| {
        let mut text = Vec::new();
        let limit = MAX_ROBOTS_BYTES as u64 + 1;
        file.take(limit).read_to_end(&mut text)?;
        Ok(text)
    };
    match files::regular(path).and_then(read) {
        Ok(text) => Came::Text(text, None),
        // A link that leads nowhere was meant to lead to one.
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
            Came::Absent(None)
        }
        Err(error) => Came::Unknown(format!("{}: {error}", path.display())),
    }
}

/// Reads a robots.txt in a bucket.
pub(crate) async fn in_bucket(bucket: &Bucket, path: &str) -> Came {
    match bucket.text(path, MAX_ROBOTS_BYTES).await {
        Ok(Some(text)) => Came::Text(text, None),
        Ok(None) => Came::Absent(None),
        // Without the right to list the bucket, S3 answers so for an object that does not exist, too.
        Err((Some(403), failure)) => Came::Unknown(failure),
        Err((_, failure)) => Came::Silent(failure),
    }
}

/// A host's robots.txt, as far as it is known.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// It was read.
    Read {
        /// Its groups and rules.
        robots: Arc<Robots>,
        /// Scheme and host that the answer came from.
        from: String,
    },
    /// The host has none.
    Absent,
    /// Why it is not known what it says.
    Unknown(String),
}

/// The robots.txt of hosts that pages are on, each asked for once. What is wrong with them is not looked at.
pub(super) struct Hosts<'a> {
    client: &'a Client,
    policy: Arc<Policy>,
    known: Mutex<HashMap<String, Known>>,
}

impl<'a> Hosts<'a> {
    /// Returns no host yet.
    pub(super) fn new(client: &'a Client, policy: Arc<Policy>) -> Self {
        Self {
            client,
            policy,
            known: Mutex::default(),
        }
    }

    /// Adds a host that was asked already.
    pub(super) fn insert(&mut self, origin: &str, known: Known) {
        self.known.get_mut().insert(origin.to_owned(), known);
    }

    /// Returns what is known of a host, which is asked if it was not yet.
    pub(super) async fn of(&self, origin: &str) -> Known {
        let mut all = self.known.lock().await;
        if let Some(known) = all.get(origin) {
            return known.clone();
        }
        let url = format!("{origin}/robots.txt");
        let known = match over_http(self.client, &url).await {
            Came::Text(text, response) => {
                let mut unsaid = Findings::new(self.policy.clone());
                let robots = Robots::read(&text, &url.as_str().into(), &mut unsaid);
                Known::read(robots, origin, response.as_ref())
            }
            Came::Absent(_) => Known::Absent,
            Came::Unknown(why) | Came::Silent(why) => Known::Unknown(why),
        };
        all.insert(origin.to_owned(), known.clone());
        known
    }

    /// Returns how many hosts are known.
    pub(super) async fn count(&self) -> usize {
        self.known.lock().await.len()
    }

    /// Returns whether a host is known.
    pub(super) async fn has(&self, origin: &str) -> bool {
        self.known.lock().await.contains_key(origin)
    }
}

impl Known {
    /// Returns what the robots.txt of an origin says.
    pub(super) fn read(robots: Robots, origin: &str, response: Option<&Response>) -> Self {
        let last = response.and_then(|response| response.redirects.last());
        Self::Read {
            robots: Arc::new(robots),
            from: last
                .and_then(|last| origin_of(last))
                .unwrap_or(origin)
                .to_owned(),
        }
    }

    /// Returns its rules, if there are any.
    pub(super) fn robots(&self) -> Option<&Arc<Robots>> {
        match self {
            Self::Read { robots, .. } => Some(robots),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_does_not_exist_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("robots.txt");
        assert!(matches!(on_disk(&path), Came::Absent(None)));
        fs::write(&path, "User-agent: *\n").unwrap();
        assert!(matches!(on_disk(&path), Came::Text(text, None) if text.len() == 14));
        // A file for a folder.
        assert!(matches!(
            on_disk(&path.join("robots.txt")),
            Came::Unknown(_)
        ));
        fs::write(&path, vec![b'#'; MAX_ROBOTS_BYTES + 10]).unwrap();
        assert!(
            matches!(on_disk(&path), Came::Text(text, None) if text.len() == MAX_ROBOTS_BYTES + 1)
        );
        fs::remove_file(&path).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere", &path).unwrap();
            assert!(matches!(on_disk(&path), Came::Unknown(_)));
            fs::remove_file(&path).unwrap();
        }
        fs::create_dir(&path).unwrap();
        assert!(matches!(on_disk(&path), Came::Unknown(why) if why.ends_with("is not a file")));
        let made = std::process::Command::new("mkfifo")
            .arg(folder.path().join("pipe"))
            .status()
            .unwrap();
        assert!(made.success());
        assert!(matches!(
            on_disk(&folder.path().join("pipe")),
            Came::Unknown(_)
        ));
    }
}
