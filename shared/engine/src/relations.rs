//! What pages are to each other: archives and their pages, translations.

use sitemap::eligibility::Newest;
use sitemap::loc::Loc;
use sitemap::plan::{MAX_GROUP, Term, Translation, Translations};
use table::{Item, Name, Query, Value};
use tracing::warn;

use crate::error::EngineError;
use crate::keys::{self, RowKey};
use crate::sitemap_table::{SitemapTable, item_key};

/// Members of a group that are read. It is more than a group may have, because pages that join at the same time do not see each other.
/// Members beyond the limit leave, and are called again when others have left.
const MEMBERS_READ: u32 = 300;
const _: () = assert!(MEMBERS_READ as usize > MAX_GROUP);

/// A member's row; nothing if it is damaged.
pub(crate) fn read_translation(item: &Item) -> Option<Translation> {
    Some(Translation {
        language: item.text("language")?.to_owned(),
        href: Loc::parse_any(item.text("href")?).ok()?,
        x_default: match item.get("x_default") {
            None => false,
            Some(Value::Bool(value)) => *value,
            Some(_) => return None,
        },
    })
}

pub(crate) fn translation_attributes(
    translation: &Translation,
) -> impl Iterator<Item = (Name, Value)> {
    let x_default = translation.x_default.then_some(Value::Bool(true));
    let attributes = [
        ("language", Some(Value::from(&translation.language))),
        ("href", Some(Value::from(translation.href.as_str()))),
        ("x_default", x_default),
    ];
    let attributes = attributes.into_iter();
    attributes.filter_map(|(name, value)| Some((name.into(), value?)))
}

#[expect(
    clippy::missing_errors_doc,
    reason = "all fail alike: see the type's documentation"
)]
impl SitemapTable {
    /// The first items of a partition whose sort keys begin so: all on one page, or a number of them.
    async fn beginning_with(
        &self,
        pk: &str,
        prefix: &str,
        limit: Option<u32>,
    ) -> Result<Vec<Item>, EngineError> {
        let query = Query::of(pk).beginning_with(prefix);
        self.first(Query { limit, ..query }).await
    }

    /// The newest page of an archive.
    pub async fn newest(&self, term: &Term) -> Result<Newest, EngineError> {
        let query = Query::of(keys::term_partition(term)).reversed().limited(1);
        let items = self.first(query).await?;
        let key = items.first().and_then(item_key);
        // The rows of archives are before those of pages.
        Ok(match key.and_then(|key| RowKey::parse(&key.pk, &key.sk)) {
            Some(RowKey::TermMember(lastmod, _)) => Newest::Page(lastmod),
            _ => Newest::Nobody,
        })
    }

    /// The records that are the page of a term's partition.
    pub async fn archives(&self, term_pk: &str) -> Result<Vec<String>, EngineError> {
        let items = self.beginning_with(term_pk, keys::ARCHIVE, None).await?;
        Ok(without_prefix(&items, keys::ARCHIVE).collect())
    }

    /// The members of a translation group.
    pub async fn translations(&self, group: &str) -> Result<Translations, EngineError> {
        let pk = keys::group_partition(group);
        let items = self
            .beginning_with(&pk, keys::MEMBER, Some(MEMBERS_READ))
            .await?;
        let member = |item: &Item| {
            let id = item.text("sk")?.strip_prefix(keys::MEMBER)?.to_owned();
            let translation = read_translation(item);
            if translation.is_none() {
                warn!(
                    group,
                    id, "the row of a translation is damaged: passed over"
                );
            }
            Some((id, translation?))
        };
        Ok(items.iter().filter_map(member).collect())
    }

    /// The records that are members of a group's partition, at least as many as it may have.
    pub async fn members(&self, group_pk: &str) -> Result<Vec<String>, EngineError> {
        let limit = Some(MEMBERS_READ);
        let items = self.beginning_with(group_pk, keys::MEMBER, limit).await?;
        Ok(without_prefix(&items, keys::MEMBER).collect())
    }

    /// The records that wait in a group's partition and find room in it.
    pub async fn admitted(&self, group_pk: &str) -> Result<Vec<String>, EngineError> {
        let members = self.members(group_pk).await?.len();
        let room = u32::try_from(MAX_GROUP.saturating_sub(members)).unwrap_or(0);
        if room == 0 {
            return Ok(Vec::new());
        }
        let limit = Some(room);
        let items = self.beginning_with(group_pk, keys::WAITER, limit).await?;
        Ok(without_prefix(&items, keys::WAITER).collect())
    }
}

fn without_prefix(items: &[Item], prefix: &str) -> impl Iterator<Item = String> {
    let keys = items.iter().filter_map(|item| item.text("sk"));
    let ids = keys.filter_map(move |sk| sk.strip_prefix(prefix));
    ids.map(str::to_owned)
}
