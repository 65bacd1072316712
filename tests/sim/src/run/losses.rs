//! The losses and damages of a history: rows, attributes of rows, objects.

use std::collections::BTreeMap;

use engine::keys::{self, ALONE, Key, RowKey, ShardId, prefix};
use engine::rows::holding::rows_of;
use serde_json::Value as Json;
use sitemap::plan::Ledger;
use table::Item;

use super::Run;
use crate::audit::kind;
use crate::history::{RECORDED, SITES};

/// A text that is invalid in every attribute.
pub(crate) const GARBAGE: &str = "\u{1}{";

impl Run {
    pub(super) async fn lose_row(&mut self, at: usize) {
        // Each kind of row with the same probability.
        let mut kinds: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        let rows = self.world.rows().await;
        for (pk, sk) in rows.0.keys().cloned() {
            let of_kind = kinds.entry(kind(&pk).to_owned()).or_default();
            of_kind.push((pk, sk));
        }
        let kinds: Vec<_> = kinds.into_values().collect();
        if kinds.is_empty() {
            return;
        }
        let keys = &kinds[at % kinds.len()];
        let (pk, sk) = &keys[at / kinds.len() % keys.len()];
        let body = rows.0[&(pk.clone(), sk.clone())].get("body");
        let ledger: Option<Ledger> = body.and_then(|body| serde_json::from_str(body).ok());
        self.board.break_all().await;
        self.world.lose_row(pk, sk).await;
        self.report.lost += 1;
        // Related rows are sometimes lost together.
        if let Some(RowKey::Entry(series, slot)) = RowKey::parse(pk, sk)
            && at / kinds.len() / keys.len() % 2 == 1
        {
            let n = slot.n;
            let key = ShardId { series, n }.object();
            self.world.lose_object(&key, 0).await;
            self.report.lost += 1;
            self.broken |= key.site() == SITES[RECORDED];
        }
        // Then only its record shows that the page exists.
        if let (Some(RowKey::Ledger(page)), Some(ledger)) = (RowKey::parse(pk, sk), ledger)
            && at / kinds.len() / keys.len() % 2 == 1
        {
            for Key { pk, sk } in rows_of(&page, &ledger, self.world.sim.now()) {
                self.world.lose_row(&pk, &sk).await;
                self.report.lost += 1;
            }
        }
        self.lost = true;
        if *pk == keys::site(SITES[RECORDED]).pk {
            self.rowless = true;
            self.orphaned |= self.oracle.settings[RECORDED].is_none();
        }
    }

    /// Removes or damages an attribute of a row, or removes a field of a ledger's body.
    pub(super) async fn damage_row(&mut self, at: usize) {
        // Each kind of row, and each attribute of it, with the same probability.
        let mut kinds: BTreeMap<(String, String), Vec<Item>> = BTreeMap::new();
        for item in self.world.items().await {
            let pk = item.text("pk").unwrap_or_default().to_owned();
            // As with a lost row, the site would be unknown.
            let is_site = pk == keys::site(SITES[RECORDED]).pk;
            // A damaged notice is deleted, but only when its engines are called. Then it is like a lost one.
            let is_notice = pk.starts_with(prefix::NOTICE) && item.text("sk") != Some(ALONE);
            if is_site || is_notice {
                continue;
            }
            let names = item.iter().map(|(name, _)| name.to_string());
            let mut names: Vec<_> = names
                .filter(|name| !["pk", "sk"].contains(&&**name))
                .collect();
            names.extend(
                forgettable(&item)
                    .into_iter()
                    .map(|field| format!("body.{field}")),
            );
            for name in names {
                let of_kind = kinds.entry((kind(&pk).to_owned(), name)).or_default();
                of_kind.push(item.clone());
            }
        }
        let kinds: Vec<_> = kinds.into_iter().collect();
        if kinds.is_empty() {
            return;
        }
        let ((_, name), items) = &kinds[at % kinds.len()];
        let at = at / kinds.len();
        let mut item = items[at % items.len()].clone();
        match name.strip_prefix("body.") {
            Some(field) => forget(&mut item, field),
            None if (at / items.len()).is_multiple_of(2) => drop(item.remove(name)),
            None => item.set(name.clone(), GARBAGE),
        }
        self.board.break_all().await;
        self.world.damage_row(item).await;
        self.report.lost += 1;
        self.lost = true;
    }

    pub(super) async fn lose_object(&mut self, at: usize) {
        let mut objects: Vec<_> = self.world.published().await.into_keys().collect();
        objects.retain(|key| !(self.orphaned && key.site() == SITES[RECORDED]));
        if objects.is_empty() {
            return;
        }
        let key = &objects[at % objects.len()];
        self.board.break_all().await;
        self.world.lose_object(key, at / objects.len()).await;
        self.report.lost += 1;
        self.lost = true;
        self.broken |= key.site() == SITES[RECORDED];
    }
}

/// Returns the fields of a ledger's body that can be removed.
fn forgettable(item: &Item) -> Vec<String> {
    let is_ledger = item
        .text("pk")
        .is_some_and(|pk| pk.starts_with(prefix::LEDGER));
    let body = item.text("body").filter(|_| is_ledger);
    let body: Option<Json> = body.and_then(|body| serde_json::from_str(body).ok());
    let fields = body.as_ref().and_then(Json::as_object);
    fields
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect()
}

/// Removes a field of a ledger's body.
fn forget(item: &mut Item, field: &str) {
    let body = item.text("body").unwrap_or_default();
    let mut body: Json = serde_json::from_str(body).expect("a ledger's body");
    body.as_object_mut().expect("an object").remove(field);
    item.set("body", body.to_string());
}
