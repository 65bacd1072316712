//! What pages are to each other: archives and their pages, translations.

use aws_sdk_dynamodb::types::AttributeValue;
use sitemap::eligibility::Newest;
use sitemap::loc::Loc;
use sitemap::plan::{MAX_GROUP, Term, Translation, Translations};
use tracing::warn;

use crate::error::{StoreError, service};
use crate::keys::{self, RowKey};
use crate::table::{Item, SitemapTable, get_text, item_key, text};

/// Members of a group that are looked at: more than it may have, since pages that join at the same time do not see each
/// other. Those behind leave and are called again when others have left.
const MEMBERS_READ: i32 = 300;
const _: () = assert!(MEMBERS_READ as usize > MAX_GROUP);

/// What pages are to each other.
pub trait Relations: Send + Sync {
    /// The newest page of an archive.
    fn newest(&self, term: &Term) -> impl Future<Output = Result<Newest, StoreError>> + Send;

    /// The records that are the page of a term's partition.
    fn archives(
        &self,
        term_pk: &str,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// The members of a translation group.
    fn translations(
        &self,
        group: &str,
    ) -> impl Future<Output = Result<Translations, StoreError>> + Send;

    /// The records that are members of a group's partition, at least as many as it may have.
    fn members(
        &self,
        group_pk: &str,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// The records that wait in a group's partition and find room in it.
    fn admitted(
        &self,
        group_pk: &str,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;
}

/// A member's row; nothing if it is damaged.
pub(crate) fn read_translation(item: &Item) -> Option<Translation> {
    Some(Translation {
        language: get_text(item, "language")?.to_owned(),
        href: Loc::parse_any(get_text(item, "href")?).ok()?,
        x_default: match item.get("x_default") {
            None => false,
            Some(value) => *value.as_bool().ok()?,
        },
    })
}

pub(crate) fn translation_attributes(
    translation: &Translation,
) -> impl Iterator<Item = (&'static str, AttributeValue)> {
    let x_default = translation.x_default.then_some(AttributeValue::Bool(true));
    let attributes = [
        ("language", Some(text(&translation.language))),
        ("href", Some(text(translation.href.as_str()))),
        ("x_default", x_default),
    ];
    let attributes = attributes.into_iter();
    attributes.filter_map(|(name, value)| Some((name, value?)))
}

impl SitemapTable {
    /// The first items of a partition whose sort keys begin so, read consistently.
    async fn beginning_with(
        &self,
        pk: &str,
        prefix: &str,
        limit: Option<i32>,
    ) -> Result<Vec<Item>, StoreError> {
        let query = self.aws.dynamodb().await.query().table_name(&self.name);
        let query = query
            .consistent_read(true)
            .key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
            .expression_attribute_values(":pk", text(pk))
            .expression_attribute_values(":prefix", text(prefix))
            .set_limit(limit);
        let output = query.send().await.map_err(service("Query"))?;
        Ok(output.items.unwrap_or_default())
    }
}

impl Relations for SitemapTable {
    async fn newest(&self, term: &Term) -> Result<Newest, StoreError> {
        let query = self.aws.dynamodb().await.query().table_name(&self.name);
        let query = query
            .consistent_read(true)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", text(keys::term_partition(term)))
            .scan_index_forward(false)
            .limit(1);
        let output = query.send().await.map_err(service("Query"))?;
        let items = output.items.unwrap_or_default();
        let key = items.first().and_then(item_key);
        // The archives themselves stand before every page.
        Ok(match key.and_then(|key| RowKey::parse(&key.pk, &key.sk)) {
            Some(RowKey::TermMember(lastmod, _)) => Newest::Page(lastmod),
            _ => Newest::Nobody,
        })
    }

    async fn archives(&self, term_pk: &str) -> Result<Vec<String>, StoreError> {
        let items = self.beginning_with(term_pk, keys::ARCHIVE, None).await?;
        Ok(without_prefix(&items, keys::ARCHIVE).collect())
    }

    async fn translations(&self, group: &str) -> Result<Translations, StoreError> {
        let pk = keys::group_partition(group);
        let items = self
            .beginning_with(&pk, keys::MEMBER, Some(MEMBERS_READ))
            .await?;
        let member = |item: &Item| {
            let id = get_text(item, "sk")?.strip_prefix(keys::MEMBER)?.to_owned();
            let translation = read_translation(item);
            if translation.is_none() {
                warn!(group, id, "a member's row is damaged: passed over");
            }
            Some((id, translation?))
        };
        Ok(items.iter().filter_map(member).collect())
    }

    async fn members(&self, group_pk: &str) -> Result<Vec<String>, StoreError> {
        let limit = Some(MEMBERS_READ);
        let items = self.beginning_with(group_pk, keys::MEMBER, limit).await?;
        Ok(without_prefix(&items, keys::MEMBER).collect())
    }

    async fn admitted(&self, group_pk: &str) -> Result<Vec<String>, StoreError> {
        let members = self.members(group_pk).await?.len();
        let room = i32::try_from(MAX_GROUP.saturating_sub(members)).unwrap_or(0);
        if room == 0 {
            return Ok(Vec::new());
        }
        let limit = Some(room);
        let items = self.beginning_with(group_pk, keys::WAITER, limit).await?;
        Ok(without_prefix(&items, keys::WAITER).collect())
    }
}

fn without_prefix(items: &[Item], prefix: &str) -> impl Iterator<Item = String> {
    let keys = items.iter().filter_map(|item| get_text(item, "sk"));
    let ids = keys.filter_map(move |sk| sk.strip_prefix(prefix));
    ids.map(str::to_owned)
}
