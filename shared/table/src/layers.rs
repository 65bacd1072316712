//! Ordered maps that share most of their entries. Each map has a layer of its own with its changes over the shared layer.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::from_fn;
use std::ops::RangeBounds;
use std::sync::Arc;

/// The entries of a layer. `None` marks an entry of the layer below as removed.
type Layer<K, V> = BTreeMap<K, Option<V>>;

/// The shared layer. Clones share it.
pub(crate) type Below<K, V> = Arc<Layer<K, V>>;

/// A map in two layers.
pub(crate) struct Layers<K, V> {
    below: Below<K, V>,
    own: Layer<K, V>,
}

impl<K, V> Default for Layers<K, V> {
    fn default() -> Self {
        let (below, own) = (Arc::default(), BTreeMap::new());
        Self { below, own }
    }
}

impl<K: Ord + Clone, V: Clone> Layers<K, V> {
    /// Returns a map over shared entries.
    pub(crate) fn over(below: Below<K, V>) -> Self {
        let own = BTreeMap::new();
        Self { below, own }
    }

    /// Shares the present entries from now on, and returns them.
    pub(crate) fn share(&mut self) -> Below<K, V> {
        if self.below.is_empty() {
            self.below = Arc::new(std::mem::take(&mut self.own));
        } else if !self.own.is_empty() {
            let all = self.range(.., false);
            let all = all.map(|(key, value)| (key.clone(), Some(value.clone())));
            *self = Self::over(Arc::new(all.collect()));
        }
        Arc::clone(&self.below)
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let found = self.own.get(key).or_else(|| self.below.get(key));
        found.and_then(Option::as_ref)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        self.own.insert(key, Some(value));
    }

    pub(crate) fn remove(&mut self, key: K) {
        if self.below.contains_key(&key) {
            self.own.insert(key, None);
        } else {
            self.own.remove(&key);
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the entries of a range in order, or in reverse order.
    pub(crate) fn range(
        &self,
        range: impl RangeBounds<K> + Clone,
        is_reverse: bool,
    ) -> impl Iterator<Item = (&K, &V)> {
        let mut below = entries(&self.below, range.clone(), is_reverse).peekable();
        let mut own = entries(&self.own, range, is_reverse).peekable();
        from_fn(move || {
            loop {
                let order = match (below.peek(), own.peek()) {
                    (None, _) => Ordering::Greater,
                    (Some(_), None) => Ordering::Less,
                    (Some((below, _)), Some((own, _))) if is_reverse => own.cmp(below),
                    (Some((below, _)), Some((own, _))) => below.cmp(own),
                };
                if order == Ordering::Equal {
                    below.next();
                }
                let (key, value) = match order {
                    Ordering::Less => below.next()?,
                    _ => own.next()?,
                };
                if let Some(value) = value {
                    return Some((key, value));
                }
            }
        })
    }
}

fn entries<K: Ord, V>(
    layer: &Layer<K, V>,
    range: impl RangeBounds<K>,
    is_reverse: bool,
) -> impl Iterator<Item = (&K, &Option<V>)> {
    let mut entries = layer.range(range);
    from_fn(move || match is_reverse {
        true => entries.next_back(),
        false => entries.next(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(map: &Layers<u32, &str>, expected: &[(u32, &'static str)]) {
        let entries = |is_reverse| {
            let entries = map.range(.., is_reverse);
            entries.map(|(key, value)| (*key, *value)).collect()
        };
        let (forward, mut back): (Vec<_>, Vec<_>) = (entries(false), entries(true));
        back.reverse();
        assert_eq!((&*forward, &*back), (expected, expected));
        for (key, value) in expected {
            assert_eq!(map.get(key), Some(value));
        }
    }

    #[test]
    fn a_map_changes_nothing_for_those_that_share_its_entries() {
        let mut one = Layers::default();
        for (key, value) in [(1, "a"), (3, "c"), (5, "e"), (7, "g")] {
            one.insert(key, value);
        }
        let mut other = Layers::over(one.share());
        let all = [(1, "a"), (3, "c"), (5, "e"), (7, "g")];
        check(&other, &all);
        other.insert(0, "new");
        other.insert(3, "another");
        other.insert(4, "new");
        other.remove(5);
        other.remove(6);
        other.remove(7);
        let changed = [(0, "new"), (1, "a"), (3, "another"), (4, "new")];
        check(&other, &changed);
        assert_eq!(other.get(&5), None);
        let inside: Vec<u32> = other.range(1..4, true).map(|(key, _)| *key).collect();
        assert_eq!(inside, [3, 1]);
        check(&one, &all);
        // Sharing again keeps no marks of removed entries.
        let below = other.share();
        assert_eq!(below.len(), 4);
        check(&Layers::over(below), &changed);
        other.insert(5, "again");
        other.remove(4);
        check(
            &other,
            &[(0, "new"), (1, "a"), (3, "another"), (5, "again")],
        );
        other.clear();
        check(&other, &[]);
        check(&one, &all);
    }
}
