#!/usr/bin/env python3
"""Shows that the tests can fail: plants faults in a copy of the code, one at a time, and runs the tests on each.

    planted_faults.py                 every fault
    planted_faults.py --only NAME     this one; may be given several times
    planted_faults.py --list          what there is
    planted_faults.py --check         only that every fault's text still occurs once in the code
    planted_faults.py --simulated     by generated histories in the simulated world alone: after how many steps
    planted_faults.py --tree DIR      in this copy and its own target folder, instead of target/planted

Each fault leaves out one thing that docs/ARCHITECTURE.md says must be there. The directed tests run first, and the generated
histories (`--cases`, 60) if none of them fails. Exit status: 1 if a fault was missed, 2 if a fault's text is not in the code
any more, does not compile, or the tests fail without any."""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUND, LEDGERS, ACTIONS, VERIFY, INGEST, SWEEP, REGENERATE, TIMERS = (
    f"shared/engine/src/{name}.rs" for name in [
        "reconcile/round", "reconcile/ledgers", "reconcile/ledgers/actions", "reconcile/ledgers/verify", "ingest", "sweep",
        "regenerate", "timers"])
CLAIM, SUMMARY, SERIES, SITE, SCAN, GROUP, TERM, NOTICE, MARK, TURN, TABLE = (
    f"shared/engine/src/rows/{name}.rs" for name in [
        "claim", "summary", "series", "site", "scan", "group", "term", "notice", "mark", "turn", "table"])
SHARD, CALLS, SITE_SCAN, INDEX, BLOCKS, PUT = (
    f"shared/engine/src/regenerate/{name}.rs" for name in ["shard", "calls", "site_scan", "index", "index/blocks", "put"])
AUDIT, OBJECTS, ROWS, SUMS, NOTICES = (
    f"shared/engine/src/sweep/{name}.rs" for name in ["audit", "audit/objects", "audit/rows", "audit/sums", "notices"])
PLACER, PLANNER, SURVEY, BULK_ROWS, STAGE = (
    f"shared/engine/src/{name}.rs" for name in ["bulk/placer", "bulk/planner", "bulk/survey", "bulk/rows", "bulk/stage"])
S3, CLIENTS = "shared/aws/src/s3.rs", "shared/aws/src/clients.rs"
PLAN, FILES, FRONT = "shared/sitemap/src/plan.rs", "shared/objects/src/files.rs", "shared/front/src/site_front.rs"
KEEPER = "shared/edge/src/keeper.rs"

# A condition that always holds, in terms that DynamoDB accepts.
ALWAYS = 'Condition::has("pk").or(Condition::lacks("pk"))'
# What runs, until something fails: the quickest first, but for what has to be built for itself. Each stage is what cargo
# builds and which of its tests run. Left out is what knows nothing of the protocols.
SKIPPED = [word for name in ["template::", "bad_input::", "store::a_client", "store::no_client"] for word in ("--skip", name)]
QUICK = ["store::", "conformance::"]
WHOLE = ["--test", "whole"]
ENGINE, SIM = (["--package", f"waymark-{name}", "--lib"] for name in ["engine", "sim"])
EDGE = ["--package", "waymark-edge", "--test", "keeping"]
STAGES = {
    "redirects at the edge": (EDGE, []),
    "the scenarios": (SIM, ["scenarios::"]),
    "the engine's own tests": (ENGINE, []),
    "the simulated world": (SIM, ["--skip", "scenarios::"]),
    "adapters": (WHOLE, [*QUICK, *SKIPPED]),
    "the whole": (WHOLE, [word for name in [*QUICK, "histories::"] for word in ("--skip", name)] + SKIPPED),
    "histories": (WHOLE, ["histories::"]),
}
# The simulated world runs these folders' code, and no other.
SIMULATED = tuple(f"shared/{name}/" for name in ["sitemap", "table", "objects", "engine"])
# But for this: without `--bulk`, histories begin with reconciles.
NOT_SIMULATED = "shared/engine/src/bulk"
SIMULATED_SEED = 7
# Of the histories in the tests of the simulated world: more than without a fault, where `.ci/run simulate` runs the rest.
STEPS = 16_000
# A fault may keep the tests from ending: seconds, far above what they need.
TIME_LIMIT = 900

# Name: the edits, each a file, a text that occurs once in it, and what stands there instead.
FAULTS = {
    # Reconcile: fence, read, plan, commit.
    "the fence is taken after the record was read": [
        (ROUND, "        let mut fenced = self.fence(pages, options, outcomes).await;",
         "        let all: Vec<String> = pages.iter().map(|page| keys::page_parts(page).0.to_owned()).collect();\n"
         "        let early = self.content.records(&all).await;\n"
         "        let mut fenced = self.fence(pages, options, outcomes).await;"),
        (ROUND, "        let truth = self.truth(&mut fenced, outcomes).await;",
         "        let mut truth = self.truth(&mut fenced, outcomes).await;\n"
         "        if let Ok(early) = early {\n            truth.records = early;\n        }")],
    "the clock is read before the fence": [
        (ROUND, "        let mut fenced = self.fence(pages, options, outcomes).await;\n        let now = self.env.now();",
         "        let now = self.env.now();\n        let mut fenced = self.fence(pages, options, outcomes).await;")],
    "a timer may be written after its time": [
        (ROUND, "            Commit::Done if planned.is_due(self.env.now()) => Ok(None),\n", "")],
    "what was overtaken counts as done when no time is left": [
        (ROUND, "                    outcomes.remove(page);\n", "")],
    "a commit does not check the ledger's token": [
        (ACTIONS, '.when(Condition::equals("token", token))', f'.when(Condition::equals("token", token).or({ALWAYS}))')],
    "a fence keeps the token of an earlier one": [
        (TABLE, 'Update::new().set("token", token.as_str())', 'Update::new().set_missing("token", token.as_str())'),
        (LEDGERS, "        Ok(Fenced::new(token, read_ledger(&key, &item)?))",
         '        let token = item.text("token").unwrap_or_else(|| token.as_str()).to_owned();\n'
         "        Ok(Fenced::new(token, read_ledger(&key, &item)?))")],
    "the client tries a fence again with the same token": [
        (TABLE, '.set("token", token.as_str()).once();', '.set("token", token.as_str());')],
    "a lost commit is not tried again": [
        (ROUND, "Ok(None) => lost.push(page),",
         "Ok(None) if false => lost.push(page),\n"
         "                Ok(None) => {\n"
         "                    let (outcome, parts) = (Reconciled::Unchanged, 0);\n"
         "                    let token = String::new();\n"
         "                    outcomes.insert(page, Ok(Tried { outcome, parts, again: false, token }));\n"
         "                }")],
    "a claim is taken whoever has it": [
        (ACTIONS, "of_nobody_else(put, id, holding)", "put")],
    "a claim is released whoever has it": [
        (ACTIONS, "of_nobody_else(Action::delete(&key), id, holding)", "Action::delete(&key)"),
        (ACTIONS, "action = action.when(nobodys_or(id));", f"action = action.when(nobodys_or(id).or({ALWAYS}));")],
    "an address has a claim for each of its spellings": [
        (CLAIM, "let hash = sha256_hex(&normalized(loc));", "let hash = sha256_hex(loc);"),
        (CLAIM, "claim.pk.ends_with(&sha256_hex(&normalized(loc)))", "claim.pk.ends_with(&sha256_hex(loc))")],
    "a canonical address is compared as a text": [
        ("shared/sitemap/src/eligibility.rs", "!canonical.is_equivalent(&loc)", "**canonical != loc")],
    "a page that spells its address anew releases it": [
        ("shared/sitemap/src/plan/holding.rs",
         "            (\n"
         "                Self::Claim(address) | Self::YieldingClaim(address),\n"
         "                Self::Claim(other) | Self::YieldingClaim(other),\n"
         "            )\n"
         "            | (Self::Departed(address, _), Self::Departed(other, _))\n"
         "            | (Self::Waiter(address), Self::Waiter(other)) => address.is_equivalent(other),\n", "")],
    "a waiter registers though the claim's owner has gone": [
        (ACTIONS, 'let owned = Condition::equals("owner", owner);',
         f'let owned = Condition::equals("owner", owner).or({ALWAYS});')],
    "a page that departed keeps its address from a listed page": [
        (CLAIM, "        owner if yields(item) => Claim::Departed(owner.to_owned()),\n", "")],
    "an address is taken from whoever has it by now": [
        (ACTIONS, 'Condition::equals("owner", owner).and(Condition::has(YIELDS))', ALWAYS)],
    "a departure stays when its address is taken": [
        (ACTIONS, "        self.push(&departed, Action::delete(&departed));\n", "        let _ = departed;\n")],
    "a page that lost its address is not called": [
        (ACTIONS, "        self.push(&ousted, Action::put(Item::from(&ousted)));\n", "        let _ = ousted;\n")],
    "what became of a page is written though another has its address": [
        ("shared/sitemap/src/plan/difference.rs", "departs.filter(|_| !changes.iter().any(is_claimed))",
         "departs.filter(|_| false && !changes.iter().any(is_claimed))")],
    "what became of a page is not written over what another has left": [
        (ACTIONS, "                    Holding::Departed(..) => put,\n", "")],
    "waiters are not called when the owner departs": [
        ("shared/engine/src/regenerate.rs", "(record.event != EventName::Insert).then_some(subject)",
         "(record.event == EventName::Remove).then_some(subject)")],
    "a site is not told that it has departures": [
        ("shared/engine/src/regenerate/departures.rs", "            table.note_departures(site).await?;\n", "")],
    "departures of an older table stay": [
        (SITE_SCAN, "step_over(site, self.publish_old_departures(site).await)?;", "")],
    "a block of an index is spliced as if no sitemaps of others were behind it": [
        (BLOCKS, "            blocks = others;\n", "            let _ = others;\n")],
    "an index that is cut into blocks lists no sitemaps of others": [
        (INDEX, "let segments = blocks::segments(generation, blocks, &also);",
         "let none = Page::default();\n                    let segments = blocks::segments(generation, blocks, &none);"),
        (INDEX, "        let also = lines::also(&row.settings);\n", "")],
    "sitemaps of others make no index full": [
        (BLOCKS, "if now + also > self.limits.lines", "if now > self.limits.lines")],
    "a sitemap without dates has no time of its last change": [
        ("shared/engine/src/regenerate/index/lines.rs", "let lastmod = summary.lastmod.or(changed);",
         "let lastmod = summary.lastmod.or(changed.filter(|_| false));")],
    "the audit does not look at emptied rows": [
        (ROWS, "Holds::Entry(None)) if !read(series, *slot, others) => {", "Holds::Entry(None)) if false && !read(series, *slot, others) => {")],
    "the audit does not look at departures": [
        (OBJECTS, "let has_departures = site.row.departures || departing.contains(host);", "let has_departures = false;")],
    "waiters are not called": [
        (CALLS, "outcome.and(self.reconcile_all(&next).await)", "outcome.and(self.reconcile_all(&next[..0]).await)")],
    "the calls for an address end with a slice": [
        (CALLS, "until.has_passed() && table.call_waiter(claim_pk, &next[0]).await?", "until.has_passed()")],
    "an entry that is written again leaves its slot free": [
        (VERIFY, "            fenced.strays.push(keys::free(&placed.series, placed.slot));\n",
         "            let _ = keys::free(&placed.series, placed.slot);\n")],
    "an entry is written into another's slot, which need not be free": [
        (ACTIONS, "            nobodys_or(id)\n        };", f"            nobodys_or(id).or({ALWAYS})\n        }};"),
        (ACTIONS, "Action::update(&key, update).when(nobodys_or(id))",
         f"Action::update(&key, update).when(nobodys_or(id).or({ALWAYS}))"),
        (ACTIONS, 'Action::delete(key).when(Condition::has("pk"))', f"Action::delete(key).when({ALWAYS})")],
    "a free slot stays free when it is taken": [
        (LEDGERS, "            actions.take_free(&keys::free(&offer.series, offer.slot));",
         "            if false {\n                actions.take_free(&keys::free(&offer.series, offer.slot));\n            }")],
    "the series' counter is moved on unconditionally": [
        (SERIES, '.and(Condition::equals("next_i", next.i))', f'.and(Condition::equals("next_i", next.i)).or({ALWAYS})')],
    "a removal deletes the entry's row": [
        (ACTIONS, """        let update = Update::new()
            .remove("owner")
            .remove("xml")
            .remove("lastmod")
            .add("version", 1);
""", ""),
        (ACTIONS, "Action::update(&key, update).when(nobodys_or(id))", "Action::delete(&key).when(nobodys_or(id))")],
    "a removal does not raise the entry's version": [
        (ACTIONS, """            .remove("lastmod")
            .add("version", 1);""", """            .remove("lastmod")
            .add("version", 0);""")],
    "a timer is not cleared": [
        (ACTIONS, "Change::Release(holding) => {", "Change::Release(Holding::Timer(_)) => {}\n            Change::Release(holding) => {")],
    "settings are written without the site's fence": [
        (SITE, '.when(Condition::equals("token", token));', f'.when(Condition::equals("token", token).or({ALWAYS}));')],
    # Search engines.
    "a removal goes on though its site cannot be read": [
        ("shared/engine/src/reconcile/truth.rs", "Err(EngineError::Damaged { .. }) => Ok(None),", "Err(_) => Ok(None),")],
    "nobody is notified of an address that is left for another site": [
        (ROUND, "former: former.map(|row| &row.settings),", "former: former.map(|row| &row.settings).filter(|_| false),")],
    "a site is not marked when its change is published": [
        (SHARD, "if is_told && touched.is_some() {", "if is_told && touched.is_none() {")],
    "a mark goes though it was made again": [
        (MARK, "        self.delete_if(&key, unchanged).await.map(drop)",
         "        let _ = unchanged;\n        self.delete(&key).await")],
    "feeds wait a day when nobody knows when they were last published": [
        (TURN, "is_none_or(|day| day < today)", "is_some_and(|day| day < today)")],
    "a feed that has just changed is not published again": [
        ("shared/engine/src/regenerate/feed.rs", "            table.mark(Mark::Feed, site, due).await?;",
         "            let _ = (table, due, Mark::Feed);")],
    "IndexNow's refusal is stored after its notices are dropped": [
        (NOTICES, """            table.set_pause(host, (0, now), Some(answer)).await?;
            failed = 0;
            drop_all(table, host, &plan.tell).await?;
""", """            drop_all(table, host, &plan.tell).await?;
            table.set_pause(host, (0, now), Some(answer)).await?;
            failed = 0;
""")],
    # The content's events.
    "a REMOVE event is believed": [
        (INGEST, """    let mut counts: BTreeMap<&str, u64>""", """    let mut last = BTreeMap::new();
    for record in records {
        last.insert(record.key.text("id").unwrap_or_default(), record.event == crate::stream::EventName::Remove);
    }
    let (gone, ids): (Vec<String>, Vec<String>) = ids
        .into_iter()
        .partition(|id| last.get(id.as_str()).is_some_and(|removed| *removed));
    for id in &gone {
        let Ok(fenced) = reconciler.table.fence(id).await else {
            failed.extend(batch.subjects().find(|subject| *subject == id));
            continue;
        };
        let page = sitemap::plan::Page {
            record: None,
            part: 1,
            site: None,
        };
        let page = page.assess(reconciler.env.now());
        let inputs = sitemap::plan::Inputs::of(&page, &fenced.ledger, &sitemap::plan::Claim::Unread);
        let plan = sitemap::plan::plan(id, &inputs);
        if !matches!(reconciler.table.commit(id, &fenced, &plan, &[]).await, Ok(crate::reconcile::ledgers::Commit::Done)) {
            failed.extend(batch.subjects().find(|subject| *subject == id));
        }
    }
    let mut counts: BTreeMap<&str, u64>""")],
    "records are left to a scan that has begun": [
        (SCAN, "        self.wanted && self.pass.is_none()", "        self.is_active()")],
    "a failed record is acknowledged": [
        (INGEST, "    batch.response(failed)", "    failed.clear();\n    batch.response(failed)")],
    # Shards: object, rows, put, summary.
    "the site's row is read before the object": [
        # Each build takes what was read before its object, and reads for the next one.
        (SHARD, "        let build = |touched, stored| self.build_shard(shard, key, touched, stored);\n",
         "        let early = std::sync::Mutex::new(self.reconciler.table.site(&shard.series.site).await?);\n"
         "        let build = |touched, stored| self.build_shard(shard, key, touched, stored, &early);\n"),
        (SHARD, "        stored: Option<Stored>,\n", "        stored: Option<Stored>,\n        early: &std::sync::Mutex<Option<SiteRow>>,\n"),
        (SHARD, "        let row = table.site(&shard.series.site).await?;\n",
         "        let next = table.site(&shard.series.site).await?;\n"
         "        let row = std::mem::replace(&mut *early.lock().expect(\"no panic\"), next);\n")],
    "the epoch stays when the style sheet changes": [
        (SITE, "let epoch = if framed {", "let epoch = if framed || row.epoch > 0 {")],
    "rows are read before the object": [
        (SHARD, "        let build = |touched, stored| self.build_shard(shard, key, touched, stored);\n",
         "        let early = std::sync::Mutex::new(BTreeMap::new());\n"
         "        for k in touched.into_iter().flatten() {\n"
         "            let rows = self.reconciler.table.segment(shard, *k).await?;\n"
         "            early.lock().expect(\"no panic\").insert(*k, rows);\n"
         "        }\n"
         "        let build = |touched, stored| self.build_shard(shard, key, touched, stored, &early);\n"),
        (SHARD, "        stored: Option<Stored>,\n",
         "        stored: Option<Stored>,\n        early: &std::sync::Mutex<BTreeMap<u32, SegmentRows>>,\n"),
        (SHARD, "                    .changed_segments(shard, old.directory(), touched)\n",
         "                    .changed_segments(shard, old.directory(), touched, early)\n"),
        (SHARD, "        touched: Touched<'_>,\n    ) -> Result<BTreeMap<u32, SegmentRows>, EngineError> {\n",
         "        touched: Touched<'_>,\n        early: &std::sync::Mutex<BTreeMap<u32, SegmentRows>>,\n"
         "    ) -> Result<BTreeMap<u32, SegmentRows>, EngineError> {\n"),
        (SHARD, "            let rows = table.segment(shard, k).await?;\n",
         "            let next = table.segment(shard, k).await?;\n"
         "            let rows = early.lock().expect(\"no panic\").insert(k, next);\n"
         "            let rows = match rows {\n"
         "                Some(rows) => rows,\n"
         "                None => table.segment(shard, k).await?,\n"
         "            };\n")],
    "a shard is put without If-Match": [
        (PUT, "            let put = self.put(key, body, &document, current.as_ref()).await?;\n",
         "            let current = match key {\n"
         "                ObjectKey::Shard { .. } => self.objects.head(key).await?,\n"
         "                _ => current,\n"
         "            };\n"
         "            let put = self.put(key, body, &document, current.as_ref()).await?;\n")],
    "S3 is asked without If-Match": [
        (S3, "Precondition::Unchanged(etag) => request.if_match(etag),", "Precondition::Unchanged(_) => request,")],
    "a lost put counts as done": [
        (PUT, "                Put::Lost => Try::Lost(scope),",
         "                Put::Lost if matches!(key, ObjectKey::Shard { .. }) => Try::Done(done),\n"
         "                Put::Lost => Try::Lost(scope),")],
    "equal documents end it, whatever their stamps": [
        (SHARD, "        if built.directory.generation() == 0 && stored.is_none() {",
         "        if let Some(old) = &old\n"
         "            && old.directory().digest() == built.directory.digest()\n"
         "        {\n"
         "            let summary = Summary::of(old.directory(), 0);\n"
         "            let spliced = None;\n"
         "            return Ok(Build::Keep(Some(Published { summary, spliced, is_told })));\n"
         "        }\n"
         "        if built.directory.generation() == 0 && stored.is_none() {")],
    "equal stamps end it before the summary": [
        (SHARD, "                    let summary = Summary::of(old.directory(), changed);\n",
         "                    if spliced == 0 {\n                        return Ok(Build::Keep(None));\n                    }\n"
         "                    let summary = Summary::of(old.directory(), changed);\n")],
    "the summary is written before the object": [
        (SHARD, "        let summary = Summary::of(&built.directory, document.changed);\n",
         "        let summary = Summary::of(&built.directory, document.changed);\n        table.summarise(shard, &summary).await?;\n")],
    "a summary is written over a newer one": [
        (SUMMARY, '.or(Condition::less("generation", summary.generation));',
         f'.or(Condition::less("generation", summary.generation)).or({ALWAYS});')],
    "an object of another epoch is spliced on": [
        (SHARD, "(member.directory().epoch == epoch && meta", "((member.directory().epoch == epoch || true) && meta")],
    # The indexes and the files of the settings.
    "an index is put without If-Match": [
        (INDEX, "            match self.put(&key, body, &document, meta).await? {\n",
         "            let there = self.objects.head(&key).await?;\n"
         "            match self.put(&key, body, &document, there.as_ref()).await? {\n")],
    "the summaries are read before the indexes' objects": [
        (INDEX, "            // The objects are read before the rows.\n",
         "            let summaries = table.summaries(site).await?;\n"),
        (INDEX, "            let summaries = table.summaries(site).await?;\n            let mut pages",
         "            let mut pages")],
    "equal indexes end it, whatever their stamps": [
        (INDEX, "            match self.put(&key, body, &document, meta).await? {\n",
         "            if published.is_some_and(|published| published.digest == document.digest) {\n"
         "                continue;\n"
         "            }\n"
         "            match self.put(&key, body, &document, meta).await? {\n")],
    "the indexes' stamp is without the settings": [
        (INDEX, "let generation = row.version + generations", "let generation = 1 + generations")],
    "an index is put before the site's row knows of it": [
        (INDEX, "            if needed > row.index_objects {\n                table\n"
                "                    .count_indexes(site, row.version, row.indexes, needed)\n                    .await?;\n",
         "            if needed > looked_at {\n"),
        (INDEX, "if row.index_objects > looked_at {", "if row.index_objects.max(needed) > looked_at {")],
    "robots.txt names an index before it is there": [
        (INDEX, ".count_indexes(site, row.version, row.indexes, needed)",
         ".count_indexes(site, row.version, needed, needed)")],
    "the indexes are put in the wrong order": [
        (INDEX, "let next = left.iter().min_by_key(", "let next = left.iter().max_by_key(")],
    "an index is put before the one that takes its lines": [
        (INDEX, "(loss(n), ages[**n - 1], **n)", "(ages[**n - 1], **n)")],
    "what a run that died has left is put in any order": [
        (INDEX, "(loss(n), ages[**n - 1], **n)", "(loss(n), **n)")],
    "a cascade that gets longer is put first": [
        (INDEX, "order.insert(if lists_fewer { 0 } else { order.len() }, 1);", "order.insert(0, 1);")],
    "a block is put without If-Match": [
        (PUT, "            let put = self.put(key, body, &document, current.as_ref()).await?;\n",
         "            let current = match key {\n"
         "                ObjectKey::Index { .. } => self.objects.head(key).await?,\n"
         "                _ => current,\n"
         "            };\n"
         "            let put = self.put(key, body, &document, current.as_ref()).await?;\n")],
    "an index of other settings is spliced on": [
        (BLOCKS, "first.stamp == row.version;", "first.stamp > 0;")],
    "one of several indexes is spliced on": [
        (BLOCKS, "(row.indexes, row.index_objects) != (1, 1)", "(row.indexes, row.index_objects).0 < 1")],
    "equal blocks end it, whatever their stamps": [
        (BLOCKS, "        let document = self.member_document(&built, Some(meta));\n",
         "        let document = self.member_document(&built, Some(meta));\n"
         "        if meta.document.as_ref().is_some_and(|old| old.digest == document.digest) {\n"
         "            return Ok(Build::Keep(Some(false)));\n"
         "        }\n")],
    "a block that ends elsewhere is spliced on": [
        (BLOCKS, "false => self.ends[k] == *end,", "false => self.ends[k] == *end || true,")],
    "the indexes of an older table stay": [
        (SITE, "if found.indexes <= row.index_objects\n", "if found.indexes <= found.indexes.max(row.index_objects)\n")],
    "the audit believes the claim of another address": [
        (CLAIM, "Some(loc) if is_claim_of(key, loc) =>", "Some(loc) if is_claim_of(key, loc) || true =>")],
    "the audit believes a site's row that counts too few indexes": [
        (OBJECTS, "if found.indexes > row.index_objects", "if found.indexes > found.indexes.max(row.index_objects)")],
    "the audit believes a site's row that needs too few indexes": [
        (OBJECTS, "if n > 1 && (directory.entries()", "if n > n.max(1) && (directory.entries()")],
    "a notice that cannot be read is sent": [
        (NOTICE, "(item_key(item)? == self::notice(site, loc)).then(", "(at <= i64::MAX).then(")],
    "robots.txt is without its stamp": [
        (FILES, 'Storage::Sealed("\\n# ", "\\n")', "Storage::Text")],
    "the feed is without its token": [
        (FILES, 'Storage::Sealed("<!-- ", " -->\\n"),\n    cache_control: SHARED_CACHE,\n    made_from: Source::Changes',
         "Storage::Text,\n    cache_control: SHARED_CACHE,\n    made_from: Source::Changes")],
    "llms.txt is without its token": [
        (FILES, 'Storage::Sealed("<!-- ", " -->\\n"),\n    cache_control: SHARED_CACHE,\n    made_from: Source::Newest',
         "Storage::Text,\n    cache_control: SHARED_CACHE,\n    made_from: Source::Newest")],
    "what settings close is not found at once": [
        (FRONT, "since.is_none_or(|since| is_over(since, &file, now))", "true")],
    # The hold and the scan.
    "a site is released in one step": [
        (SHARD, "row.filter(|row| row.hold != Hold::Loading)", "row.filter(|row| row.hold == Hold::Released)")],
    "segments are published while the site loads": [
        (SHARD, "row.filter(|row| row.hold != Hold::Loading)", "row.filter(|_| true)")],
    "the index is published while the site is on hold": [
        ("shared/engine/src/regenerate/regenerator.rs", "row.filter(|row| row.hold == Hold::Released ||", "row.filter(|row| row.hold != Hold::Loading ||")],
    "two slices of a scan both count": [
        (SCAN, "        self.put_if(row, unchanged(before)).await",
         f"        self.put_if(row, unchanged(before).or({ALWAYS})).await")],
    "a request that comes twice puts an old token back into the scan's row": [
        (SCAN, '.set_missing("token", self.env.token())', '.set("token", self.env.token())')],
    "a slice forgets the pass that was asked for while it ran": [
        (SCAN, ".and(same_wish)", f".and(same_wish.or({ALWAYS}))")],
    "a site's scan that began again is taken for the one before": [
        (SCAN, '        let unchanged = Condition::equals("token", before.token.as_str());',
         f'        let unchanged = Condition::equals("token", before.token.as_str()).or({ALWAYS});')],
    "a site's scan looks at no page that is listed": [
        (SITE_SCAN, "        segments.truncate(SEGMENTS);", "        segments.truncate(0);")],
    "a site's scan looks at no page that is left out": [
        (SITE_SCAN, "ids.iter().map(|id| (keys::page(id, 1), 1)).collect();\n        self.look_again",
         "ids.iter().take(0).map(|id| (keys::page(id, 1), 1)).collect();\n        self.look_again")],
    "a run does not look at its site again": [
        (ROUND, "        lost.extend(self.overtaken(appearing, truth, outcomes).await);",
         "        lost.extend(self.overtaken(BTreeSet::new(), truth, outcomes).await);\n        drop(appearing);")],
    "a site is released before all content was scanned": [
        (SITE_SCAN, "            Some(scan) if scan.is_complete(revision) => return Ok(false),",
         "            _ if revision == revision => return Ok(false),")],
    "a scan does not look for the objects of an older table": [
        (SERIES, "for key in objects.list(site).await? {", "for key in objects.list(site).await?.into_iter().take(0) {")],
    # The clock.
    "the cursor passes timers that are not due": [
        (TIMERS, "let mut reached = this_hour - 1;", "let mut reached = this_hour + 1;"),
        (TIMERS, "let hour = this_hour;", "let hour = this_hour + 1;")],
    "a failure that will pass does not hold the cursor": [
        (TIMERS, "if !error.is_permanent() {", "if error.is_permanent() {")],
    # The audit.
    "a repair believes the ledger": [
        (ROUND, "self.table.fence_verified(page, found).await", "{ let _ = found; self.table.fence(page).await }")],
    "a repair takes in nothing that was found": [
        (LEDGERS, ".take(MAX_STRAYS);", ".take(MAX_STRAYS * 0);")],
    "a ledger that a repair found untrue is not written": [
        (ROUND, "plan.ledger_changes |= fenced.untrue;", "")],
    "the audit raises no stamp": [
        (AUDIT, "Remedy::Lift(shard, segments) => self.lift(shard, segments).await,",
         "Remedy::Lift(shard, segments) => { let _ = self.lift(shard, segments); Ok(()) }")],
    "the audit raises no stamp above a summary's": [
        (OBJECTS, "least.saturating_sub(lifted)", "least.saturating_sub(lifted) * 0")],
    "the audit compares stamps alone": [
        (OBJECTS, "old.stamp == rows.stamp && old.says(&rows.segment())", "old.stamp == rows.stamp")],
    "the audit lets a series have fewer segments than are published": [
        (OBJECTS, "if site.extent(shard).segments() < segments {", "if false {")],
    "the audit looks at no frame": [
        (OBJECTS, "        Some(Ok(directory)) if !directory.has_frame(&frame) => Some((",
         "        Some(Ok(_)) if false => Some((")],
    "the audit makes up for no mark that was lost": [
        (OBJECTS, "                self.mark_again(&site).await?;", "")],
    "a feed is not published when its mark ends": [
        (REGENERATE, "Subject::MarkedFeed(_) | Subject::MarkedLlms(_) => {\n            (record.event",
         "Subject::MarkedFeed(_) => None,\n        Subject::MarkedLlms(_) => {\n            (record.event")],
    "llms.txt is not published when its mark ends": [
        (REGENERATE, "Subject::MarkedFeed(_) | Subject::MarkedLlms(_) => {\n            (record.event",
         "Subject::MarkedLlms(_) => None,\n        Subject::MarkedFeed(_) => {\n            (record.event")],
    "a cursor that cannot be read stays": [
        (SWEEP, "table.begin_timers_again(now)", "table.begin_timers(now)")],
    "the audit does not look at site files": [
        (OBJECTS, "Source::Settings => wrong_text(object, Some(&wanted)),", "Source::Settings => None,"),
        (OBJECTS, "Source::Changes | Source::Newest => wrong_text(object, None),", "Source::Changes | Source::Newest => None,")],
    "an audit adds up keys alone": [
        (SUMS, "tally.add(&ledger, &name(&row.key), &said(holds));", 'let _ = said(holds); tally.add(&ledger, &name(&row.key), "");'),
        (SUMS, "tally.subtract(key, &name(&row), &said_of(&held));", 'let _ = said_of(&held); tally.subtract(key, &name(&row), "");')],
    "an audit adds no record up": [
        (SUMS, "Ok(Some(ledger)) => tally.add(&key, FACE, &face(&ledger)),", "Ok(Some(_)) => {}"),
        (SUMS, "tally.subtract(key, FACE, &face(ledger));", "let _ = face(ledger);")],
    "an audit forgets what it suspects for what a row says": [
        (SUMS, "sums.place.suspected.append(&mut suspected);", "suspected.clear();")],
    "the audit looks for no record without a ledger": [
        (ROWS, "if unseen.is_empty() {", "if true {")],
    "an entry's digest leaves its lastmod out": [
        ("shared/sitemap/src/plan/change.rs", "self.lastmod.map(|at| at.to_string()).unwrap_or_default();", "String::new();")],
    "an audit judges what it cannot read": [
        ("infra/cli/src/audit.rs", "if let Some(misread) = target.misread(&new).await? {",
         "if let Some(misread) = target.misread(&new).await?.filter(|_| false) {")],
    "a damaged row of the clock's turn is believed": [
        (TURN, "if until.is_none_or(|until: i64| until > now + 2 * TURN_SECONDS) {", "if until == Some(i64::MIN) {")],
    "a harmless finding brings the next audit forward": [
        (SWEEP, "let period = match progress.repaired {", "let period = match progress.found.len() {")],
    "a body that stands still is waited for": [
        (CLIENTS, "StalledStreamProtectionConfig::enabled().grace_period(attempt);",
         "StalledStreamProtectionConfig::enabled().grace_period(attempt * 1_000);")],
    # What pages are to each other.
    "an archive is not told of its pages": [
        (REGENERATE, "let archives = self.reconciler.table.archives(pk).await?;",
         "let archives: Vec<String> = self.reconciler.table.archives(pk).await?.into_iter().skip(1).collect();")],
    "an archive's newest page is any": [
        (TERM, ".reversed().limited(1)", ".limited(1)")],
    "an archive may be a page of another one": [
        ("shared/sitemap/src/plan/listing.rs", "if is_page && record.archive_of.is_none() {", "if is_page {")],
    "a group is not told of its members": [
        (REGENERATE, "call(&mut groups, pk, Some(keys::MEMBER), subject)", "call(&mut groups, pk, Some(keys::WAITER), subject)")],
    "the calls of a group end with a slice": [
        (CALLS, "let left = left.first().map(|(sk, _)| sk.as_str());", "let left = left.first().map(|(sk, _)| sk.as_str()).filter(|_| false);")],
    "nobody who waits is admitted to a group": [
        (GROUP, "if records.len() < MAX_GROUP => {", "if records.len() > MAX_GROUP => {")],
    "parts that a record has no longer are forgotten": [
        (PLAN, "after.parts = parts.max(inputs.left);", "after.parts = parts;")],
    "an index lists what the site file still closes": [
        (INDEX, "            self.publish_site_file(site).await?;\n", "")],
    "a part is placed though its page has forgotten it": [
        (ROUND, "part > 1 && self.fenced.new && self.plan.ledger.is_some()", "part > 1 && self.fenced.new && self.plan.ledger.is_some() && false")],
    "a part that is called alone trusts in its page's ledger": [
        (ROUND, "            None => Ok(false),\n        };\n        planned.retain_mut", "            None => Ok(true),\n        };\n        planned.retain_mut")],
    "what left the feed stays in it": [
        ("shared/sitemap/src/plan/difference.rs", "changes.extend(left.cloned().map(Change::Release));",
         "let left = left.filter(|row| !matches!(row, Holding::Feed(..)));\n    changes.extend(left.cloned().map(Change::Release));")],
    "a lost row of the feed is forgotten": [
        ("shared/sitemap/src/plan/listing.rs", "(changed || inputs.feed_lost || is_unsure)", "(changed || is_unsure)")],
    "a row of the feed keeps the address that its page has left": [
        ("shared/sitemap/src/plan/listing.rs", "(changed || inputs.feed_lost || is_unsure)", "(changed || inputs.feed_lost)")],
    "a first load is told of": [
        (ROUND, "notify: released && !options.quiet,", "notify: { let _ = released; !options.quiet },")],
    "news stay when they are old": [
        ("shared/sitemap/src/eligibility.rs", " && now < at.seconds() + NEWS_SECONDS;", ";")],
    "a slot that was given back may still be taken as the counter's": [
        (ACTIONS, "let condition = if fresh {", "let condition = if fresh && false {")],
    "leaked slots are not given back": [
        (AUDIT, "Remedy::GiveBack(shard, positions) => self.give_back(shard, positions).await,",
         "Remedy::GiveBack(shard, positions) => { let _ = self.give_back(shard, positions); Ok(()) }")],
    # A first load in bulk.
    "bulk: two pages get one address": [
        (PLACER, "                        page = planner.plan_page(&planned, page.part, &planner.facts, owner);\n",
         "                        page.owner = owner;\n")],
    "bulk: two spellings are two addresses": [
        (PLANNER, "address.loc.normalized().as_bytes()", "address.loc.as_str().as_bytes()")],
    "bulk: a page that departed keeps its address from a listed page": [
        (SURVEY, "            self.departed.entry(wanted).or_insert(own);\n            return;\n", "")],
    "bulk: an archive that was empty at its turn stays excluded": [
        (SURVEY, "            if self.facts.newest.contains_key(&term) {\n                let page",
         "            if self.facts.newest.is_empty() {\n                let page")],
    "bulk: an archive has the date of its first page": [
        (SURVEY, "if key > newest.0 {", "if newest.0.is_empty() {")],
    "bulk: a translation does not know the others": [
        (SURVEY, "            members.insert(planned.record.id.clone(), translation.clone());\n", "            members.clear();\n")],
    "bulk: a page excluded as a duplicate is its archive's page": [
        (SURVEY, "            Entry::Occupied(_) => return,\n", "            Entry::Occupied(_) => {}\n")],
    "bulk: parts are not placed": [
        (PLANNER, "        for part in 2..=parts {", "        for part in 2..=parts.min(1) {")],
    "bulk: a series' row does not reach its last slot": [
        (PLACER, "open.positions.max(slot.i + 1)", "open.positions.max(slot.i)")],
    "bulk: claims are not written": [
        (BULK_ROWS, "            Change::Hold(holding) => Some(holding::item(page, holding)),",
         "            Change::Hold(sitemap::plan::Holding::Claim(_)) => None,\n"
         "            Change::Hold(holding) => Some(holding::item(page, holding)),")],
    "bulk: entries have another version than their segment's stamp says": [
        (PLACER, "stamp: u64::from(segment.entries),", "stamp: 2 * u64::from(segment.entries),")],
    "bulk: a sitemap's newest date is left out": [
        (PLACER, "        filled.newest = filled.newest.max(rendered.lastmod);\n", "")],
    "bulk: sitemaps are filled beyond the site's limit": [
        (PLACER, "room: Room::of(site, &series.name),",
         "room: Room {\n                    positions: 2 * Room::of(site, &series.name).positions,\n"
         "                    ..Room::of(site, &series.name)\n                },")],
    "bulk: a site stays on hold": [
        (STAGE, "            .move_hold(host, Hold::Publishing, Hold::Released)",
         "            .move_hold(host, Hold::Publishing, Hold::Publishing)")],
    "bulk: the scan of all content is not done": [
        (STAGE, "        stage.table().begin_content_scan(None).await?;\n", "")],
    "bulk: of a site nothing but its sitemaps is published": [
        (STAGE, ".retain(|subject, _| matches!(subject, Subject::Site(_) | Subject::Departures(..)))", ".retain(|_, _| false)")],
    # Redirects at the edge.
    "the rows of an update of the edge are read before the store's ETag": [
        (KEEPER, "            let state = match known.take() {", "            let changes = self.changes(places).await?;\n            let state = match known.take() {"),
        (KEEPER, "            let changes = self.changes(places).await?;\n            *known", "            *known")],
    "what was put at the edge is not looked at again": [
        (KEEPER, "known.is_some() && self.are_wanted(places, &changes).await?", "known.is_some()")],
}


class Broken(Exception):
    """What makes the table say nothing: exit status 2."""


def planted(tree, edits):
    """The files of a fault: path, text as it is, text with the fault."""
    files = {}
    for name, old, new in edits:
        path = tree / name
        before, after = files.get(path) or (path.read_text(),) * 2
        if after.count(old) != 1:
            raise Broken(f"{name}: occurs {after.count(old)} times, not once: {old.strip()!r}")
        files[path] = (before, after.replace(old, new))
    return files


def copy(tree):
    """Brings a copy of what git does not ignore up to date, and leaves alone what has not changed: little is built again."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=TIME_LIMIT).stdout
    names = {name for name in listed.split("\0") if (ROOT / name).is_file()}
    for name in names:
        source, target = ROOT / name, tree / name
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    for path in [path for path in tree.rglob("*") if path.is_file() and str(path.relative_to(tree)) not in names]:
        path.unlink()


def cargo(tree, target, arguments, cases):
    """Cargo's exit status, and what it and the tests said; no status if they did not end."""
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target), WAYMARK_CASES=str(cases), WAYMARK_STEPS=str(STEPS),
                       CARGO_TERM_COLOR="never")
    command = ["cargo", "test", *arguments]
    with subprocess.Popen(command, cwd=tree, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=TIME_LIMIT)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate(timeout=TIME_LIMIT)[0]
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def caught_by(tree, target, cases, log):
    """The tests of the first stage that fail; nothing if all pass."""
    for stage, (built, arguments) in STAGES.items():
        status, said = cargo(tree, target, [*built, "--no-run"], cases)
        if status != 0:
            raise Broken("does not compile:\n" + said[-3000:])
        status, said = cargo(tree, target, [*built, "--", *arguments], cases)
        log.write(said)
        log.flush()
        failed = re.findall(r"^test (\S+) .*?(?:\.\.\.|panicked).*?FAILED$", said, re.MULTILINE)
        failed = failed or re.findall(r"^    (\S+::\S+)$", said, re.MULTILINE)
        if failed:
            return failed
        if status != 0:
            return [f"{stage}, which {'do not end' if status is None else 'die'}"]
    return []


def simulated(tree, target, steps, log):
    """After how many steps generated histories fail, and how; nothing if they do not."""
    # A fault costs a build and a run: so both take a minute on idle cores.
    quickly = {"CARGO_PROFILE_SIM_OPT_LEVEL": "1", "CARGO_PROFILE_SIM_INCREMENTAL": "true"}
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target), CARGO_TERM_COLOR="never", RUST_BACKTRACE="0", **quickly)
    build = ["cargo", "build", "--quiet", "--profile", "sim", "--package", "waymark-sim"]
    built = subprocess.run(build, cwd=tree, env=environment, text=True, capture_output=True, timeout=TIME_LIMIT)
    if built.returncode != 0:
        raise Broken("does not compile:\n" + built.stderr[-3000:])
    command = [target / "sim/waymark-sim", "--seed", str(SIMULATED_SEED), "--steps", str(steps), "--first"]
    try:
        run = subprocess.run(command, text=True, capture_output=True, env=environment, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return f"they do not end in {TIME_LIMIT} s"
    log.write(run.stdout + run.stderr)
    log.flush()
    found = re.search(rf"^case \d+ of seed {SIMULATED_SEED}: (.*)", run.stdout, re.MULTILINE)
    count = re.search(rf"^seed {SIMULATED_SEED}: (\d+) steps", run.stdout, re.MULTILINE)
    if not count:
        return f"they die: {run.stderr[-200:]}"
    return found and f"{count[1]} steps: {found[1][:120]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="a fault's name, or a part of it")
    parser.add_argument("--list", action="store_true", help="the faults' names")
    parser.add_argument("--check", action="store_true", help="only that each fault's text occurs once")
    parser.add_argument("--tree", type=pathlib.Path, metavar="DIR", help="a copy to work in; it is left as it was")
    parser.add_argument("--cases", type=int, default=60, help="histories to generate")
    parser.add_argument("--simulated", action="store_true", help="generated histories in the simulated world alone")
    parser.add_argument("--steps", type=int, default=100_000, help="how many of them, at most")
    arguments = parser.parse_args()
    faults = {name: edits for name, edits in FAULTS.items()
              if (not arguments.only or any(part in name for part in arguments.only))
              and (not arguments.simulated or all(file.startswith(SIMULATED) and not file.startswith(NOT_SIMULATED)
                                                  for file, _, _ in edits))}
    if not faults:
        parser.error("no fault has such a name")
    if arguments.list:
        print("\n".join(faults))
        return 0
    if arguments.check:
        for name, edits in faults.items():
            try:
                planted(arguments.tree or ROOT, edits)
            except Broken as broken:
                raise Broken(f"{name}: {broken}") from None
        print(f"{len(faults)} faults can be planted")
        return 0
    if arguments.tree:
        tree = arguments.tree.resolve()
        target = tree / "target"
    else:
        tree, target = ROOT / "target/planted/tree", ROOT / "target/planted/target"
        copy(tree)
    target.mkdir(parents=True, exist_ok=True)
    width = max(map(len, faults))
    missed = []
    with open(target / "planted_faults.log", "w") as log:
        def look():
            """What finds the fault that is in the copy now."""
            if arguments.simulated:
                return simulated(tree, target, arguments.steps, log)
            failed = caught_by(tree, target, arguments.cases, log)
            others = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
            return failed and failed[0] + others

        begun = time.monotonic()
        if found := look():
            raise Broken(f"without a fault, this fails: {found}; see {log.name}")
        print(f"{'(none)':{width}}  all pass, {time.monotonic() - begun:.0f} s", flush=True)
        for name, edits in faults.items():
            begun = time.monotonic()
            files = planted(tree, edits)
            log.write(f"\n==== {name}\n")
            try:
                for path, (_, after) in files.items():
                    path.write_text(after)
                found = look()
            except Broken as broken:
                raise Broken(f"{name}: {broken}") from None
            finally:
                for path, (before, _) in files.items():
                    path.write_text(before)
            if not found:
                missed.append(name)
            seconds = time.monotonic() - begun
            print(f"{name:{width}}  {found or 'MISSED'}, {seconds:.0f} s", flush=True)
    print(f"{len(faults) - len(missed)} of {len(faults)} caught")
    return 1 if missed else 0


if __name__ == "__main__":
    # The copy is left as it was, also then.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    try:
        sys.exit(main())
    except Broken as broken:
        print(f"planted_faults.py: {broken}", file=sys.stderr)
        sys.exit(2)
