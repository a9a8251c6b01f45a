//! The stores of a world, and what a crash leaves of them.

use std::sync::Arc;

use punctual_model::RandomSource;
use punctual_store::{Cluster, Fence, KeyRing, MemoryStore, Vault};
use punctual_store_sqlite::{Options, SqliteStore, Synchronous};
use tempfile::TempDir;

use super::AnyStore;
use crate::clock::Counting;
use crate::gate::block_on;
use crate::watched::Shared;

/// The kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// The reference in memory. A crash leaves everything but the claims.
    Memory,
    /// The same with a lease for each node: when it ends, the node learns of it when it acts next.
    Leased,
    /// SQLite. A crash closes it; it is opened again from its files.
    Sqlite,
}

/// What is needed to open the store again.
pub(super) struct Opened {
    pub(super) random: Arc<dyn RandomSource>,
    directory: Option<TempDir>,
    vault: Arc<Vault>,
    pub(super) cluster: Option<Arc<Cluster>>,
}

impl Opened {
    pub(super) fn new(backing: Backing) -> (Self, AnyStore) {
        let random: Arc<dyn RandomSource> = Arc::new(Counting::default());
        let vault = Arc::new(Vault::new(&KeyRing::generate(&*random)));
        let directory = match backing {
            Backing::Memory | Backing::Leased => None,
            Backing::Sqlite => Some(tempfile::tempdir().expect("a directory for a store can be made")),
        };
        let cluster = (backing == Backing::Leased).then(Arc::<Cluster>::default);
        let opened = Self { random, directory, vault, cluster };
        let store = match &opened.cluster {
            Some(cluster) => cluster.shared_store(),
            None => opened.sqlite().unwrap_or_else(|| Arc::new(MemoryStore::new())),
        };
        (opened, store)
    }

    fn sqlite(&self) -> Option<AnyStore> {
        let directory = self.directory.as_ref()?;
        let mut options = Options::new(directory.path(), Arc::clone(&self.vault), Arc::clone(&self.random));
        options.synchronous = Synchronous::Off;
        options.reader_count = 2;
        Some(Arc::new(SqliteStore::open(options).expect("a store that nobody owns can be opened")))
    }

    /// The process died: what was in memory is gone.
    pub(super) fn reopen(&self, shared: &Shared, fences: &[Fence]) {
        if self.directory.is_none() {
            block_on(shared.store().release(fences)).expect("the store itself has no faults");
            return;
        }
        shared.replace(|| self.sqlite().expect("it has a directory"));
    }
}
