//! The translations of a page: those of its translation group, or the alternates that the record itself names.
//!
//! Every member lists itself and all others, so all members get the same set. Of two members in one language, the one with the
//! smaller id is in the set. If there are too many members, those with the smallest ids are.

use std::collections::BTreeMap;

use super::ledger::Ledger;
use super::listing::Listing;
use super::translation::{Translation, Translations};
use crate::format::entry::Alternate;
use crate::language::X_DEFAULT;

/// The most members of a translation group. Each of them lists all.
pub const MAX_GROUP: usize = 200;

impl Listing<'_> {
    /// Returns the alternates to write, and sets the page's place in its group.
    pub(super) fn alternates(&self, after: &mut Ledger) -> Vec<Alternate> {
        let record = self.record;
        if self.inputs.page.part != 1 {
            return Vec::new();
        }
        let Some((group, language)) = record
            .translation_group
            .clone()
            .zip(record.language.clone())
        else {
            let own = &record.alternates;
            let is_self = |alternate: &Alternate| alternate.href.is_equivalent(self.loc);
            if own.is_empty() {
                return Vec::new();
            }
            if own.iter().all(is_self) {
                let note = "alternates: left out, they name no page but this one";
                after.notes.push(note.to_owned());
                return Vec::new();
            }
            if !own.iter().any(is_self) {
                let note = "alternates: the page itself is missing among them";
                after.notes.push(note.to_owned());
            }
            return own.clone();
        };
        if !record.alternates.is_empty() {
            after.notes.push(
                "alternates: left out, since those of its translation_group are listed".to_owned(),
            );
        }
        let mut members = self.inputs.group.clone();
        let rank = members.keys().position(|id| id == self.id);
        // A member keeps its room. Another page needs free room, or waits.
        if rank.unwrap_or(members.len()) >= MAX_GROUP {
            let note = format!("translation_group: full, it has {MAX_GROUP} members");
            after.notes.push(note);
            after.waits_in = Some(group);
            return Vec::new();
        }
        let own = Translation {
            language,
            href: self.loc.clone(),
            x_default: record.x_default,
        };
        members.insert(self.id.to_owned(), own.clone());
        let (alternates, default) = alternates_of(&members);
        let is_other = |alternate: &Alternate| !alternate.href.is_equivalent(&own.href);
        let others = alternates.iter().any(is_other);
        let first = members
            .iter()
            .find(|(_, member)| member.language.eq_ignore_ascii_case(&own.language));
        let taken = first.filter(|(id, _)| *id != self.id);
        if let Some((id, _)) = taken {
            let note = format!("translation_group: {id} is its page in {}", own.language);
            after.notes.push(note);
        } else if let Some(id) = default.filter(|id| own.x_default && *id != self.id) {
            let note =
                format!("x_default: left out, {id} is the x-default of its translation_group");
            after.notes.push(note);
        }
        after.group = Some((group, own));
        // Search engines ignore one-sided links, and a set of one has no meaning.
        if taken.is_some() || !others {
            return Vec::new();
        }
        alternates
    }
}

/// Returns the set that all members list, in the order of the languages with `x-default` last, and the id of the `x-default`
/// page.
fn alternates_of(members: &Translations) -> (Vec<Alternate>, Option<&str>) {
    let mut languages: BTreeMap<String, &Translation> = BTreeMap::new();
    let mut default = None;
    for (id, member) in members.iter().take(MAX_GROUP) {
        let language = member.language.to_ascii_lowercase();
        let kept = *languages.entry(language).or_insert(member);
        if member.x_default && std::ptr::eq(kept, member) {
            default = default.or(Some((id.as_str(), member)));
        }
    }
    let alternate = |hreflang: &str, member: &Translation| Alternate {
        hreflang: hreflang.to_owned(),
        href: member.href.clone(),
    };
    let listed = languages.into_values();
    let listed = listed.map(|member| alternate(&member.language, member));
    let alternates = listed
        .chain(default.map(|(_, member)| alternate(X_DEFAULT, member)))
        .collect();
    (alternates, default.map(|(id, _)| id))
}
