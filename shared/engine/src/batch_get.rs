//! Batched reads of items.

use table::{Item, MAX_BATCH_KEYS, Name, Table};

use crate::env::Env;
use crate::error::EngineError;

/// Calls for one batch: a table may leave keys for another call.
const BATCH_ROUNDS: u32 = 10;

/// Returns the items with these keys that exist, in no order, whole or only the wanted attributes. The keys must differ.
pub(crate) async fn batch_get(
    table: &dyn Table,
    env: &Env,
    keys: Vec<Item>,
    attributes: Option<&[Name]>,
) -> Result<Vec<Item>, EngineError> {
    let mut items = Vec::new();
    for keys in keys.chunks(MAX_BATCH_KEYS) {
        let mut wanted = keys.to_vec();
        for round in 0.. {
            if round == BATCH_ROUNDS {
                return Err(EngineError::Contended {
                    what: "BatchGetItem".to_owned(),
                    tries: round,
                });
            }
            env.backoff(round).await;
            let attributes = attributes.map(<[Name]>::to_vec);
            let (found, left) = table.batch_get(wanted, attributes).await?;
            items.extend(found);
            wanted = left;
            if wanted.is_empty() {
                break;
            }
        }
    }
    Ok(items)
}
