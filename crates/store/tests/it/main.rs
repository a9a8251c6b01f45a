//! The conformance suite on the memory store.

use std::sync::Arc;

use punctual_store::MemoryStore;

async fn make() -> (Arc<MemoryStore>, ()) {
    (Arc::new(MemoryStore::new()), ())
}

punctual_store::conformance!(crate::make);
