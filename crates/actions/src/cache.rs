//! A bounded cache with least-recently-used eviction.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

/// Holds at most `capacity` values. An evicted value lives on until its users have dropped it.
pub(crate) struct Cache<K, V> {
    capacity: usize,
    entries: Mutex<Entries<K, V>>,
}

struct Entries<K, V> {
    /// Counts the uses of the cache.
    use_count: u64,
    /// Each value with the number of its latest use.
    by_key: HashMap<K, (u64, Arc<V>)>,
}

impl<K: Eq + Hash + Clone, V> Cache<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, entries: Mutex::new(Entries { use_count: 0, by_key: HashMap::new() }) }
    }

    /// Returns the value of a key. If there is none, inserts what `make` returns; it runs under the lock and must be
    /// quick.
    pub(crate) fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        let mut entries = self.entries.lock().expect("nothing panics while it holds this lock");
        entries.use_count += 1;
        let this_use = entries.use_count;
        if let Some((last_use, value)) = entries.by_key.get_mut(&key) {
            *last_use = this_use;
            return Arc::clone(value);
        }
        if entries.by_key.len() >= self.capacity {
            // A scan of all entries, but only when a value is made, which costs far more.
            let oldest = entries.by_key.iter().min_by_key(|(_, (last_use, _))| *last_use);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                entries.by_key.remove(&oldest);
            }
        }
        let value = Arc::new(make());
        entries.by_key.insert(key, (this_use, Arc::clone(&value)));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cache_evicts_the_least_recently_used_value() {
        let cache = Cache::new(2);
        let get =
            |key| *cache.get_or_insert_with(key, || format!("made {key}")).clone() == format!("made {key}");
        assert!(get(1) && get(2) && get(1) && get(3));
        let remade = std::cell::Cell::new(false);
        cache.get_or_insert_with(1, || {
            remade.set(true);
            String::new()
        });
        assert!(!remade.get(), "1 was used after 2");
        cache.get_or_insert_with(2, || {
            remade.set(true);
            String::new()
        });
        assert!(remade.get());
    }
}
