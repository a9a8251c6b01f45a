//! The conformance suite on the memory store.

use std::sync::Arc;

use punctual_store::{MemoryStore, Store};

async fn make() -> (Arc<dyn Store>, ()) {
    (Arc::new(MemoryStore::new()), ())
}

punctual_store::conformance!(crate::make);
