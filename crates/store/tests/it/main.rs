//! The conformance suite on the memory stores.

use std::sync::Arc;

use punctual_store::{Cluster, MemoryStore, Store};

async fn make() -> (Arc<MemoryStore>, ()) {
    (Arc::new(MemoryStore::new()), ())
}

punctual_store::conformance!(crate::make);

mod leased {
    use std::sync::Arc;

    use punctual_store::{Cluster, LeasedStore};

    pub(crate) async fn make() -> (Arc<LeasedStore>, ()) {
        (Arc::new(Arc::new(Cluster::default()).join()), ())
    }

    punctual_store::conformance_of_jobs!(crate::leased::make);
}

async fn make_two() -> (Arc<dyn Store>, Arc<dyn Store>, ()) {
    let cluster = Arc::new(Cluster::default());
    let one = cluster.join();
    let other = cluster.join();
    one.renew();
    (Arc::new(one), Arc::new(other), ())
}

punctual_store::conformance_of_two!(crate::make_two);
