//! `waymark load --delete-missing`: deletes the records of a scope that no line had.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use sitemap::record::ContentRecord;

use crate::content::{LoadError, Loaded, id_of};
use crate::error::permission;
use crate::export::{Scope, scan};

/// How many records may be deleted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A number of records.
    Records(u64),
    /// A percentage of those that the table has in the scope.
    Percent(f64),
}

impl Limit {
    fn of(self, records: u64) -> u64 {
        match self {
            Self::Records(limit) => limit,
            Self::Percent(percent) => (records as f64 * percent / 100.0) as u64,
        }
    }
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Records of the scope that the table has.
    pub in_scope: u64,
    /// Those of them that no line had.
    pub missing: u64,
    /// The number that may be deleted.
    pub limit: u64,
    /// The number that was deleted: none, if more are missing than may be deleted.
    pub deleted: u64,
}

/// Deletes the records of a scope that were not loaded, unless there are more than `limit`. Settings of sites stay, and so does a
/// record that has changed since it was read.
///
/// # Errors
///
/// If the table fails.
pub async fn delete_missing(
    client: &Client,
    table: &str,
    loaded: &Loaded,
    scope: &Scope,
    limit: Limit,
) -> Result<Deleted, LoadError> {
    let mut deleted = Deleted::default();
    let mut missing: Vec<HashMap<String, AttributeValue>> = Vec::new();
    scan(client, table, |item| {
        let id = id_of(&item).to_owned();
        let mut is_lossy = false;
        let value = crate::content::attributes::plain(&item, &mut is_lossy);
        let record = ContentRecord::parse(&id, &value);
        if record.is_settings() || !scope.has(&record) {
            return Ok(());
        }
        deleted.in_scope += 1;
        if !loaded.has(&id) {
            deleted.missing += 1;
            let kept = ["id", "modified_at", "url", "status"];
            let item = item.into_iter();
            missing.push(
                item.filter(|(name, _)| kept.contains(&name.as_str()))
                    .collect(),
            );
        }
        Ok(())
    })
    .await
    .map_err(LoadError::Table)?;
    deleted.limit = limit.of(deleted.in_scope);
    if deleted.missing > deleted.limit {
        return Ok(deleted);
    }
    for mut item in missing {
        let Some(id) = item.remove("id") else {
            continue;
        };
        let mut request = client.delete_item().table_name(table).key("id", id);
        let mut conditions = vec!["attribute_exists(id)".to_owned()];
        for (n, name) in ["modified_at", "url", "status"].into_iter().enumerate() {
            request = request.expression_attribute_names(format!("#{n}"), name);
            match item.remove(name) {
                Some(value) => {
                    request = request.expression_attribute_values(format!(":{n}"), value);
                    conditions.push(format!("#{n} = :{n}"));
                }
                None => conditions.push(format!("attribute_not_exists(#{n})")),
            }
        }
        let request = request.condition_expression(conditions.join(" AND "));
        match request.send().await {
            Ok(_) => deleted.deleted += 1,
            Err(error) => {
                let text = permission::dynamodb("DeleteItem", table, &error);
                let error = error.into_service_error();
                // It was changed just now: it is not missing.
                if !error.is_conditional_check_failed_exception() {
                    return Err(LoadError::Table(text));
                }
            }
        }
    }
    Ok(deleted)
}
