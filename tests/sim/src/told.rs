//! The changes of which search engines must be notified, according to the oracle.
//!
//! - A notice is written when a page appears, disappears, or changes visibly, whatever fails meanwhile. This is checked from one
//!   rest to the next, for sites with unchanged settings, because scans and repairs write no notices. If calls or runs are late,
//!   a repair may come before a change's own event, so nothing is expected then if an audit ran.
//! - Every notice is sent, and a refusal is shown, unless the site has become private or no longer wants notices.

use std::collections::{BTreeMap, BTreeSet};

use crate::endpoint::Endpoint;
use crate::history::SITES;
use crate::oracle::{Oracle, Truth};

/// The content of each address, and its record: by site, by address.
type Shown = [BTreeMap<String, (String, String)>; SITES.len()];

/// The expected notices.
#[derive(Debug)]
pub struct Told {
    /// The state at the last rest, and its time. `None` if there was none, or if settings have changed since.
    before: Option<(i64, Shown)>,
    /// Sites that were private since the last rest, or that wanted no notices.
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
    /// Notes that a site's settings have changed.
    pub fn settings_change(&mut self, site: usize, oracle: &Oracle) {
        self.before = None;
        self.mute[site] |= !oracle.is_told(site);
    }

    /// Checks the notices since the last rest. `whole` means that nothing was lost or dropped, and `audited` that an audit may
    /// have repaired a change before its own event came.
    ///
    /// # Errors
    ///
    /// If an expected notice is missing.
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
        // If a refusal could not be stored, its URLs are sent again. But a site that no longer wants notices drops them.
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
