//! `waymark export --redirects`: the departures of one site, as a file for its own server.

use std::io::Write as _;

use anyhow::{Result, anyhow};
use objects::all_sites;
use serde::Serialize;
use sitemap::redirects::{Joined, Target};

use crate::deployment::args::{Located, no_site};
use crate::files::record_file::Out;
use crate::redirects::{Findings, Made, read};
use crate::terminal::output::note;

/// The result of an export of redirects, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Exported {
    /// The site. `null` if no site has redirects.
    site: Option<String>,
    #[serde(flatten)]
    made: Made,
    #[serde(flatten)]
    findings: Findings,
}

impl Exported {
    /// Writes the redirects of a site: of the given one, or of the only one that has any.
    pub(super) async fn write(
        located: &Located,
        site: Option<&str>,
        target: Target,
        out: &mut Out,
    ) -> Result<Self> {
        let (site, joined) = find(located, site).await?;
        let findings = Findings::of(&joined);
        let (text, made) = Made::render(target, &joined.redirects)
            .map_err(|refused| anyhow!("{refused}: nothing was written"))?;
        out.write_all(text.as_bytes())?;
        Ok(Self {
            site,
            made,
            findings,
        })
    }

    /// Says what is to be said.
    pub(super) fn say(&self) {
        let lines = self.findings.lines().into_iter().chain(self.made.lines());
        for line in lines {
            note(format!("waymark: {line}"));
        }
    }

    /// Returns how many redirects were written.
    pub(super) fn redirects(&self) -> usize {
        self.made.redirects
    }

    /// Returns whether each departure has a redirect in the file.
    pub(super) fn is_whole(&self) -> bool {
        self.findings.loops.is_empty() && self.made.left_out.is_empty()
    }
}

async fn find(located: &Located, site: Option<&str>) -> Result<(Option<String>, Joined)> {
    let target = &located.target;
    let sites = all_sites(&*target.objects).await?;
    if let Some(site) = site {
        if !sites.iter().any(|known| known == site) {
            return Err(no_site(site));
        }
        let joined = read(&target.reconciler.table, site).await?;
        return Ok((Some(site.to_owned()), joined));
    }
    let mut found: Vec<(String, Joined)> = Vec::new();
    for site in sites {
        let joined = read(&target.reconciler.table, &site).await?;
        if joined != Joined::default() {
            found.push((site, joined));
        }
    }
    match found.len() {
        0 => Ok((None, Joined::default())),
        1 => {
            let (site, joined) = found.remove(0);
            Ok((Some(site), joined))
        }
        _ => {
            let names: Vec<String> = found.into_iter().map(|(site, _)| site).collect();
            Err(anyhow!(
                "--redirects writes a file for one site, and several have redirects: {}. Give one of them with --site",
                crate::build::some(&names)
            ))
        }
    }
}
