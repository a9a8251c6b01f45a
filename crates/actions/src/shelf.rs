//! A bounded store of things that are costly to make and may be made again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

/// Holds at most `capacity` things; the one unused for longest makes room. Those that are in use live on
/// until their users are done.
pub(crate) struct Shelf<K, V> {
    capacity: usize,
    shelved: Mutex<Shelved<K, V>>,
}

struct Shelved<K, V> {
    /// Grows with each use; tells which thing was used last.
    tick: u64,
    things: HashMap<K, (u64, Arc<V>)>,
}

impl<K: Eq + Hash + Clone, V> Shelf<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, shelved: Mutex::new(Shelved { tick: 0, things: HashMap::new() }) }
    }

    /// The thing of a key; made by `make` (quickly: others wait) if it is not there.
    pub(crate) fn get_or_make(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        let mut shelved = self.shelved.lock().expect("nothing panics while it holds this lock");
        shelved.tick += 1;
        let tick = shelved.tick;
        if let Some((used, thing)) = shelved.things.get_mut(&key) {
            *used = tick;
            return Arc::clone(thing);
        }
        if shelved.things.len() >= self.capacity {
            // A scan, but only where something new is made, which costs far more.
            let oldest = shelved.things.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                shelved.things.remove(&oldest);
            }
        }
        let thing = Arc::new(make());
        shelved.things.insert(key, (tick, Arc::clone(&thing)));
        thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_shelf_gives_up_what_was_unused_for_longest() {
        let shelf = Shelf::new(2);
        let get = |key| *shelf.get_or_make(key, || format!("made {key}")).clone() == format!("made {key}");
        assert!(get(1) && get(2) && get(1) && get(3));
        let remade = std::cell::Cell::new(false);
        shelf.get_or_make(1, || {
            remade.set(true);
            String::new()
        });
        assert!(!remade.get(), "1 was used after 2");
        shelf.get_or_make(2, || {
            remade.set(true);
            String::new()
        });
        assert!(remade.get());
    }
}
