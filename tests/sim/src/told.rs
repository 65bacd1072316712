//! What search engines must be told of, as the oracle knows it.
//!
//! - A change is noted when a page appears, goes, or shows something else, whatever fails meanwhile. It is checked from one rest
//!   to the next, for sites whose settings stay as they are: a scan and a repair tell nobody. Where calls or runs are late, a
//!   repair may come before a change's own event, so nothing is expected then if an audit ran.
//! - What is noted is told, and a refusal is shown, unless the site has become private or wants nobody to be told.

use std::collections::{BTreeMap, BTreeSet};

use crate::endpoint::Endpoint;
use crate::history::SITES;
use crate::oracle::{Oracle, Truth};

/// What each address showed, and of which record: by site, by address.
type Shown = [BTreeMap<String, (String, String)>; SITES.len()];

/// What must be told.
#[derive(Debug)]
pub struct Told {
    /// What was so at the last rest, and when that was; nothing if there was none, or settings have changed since.
    before: Option<(i64, Shown)>,
    /// Sites that were private since the last rest, or whose changes nobody was to be told of.
    mute: [bool; SITES.len()],
}

impl Default for Told {
    fn default() -> Self {
        Self {
            before: None,
            mute: [true; SITES.len()],
        }
    }
}

impl Told {
    /// Takes in that a site's settings have changed.
    pub fn settings_change(&mut self, site: usize, oracle: &Oracle) {
        self.before = None;
        self.mute[site] |= !oracle.is_told(site);
    }

    /// Checks what was noted and told since the last rest. `whole` says that nothing was lost or dropped, and `audited` that an
    /// audit may have repaired a change before its own event came.
    ///
    /// # Errors
    ///
    /// If something was not that had to be.
    pub fn check(
        &mut self,
        endpoint: &Endpoint,
        oracle: &Oracle,
        truth: &Truth,
        whole: bool,
        audited: bool,
    ) -> Result<(), String> {
        let mut shown = Shown::default();
        for ((id, _), listed) in &truth.listed {
            let (host, address) = &listed.address;
            if let Some(site) = SITES.iter().position(|site| site == host) {
                shown[site].insert(address.clone(), (id.clone(), oracle.shown(id, listed)));
            }
        }
        let before = self.before.take().filter(|_| whole && !audited);
        if let Some((at, before)) = before {
            for site in (0..SITES.len()).filter(|site| oracle.is_told(*site)) {
                let locs: BTreeSet<&String> =
                    before[site].keys().chain(shown[site].keys()).collect();
                for loc in locs {
                    let (was, is) = (before[site].get(loc), shown[site].get(loc));
                    let is_same = was.map(|(_, shown)| shown) == is.map(|(_, shown)| shown);
                    let is_noted = endpoint.noted(loc).is_some_and(|noted| noted >= at);
                    if !is_same && !is_noted {
                        return Err(format!(
                            "{loc} was {was:?} and is {is:?}: nobody is to be told"
                        ));
                    }
                }
            }
        }
        let is_told = |host: &str| {
            let site = SITES.iter().position(|site| *site == host);
            whole && site.is_some_and(|site| !self.mute[site])
        };
        for (host, loc, at) in endpoint.take_dropped() {
            if is_told(&host) {
                return Err(format!("{loc} has changed at {at}, and nobody was told"));
            }
        }
        // If a refusal could not be stored, its URLs are sent again. But a site that wants nobody to be told drops them.
        for (host, loc) in endpoint.take_hidden() {
            if is_told(&host) {
                return Err(format!("{host}: {loc} was refused, and nothing shows it"));
            }
        }
        self.before = Some((oracle.now, shown));
        self.mute = std::array::from_fn(|site| !oracle.is_told(site));
        Ok(())
    }
}
