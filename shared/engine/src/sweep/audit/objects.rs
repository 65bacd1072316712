//! Audits objects: compares each shard with its rows and its summary, and index, robots.txt and site file with their stamps.
//!
//! An object with correct checksums was written by Waymark, and equal stamps mean equal rows. A lost row can make a stamp lower,
//! or equal to an older one. Such a stamp is raised above all published ones.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::EngineError;
use crate::reconcile::Reconciler;
use crate::rows::keys::{Mark, ShardId, sha256_hex};
use crate::rows::series::{Extent, shards_of};
use crate::rows::site::{Hold, PublishedCounts, SiteRow};
use crate::rows::summary::Summary;
use bytes::Bytes;
use objects::{FILES, ObjectKey, ObjectMeta, Source, stamp};
use sitemap::departures::{Departures, MAX_IN_A_FILE};
use sitemap::index::without_counts;
use sitemap::member::{Directory, Member, Part, SEGMENT_SLOTS, SegmentInfo};
use sitemap::stylesheet::{index_frame, shard_frame};

use super::finding::{Problem, Remedy, Suspect};
use super::job::Audit;
use super::progress::{AuditProgress, AuditStep};

/// The reads after which a page begins no further shard. That is four of the largest shards or fifty small ones, which takes
/// seconds.
const READS: u32 = 200;
/// Files of departures of a page: each takes two reads.
const FILES_OF_A_PAGE: usize = 100;
/// Reads of a shard, besides its segments.
const READS_OF_A_SHARD: u32 = 3;
/// The most slots of one shard that one audit gives back. Each is a transaction.
const MAX_GIVEN_BACK: usize = 500;
/// The slots of a shard are not given back if its entries take more than this percentage of its byte limit. New entries in such
/// slots would soon have to move again.
const GIVE_BACK_BELOW_PERCENT: u64 = 80;

/// The rows with which a site's shards are compared.
struct Site {
    row: SiteRow,
    summaries: BTreeMap<ShardId, Summary>,
    extents: BTreeMap<String, Extent>,
}

impl Site {
    fn extent(&self, shard: &ShardId) -> Extent {
        let extent = self.extents.get(&shard.series.name);
        extent.copied().unwrap_or_default()
    }
}

/// The result of comparing a shard's rows with its object.
#[derive(Default)]
struct Compared {
    /// The number of segments that have rows or are published.
    segments: u32,
    /// By differing segment, the number by which its stamp must rise to be higher than the object's.
    lifts: BTreeMap<u32, u64>,
    /// The sum of the stamps.
    generation: u64,
    /// The positions of rows with an entry.
    taken: BTreeSet<u32>,
    /// The position after the last row.
    end: u32,
}

impl Compared {
    /// Returns the numbers by which the stamps must rise so that the shard is published and its summary is replaced. A summary is
    /// replaced only by one with a higher generation.
    fn lifted(&self, summary: Option<&Summary>) -> BTreeMap<u32, u64> {
        let mut lifts = self.lifts.clone();
        if lifts.is_empty() {
            lifts.insert(0, 1);
        }
        let lifted = self.generation + lifts.values().sum::<u64>();
        let least = summary.map_or(0, |summary| summary.generation + 1);
        if let Some(mut first) = lifts.first_entry() {
            *first.get_mut() += least.saturating_sub(lifted);
        }
        lifts
    }
}

impl Audit<'_> {
    /// Audits the next shards after a cursor, or the site's other files. Returns the suspects and the next step.
    pub(super) async fn page_of_objects(
        &self,
        after: Option<(String, String)>,
        progress: &mut AuditProgress,
    ) -> Result<(Vec<Suspect>, Option<AuditStep>), EngineError> {
        let AuditProgress {
            sites,
            departing,
            read,
            ..
        } = progress;
        let sites = &*sites;
        let (host, path) = match after {
            Some((host, path)) => (sites.range(host.clone()..).next(), (host, path)),
            None => (sites.first(), Default::default()),
        };
        let Some(host) = host else {
            return Ok((Vec::new(), None));
        };
        let Some(site) = self.site(host).await? else {
            return Ok((Vec::new(), next_site(sites, host)));
        };
        let mut shards = shards_of(&self.reconciler.table, self.objects, host).await?;
        // Includes shards of a series without a row whose object is lost.
        let summarised = site.summaries.keys();
        shards.extend(summarised.map(|shard| (shard.object().path(), shard.clone())));
        let behind = |(shard, _): &&(String, ShardId)| *host != path.0 || *shard > path.1;
        let mut reads = 0;
        let within = |(_, shard): &&(String, ShardId)| {
            let begins = reads < READS;
            reads += READS_OF_A_SHARD + site.extent(shard).segments();
            begins
        };
        let shards: Vec<_> = shards.iter().filter(behind).take_while(within).collect();
        let Some((last, _)) = shards.last() else {
            if self.repair {
                self.mark_again(&site).await?;
            }
            let suspects = self.look_at_site_files(host).await?;
            let suspects = self
                .confirmed(suspects, self.look_at_site_files(host))
                .await?;
            let has_departures = site.row.departures || departing.contains(host);
            let next = match has_departures {
                true => Some(AuditStep::Departures {
                    site: host.clone(),
                    after: None,
                }),
                false => next_site(sites, host),
            };
            return Ok((suspects, next));
        };
        *read += shards.len() as u64;
        let (mut suspects, mut suspicious) = (Vec::new(), Vec::new());
        for (_, shard) in &shards {
            let found = self.look_at_shard(&site, shard).await?;
            if !found.is_empty() {
                suspicious.push(shard);
            }
            suspects.extend(found);
        }
        let again = async {
            let mut suspects = Vec::new();
            if let Some(site) = self.site(host).await? {
                for shard in suspicious {
                    suspects.extend(self.look_at_shard(&site, shard).await?);
                }
            }
            Ok(suspects)
        };
        let suspects = self.confirmed(suspects, again).await?;
        let after = Some((host.clone(), last.clone()));
        Ok((suspects, Some(AuditStep::Objects { after })))
    }

    /// Audits the next files of a site's departures after `after`. Returns the suspects and the next step.
    pub(super) async fn page_of_departures(
        &self,
        host: &str,
        after: Option<u32>,
        progress: &AuditProgress,
    ) -> Result<(Vec<Suspect>, Option<AuditStep>), EngineError> {
        let keys = self.objects.list(host).await?;
        let published = keys.iter().filter_map(|key| match key {
            ObjectKey::Departures { file, .. } => Some(*file),
            _ => None,
        });
        let published = published.filter(|file| after.is_none_or(|after| *file > after));
        let table = &self.reconciler.table;
        let wanted = table.files_of_departures(host, after, FILES_OF_A_PAGE);
        let mut files: BTreeSet<u32> = wanted.await?.into_iter().collect();
        files.extend(published);
        let files: Vec<u32> = files.into_iter().take(FILES_OF_A_PAGE).collect();
        let suspects = self.look_at_departures(host, &files).await?;
        let suspects = self
            .confirmed(suspects, self.look_at_departures(host, &files))
            .await?;
        let next = match files.last() {
            Some(last) if files.len() == FILES_OF_A_PAGE => Some(AuditStep::Departures {
                site: host.to_owned(),
                after: Some(*last),
            }),
            _ => next_site(&progress.sites, host),
        };
        Ok((suspects, next))
    }

    /// Compares these files of a site's departures with their rows.
    async fn look_at_departures(
        &self,
        host: &str,
        files: &[u32],
    ) -> Result<Vec<Suspect>, EngineError> {
        let mut suspects = Vec::new();
        for file in files {
            let key = ObjectKey::Departures {
                site: host.to_owned(),
                file: *file,
            };
            let object = self.objects.get(&key).await?;
            let state = state_of(object.as_ref());
            let table = &self.reconciler.table;
            let wanted = table.departures(host, *file, MAX_IN_A_FILE).await?;
            let wrong = match object {
                None if wanted.is_empty() => None,
                None => Some((Problem::ObjectLost, "it is missing".to_owned())),
                Some((meta, bytes)) => {
                    let stamp = meta.document.map(|document| document.stamp);
                    let sound = |found: &Departures| {
                        stamp.as_ref() == Some(&found.stamp)
                            && found.to_text().as_bytes() == &*bytes
                    };
                    match Departures::parse(&bytes).filter(sound) {
                        Some(found) if found.departures == wanted => None,
                        Some(_) => {
                            let why = "not what its rows say".to_owned();
                            Some((Problem::ObjectDiffers, why))
                        }
                        None => Some((Problem::ObjectLost, "it cannot be read".to_owned())),
                    }
                }
            };
            let remedy = Remedy::Departures(host.to_owned(), *file);
            suspects.extend(wrong.map(|(problem, why)| Suspect {
                state,
                ..Suspect::new(problem, &key, why, remedy)
            }));
        }
        Ok(suspects)
    }

    /// Marks the site, so that its feed and llms.txt are published and its notices are sent. A lost mark cannot be detected,
    /// because an old file or notice may only be waiting for its time.
    async fn mark_again(&self, site: &Site) -> Result<(), EngineError> {
        let Reconciler { table, env, .. } = self.reconciler;
        let settings = &site.row.settings;
        let now = env.now();
        table.mark(Mark::Feed, &settings.host, now).await?;
        if settings.public_llms().is_some() {
            table.mark(Mark::Llms, &settings.host, now).await?;
        }
        if settings.indexnow_key.is_some() {
            table.mark(Mark::Notices, &settings.host, now).await?;
        }
        Ok(())
    }

    /// Returns a site whose objects can be judged: it is published, and its rows can be read.
    async fn site(&self, host: &str) -> Result<Option<Site>, EngineError> {
        let table = &self.reconciler.table;
        let read = async || {
            let Some(row) = table
                .site(host)
                .await?
                .filter(|row| row.hold == Hold::Released)
            else {
                return Ok(None);
            };
            let extents = table.series(host).await?.into_iter();
            Ok(Some(Site {
                row,
                summaries: table.summaries(host).await?,
                extents: extents
                    .map(|(series, extent)| (series.name, extent))
                    .collect(),
            }))
        };
        match read().await {
            // A damaged row is a finding of its own.
            Err(EngineError::Damaged { .. }) => Ok(None),
            site => site,
        }
    }

    async fn look_at_shard(
        &self,
        site: &Site,
        shard: &ShardId,
    ) -> Result<Vec<Suspect>, EngineError> {
        let key = shard.object();
        let object = self.objects.get(&key).await?;
        let directory = object
            .as_ref()
            .map(|(meta, bytes)| directory(meta, bytes, site.row.epoch));
        let published = match &directory {
            Some(Ok(directory)) => directory.segments.as_slice(),
            _ => &[],
        };
        let Some(compared) = self.compare(site, shard, published).await? else {
            return Ok(Vec::new());
        };
        let mut suspects = Vec::new();
        let document = object.as_ref().and_then(|(meta, _)| meta.document.as_ref());
        let changed = document.map_or(0, |document| document.changed);
        let found = wrong_shard(site, shard, directory.as_ref(), changed, &compared);
        if let Some((problem, detail)) = found {
            let remedy = Remedy::Lift(shard.clone(), compared.lifted(site.summaries.get(shard)));
            let state = state_of(object.as_ref());
            suspects.push(Suspect {
                state,
                ..Suspect::new(problem, &key, detail, remedy)
            });
        }
        let segments = compared.segments;
        if site.extent(shard).segments() < segments {
            let series = &shard.series;
            let what = format!("{}/{}", series.site, series.name);
            let detail = format!("{segments} segments of it are published");
            let remedy = Remedy::Grow(series.clone(), Extent::of_segments(segments));
            suspects.push(Suspect::new(Problem::CounterBehind, what, detail, remedy));
        }
        suspects.extend(self.look_for_leaks(site, shard, &compared).await?);
        Ok(suspects)
    }

    /// Compares the rows of a shard with its published segments. Returns `None` if a row cannot be read, which is a finding of
    /// its own.
    async fn compare(
        &self,
        site: &Site,
        shard: &ShardId,
        published: &[SegmentInfo],
    ) -> Result<Option<Compared>, EngineError> {
        let segments = site.extent(shard).segments();
        let segments = segments.max(u32::try_from(published.len()).unwrap_or(u32::MAX));
        let mut compared = Compared {
            segments,
            ..Compared::default()
        };
        for k in 0..segments {
            let rows = match self.reconciler.table.segment(shard, k).await {
                Err(EngineError::Damaged { .. }) => return Ok(None),
                rows => rows?,
            };
            let old = published.get(k as usize);
            let blank = rows.stamp == 0 && rows.xml.is_empty();
            let equal = old.map_or(blank, |old| {
                old.stamp == rows.stamp && old.says(&rows.segment())
            });
            if !equal {
                let above = old.map_or(0, |old| old.stamp).max(rows.stamp) + 1;
                compared.lifts.insert(k, above - rows.stamp);
            }
            compared.generation += rows.stamp;
            compared.taken.extend(rows.taken);
            compared.end = compared.end.max(rows.end);
        }
        Ok(Some(compared))
    }

    /// Looks for slots of a shard that were offered, never used and not given back.
    async fn look_for_leaks(
        &self,
        site: &Site,
        shard: &ShardId,
        compared: &Compared,
    ) -> Result<Option<Suspect>, EngineError> {
        let limit = site.row.settings.byte_limit * GIVE_BACK_BELOW_PERCENT / 100;
        let summary = site.summaries.get(shard);
        if summary.is_some_and(|summary| summary.bytes > limit) {
            return Ok(None);
        }
        let free = self.reconciler.table.free_positions(shard).await?;
        let capacity = site.row.settings.entries_per_sitemap;
        let leaked = (0..offered(shard.n, site.extent(shard), capacity, compared.end))
            .filter(|i| !compared.taken.contains(i) && !free.contains(i))
            .take(MAX_GIVEN_BACK);
        let leaked: BTreeSet<u32> = leaked.collect();
        Ok((!leaked.is_empty()).then(|| {
            let detail = format!("{} slots hold nothing and are not given back", leaked.len());
            let remedy = Remedy::GiveBack(shard.clone(), leaked);
            Suspect::new(Problem::SlotsLeaked, shard.object(), detail, remedy)
        }))
    }

    /// Compares a site's published files, except the shards, with their rows.
    async fn look_at_site_files(&self, host: &str) -> Result<Vec<Suspect>, EngineError> {
        let Some(site) = self.site(host).await? else {
            return Ok(Vec::new());
        };
        let row = &site.row;
        let wanted = stamp(row.epoch, row.version);
        let mut suspects = Vec::new();
        let found = PublishedCounts::of(&self.objects.list(host).await?);
        let is_unnoted = (found.llms && !row.llms_object) || (found.departures && !row.departures);
        if found.indexes > row.index_objects || is_unnoted {
            let what = format!("site {host}");
            let llms = if found.llms { ", an llms.txt" } else { "" };
            let moved = if found.departures {
                ", moved pages"
            } else {
                ""
            };
            let detail = format!("{} indexes{llms}{moved} are published", found.indexes);
            let remedy = Remedy::CountObjects(host.to_owned());
            suspects.push(Suspect::new(Problem::CounterBehind, what, detail, remedy));
        }
        for file in FILES {
            let last = match file.made_from {
                Source::Entries | Source::Departures => 0,
                Source::Summaries => row.index_objects,
                Source::Settings | Source::Changes => 1,
                Source::Newest => u32::from(row.llms_object),
            };
            for n in 1..=last {
                let key = (file.key)(host.to_owned(), n);
                let object = self.objects.get(&key).await?;
                let state = state_of(object.as_ref());
                let wrong = match file.made_from {
                    Source::Entries | Source::Departures => None,
                    Source::Summaries => wrong_index(object, n, &site),
                    Source::Settings => wrong_text(object, Some(&wanted)),
                    // An llms.txt that is not wanted may never have been published.
                    Source::Newest if object.is_none() && row.settings.public_llms().is_none() => {
                        None
                    }
                    Source::Changes | Source::Newest => wrong_text(object, None),
                };
                let remedy = Remedy::LiftSite(host.to_owned());
                suspects.extend(wrong.map(|(problem, why)| Suspect {
                    state,
                    ..Suspect::new(problem, &key, why, remedy)
                }));
            }
        }
        Ok(suspects)
    }
}

/// Returns the problem of a shard's object or summary. `changed` is when the object's document last changed.
fn wrong_shard(
    site: &Site,
    shard: &ShardId,
    directory: Option<&Result<Directory, String>>,
    changed: i64,
    compared: &Compared,
) -> Option<(Problem, String)> {
    let summary = site.summaries.get(shard);
    let frame = shard_frame(&site.row.settings, &shard.series.name);
    match directory {
        None if compared.generation == 0 && summary.is_none() => None,
        None => Some((Problem::ObjectLost, "it is missing".to_owned())),
        Some(Err(why)) => Some((Problem::ObjectLost, why.clone())),
        Some(Ok(_)) if !compared.lifts.is_empty() => {
            let numbers: Vec<String> = compared.lifts.keys().map(u32::to_string).collect();
            let detail = format!("not what its rows say: segment {}", numbers.join(", "));
            Some((Problem::ObjectDiffers, detail))
        }
        Some(Ok(directory)) if !directory.has_frame(&frame) => Some((
            Problem::ObjectDiffers,
            "not in the form that its site's settings ask for".to_owned(),
        )),
        Some(Ok(directory)) => {
            let summary = summary.filter(|summary| summary.is_of(directory, changed));
            let detail = "not what its object says".to_owned();
            summary
                .is_none()
                .then_some((Problem::SummaryDiffers, detail))
        }
    }
}

/// Returns the [`Suspect::state`] of an object.
fn state_of(object: Option<&(ObjectMeta, Bytes)>) -> String {
    object.map_or_else(String::new, |(meta, _)| meta.etag.clone())
}

/// Returns the problem of a site's n-th index.
fn wrong_index(
    object: Option<(ObjectMeta, Bytes)>,
    n: u32,
    site: &Site,
) -> Option<(Problem, String)> {
    let Site { row, summaries, .. } = site;
    let generations = summaries.values().map(|summary| summary.generation);
    let generation = row.version + generations.sum::<u64>();
    let Some((meta, bytes)) = object else {
        return Some((Problem::ObjectLost, "it is missing".to_owned()));
    };
    let directory = match directory(&meta, &bytes, row.epoch) {
        Ok(directory) => directory,
        Err(why) => return Some((Problem::ObjectLost, why)),
    };
    if directory.generation() != generation {
        let why = "not what the summaries say".to_owned();
        return Some((Problem::ObjectDiffers, why));
    }
    // The first index may be empty, too.
    if n > 1 && (directory.entries() > 0) != (n <= row.indexes) {
        let why = format!("the site's row counts {} indexes", row.indexes);
        return Some((Problem::ObjectDiffers, why));
    }
    // Equal generations mean equal counts.
    let prolog = Member::parse(&bytes)
        .ok()
        .and_then(|member| member.inflated(Part::Prolog));
    let prolog = prolog.and_then(|prolog| String::from_utf8(prolog).ok());
    let wanted = index_frame(&row.settings).prolog;
    let has_form = prolog.is_some_and(|prolog| without_counts(&prolog).into_bytes() == wanted);
    (!has_form).then(|| {
        let why = "not in the form that its site's settings ask for".to_owned();
        (Problem::ObjectDiffers, why)
    })
}

/// Returns the problem of a file that is stored as text. Without a stamp to compare, only the file itself is checked.
fn wrong_text(
    object: Option<(ObjectMeta, Bytes)>,
    wanted: Option<&str>,
) -> Option<(Problem, String)> {
    let Some((meta, bytes)) = object else {
        return Some((Problem::ObjectLost, "it is missing".to_owned()));
    };
    let text = std::str::from_utf8(&bytes).ok();
    let document = meta
        .document
        .filter(|document| text.is_some_and(|text| sha256_hex(text) == document.digest));
    let Some(document) = document else {
        let why = "its bytes are not what was written".to_owned();
        return Some((Problem::ObjectLost, why));
    };
    (wanted.is_some_and(|wanted| document.stamp != wanted)).then(|| {
        let why = "it was not made from the site's settings".to_owned();
        (Problem::ObjectDiffers, why)
    })
}

/// Returns the step at which the next site's objects begin.
fn next_site(sites: &BTreeSet<String>, host: &str) -> Option<AuditStep> {
    let next = sites.range(host.to_owned()..).find(|next| *next != host)?;
    // An empty path sorts before every path.
    let after = Some((next.clone(), String::new()));
    Some(AuditStep::Objects { after })
}

/// Returns the directory of an intact object of this epoch, or what is wrong with the object.
fn directory(meta: &ObjectMeta, bytes: &[u8], epoch: u64) -> Result<Directory, String> {
    let member = Member::parse(bytes).map_err(|error| error.to_string())?;
    member.verify().map_err(|error| error.to_string())?;
    let directory = member.directory();
    if directory.epoch != epoch {
        return Err("it is of an earlier epoch".to_owned());
    }
    let document = meta.document.as_ref().ok_or("it has no metadata")?;
    let same = document.stamp == stamp(epoch, directory.generation())
        && document.digest == directory.digest()
        && document.entries == directory.entries()
        && document.bytes == directory.document_bytes();
    if same {
        Ok(directory.clone())
    } else {
        Err("its metadata is another object's".to_owned())
    }
}

/// Returns the position below which every slot of a shard was certainly offered. The counter went through the shard up to the
/// capacity at that time, which may have been different. `end` is the position after the shard's last row.
fn offered(n: u32, extent: Extent, capacity: u32, end: u32) -> u32 {
    let full = end
        .max(1)
        .next_multiple_of(SEGMENT_SLOTS)
        .min(extent.positions);
    match n.cmp(&extent.shards) {
        std::cmp::Ordering::Less => full.min(capacity),
        std::cmp::Ordering::Equal => extent.next.min(capacity),
        std::cmp::Ordering::Greater => 0,
    }
}
