//! The store: encodes what is written, and calls the writer and the readers.

mod agenda;
mod archive;
mod audit;
mod callers;
mod resources;
mod seals;
mod sessions;
mod survey;
mod views;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use punctual_model::{Job, JobId, RandomSource};
use punctual_store::{AuditKey, Roster, Vault, codec};
use tokio::sync::watch;

use crate::checkpoint::Checkpointer;
use crate::directory::DataDirectory;
use crate::files::Files;
use crate::lock::DirectoryLock;
use crate::open::{self, Opened};
use crate::outage::Outages;
use crate::reader::Readers;
use crate::shared_claims::SharedClaims;
use crate::standing::Standing;
use crate::writer::Writer;
use crate::writer_state::{EncodedJob, WriterState};
use crate::{OpenError, Options};

/// A store in one SQLite file. Dropping it finishes queued writes and closes the file.
pub struct SqliteStore {
    // Dropped in this order: the connection of the writer is closed last and copies the WAL into the data file,
    // and only then the directory is released.
    readers: Readers,
    writer: Writer,
    _lock: DirectoryLock,
    vault: Arc<Vault>,
    random: Arc<dyn RandomSource>,
    shared_claims: Arc<SharedClaims>,
    outages: Arc<Outages>,
    files: Arc<Files>,
    last_job: AtomicI64,
    token_changes: watch::Sender<u64>,
    audit_key: AuditKey,
}

impl SqliteStore {
    /// Opens the store of a directory, which is created if necessary, and locks it.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        Self::open_in(DataDirectory::own(&options.dir)?, options)
    }

    /// Opens the store of a directory that is locked already.
    pub fn open_in(directory: DataDirectory, options: Options) -> Result<Self, OpenError> {
        let dir = directory.dir.clone();
        let Opened { lock, mut conn, last, audit_key } = open::open(directory, &options)?;
        let Options { vault, random, synchronous, reader_count, alarm, meter, .. } = options;
        let files = Files::new(&dir).map_err(|source| OpenError::Directory { dir: dir.clone(), source })?;
        let outages = Arc::new(Outages::new(&dir));
        let checkpointer = Checkpointer::start(&dir, synchronous, &mut conn, outages.clone(), &alarm)?;
        let readers = Readers::start(&dir, reader_count, &alarm)?;
        // Fences of an earlier run must not be valid in this one.
        let first_fence = u64::try_from(random.random() >> 65).unwrap_or(0);
        let shared_claims = Arc::new(SharedClaims::new(first_fence));
        let state = WriterState::new(conn, vault.clone(), shared_claims.clone(), last);
        let writer = Writer::start(state, checkpointer, meter, &alarm).map_err(OpenError::Thread)?;
        let last_job = AtomicI64::new(last.job);
        let files = Arc::new(files);
        let token_changes = watch::Sender::new(0);
        Ok(Self {
            readers,
            writer,
            _lock: lock,
            vault,
            random,
            shared_claims,
            outages,
            files,
            last_job,
            token_changes,
            audit_key,
        })
    }

    /// Has the problems of this store include those of files elsewhere, such as the keys; the first who asks for that is
    /// heard.
    pub fn watch(&self, others: impl Fn() -> Vec<String> + Send + Sync + 'static) {
        self.files.watch(others);
    }

    /// Encodes a job and seals its secrets, outside of the writer thread. A new job gets its id here; if it is
    /// refused later, the id is unused.
    fn encode(&self, mut job: Job) -> EncodedJob {
        if job.revision == 0 {
            job.id = JobId(self.last_job.fetch_add(1, Ordering::Relaxed) + 1);
        }
        let spec = codec::encode_spec(&job.spec, job.id, &self.vault, &*self.random);
        let standing = Standing::of(&job);
        EncodedJob { job, spec, standing }
    }
}

/// One process owns it.
impl Roster for SqliteStore {}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SqliteStore")
    }
}
