//! Opens the store: the data directory of one process, or the database that several nodes share.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use punctual_metrics::Metrics;
use punctual_model::audit::AuditEntry;
use punctual_model::{Clock, CredentialHeaders, RandomSource};
use punctual_runner::{Failure, Supervisor};
use punctual_store::{AuditLog, Callers, Seals, Store, Vault};
use punctual_store_postgres::{NodeIdentity, Options as SharedOptions, PostgresStore, ServerUrl, SslMode};
use punctual_store_sqlite::{Alarm, DataDirectory, Meter, OpenError, Options as OwnOptions, SqliteStore};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::clock::{SharedClock, since_boot};
use crate::config::{ClusterConfig, Data};
use crate::exit::WrongUsage;
use crate::home::{self, Home};
use crate::keys::{self, Keeper, OpenedKeys, Source};

/// The environment variable with the password of the database, as PostgreSQL's own programs know it.
const PASSWORD: &str = "PGPASSWORD";

/// How long giving up a lease may take.
const LEAVE_MAX: Duration = Duration::from_secs(2);

/// All that a server asks of a store, whichever it is.
pub(crate) trait AnyStore: Store + Callers + AuditLog + Seals {}

impl<T: Store + Callers + AuditLog + Seals> AnyStore for T {}

/// A store, and the keys that it is sealed with.
pub(crate) struct OpenedStore {
    pub(crate) store: Arc<dyn AnyStore>,
    pub(crate) keeper: Arc<Keeper>,
    /// The database, if it is one.
    pub(crate) shared: Option<Shared>,
}

/// A database that several nodes share.
pub(crate) struct Shared {
    pub(crate) database: Arc<PostgresStore>,
    /// Others must not take it while this process lives.
    _home: Option<Home>,
}

impl OpenedStore {
    /// The clock of the schedule, which nodes share: this machine's may be ahead.
    pub(crate) fn clock(&self, own: Arc<dyn Clock>) -> Arc<dyn Clock> {
        match &self.shared {
            Some(_) => Arc::new(SharedClock::new(own, self.store.standing())),
            None => own,
        }
    }

    /// Gives up the lease, where nobody has done so who fires.
    pub(crate) async fn leave(&self) {
        match tokio::time::timeout(LEAVE_MAX, self.store.leave()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "could not leave the other nodes"),
            Err(_) => tracing::warn!("could not leave the other nodes in time; they notice it by themselves"),
        }
    }
}

/// What concerns both kinds of stores.
pub(crate) struct Sealing {
    pub(crate) random: Arc<dyn RandomSource>,
    pub(crate) credential_headers: CredentialHeaders,
    /// What the audit log says if there is a new one among the keys.
    pub(crate) note: Option<AuditEntry>,
}

/// Locks the data directory before anything in it is read or made, including the keys.
pub(crate) fn open_own(data: &Data, sealing: Sealing, watchers: Watchers) -> anyhow::Result<OpenedStore> {
    let Sealing { random, credential_headers, note } = sealing;
    let directory = DataDirectory::own(&data.dir).context("could not open the store")?;
    let keys = keys::open(data, &directory, random.as_ref())?;
    let vault = Arc::new(Vault::new(&keys.ring).with_credential_headers(credential_headers));
    let mut options = OwnOptions::new(&data.dir, Arc::clone(&vault), Arc::clone(&random));
    options.new_keys = keys.are_new();
    options.alarm = watchers.alarm;
    options.meter = watchers.meter;
    options.note = note;
    let store = SqliteStore::open_in(directory, options).map_err(|error| wrong_keys(error, &keys.source))?;
    keys.keep()?;
    let store = Arc::new(store);
    let any: Arc<dyn AnyStore> = Arc::<SqliteStore>::clone(&store);
    let keeper = Keeper::new(keys.source, any, vault, random);
    store.watch(keeper.problems());
    Ok(OpenedStore { store, keeper: Arc::new(keeper), shared: None })
}

/// Who is told what the threads of the store do.
#[derive(Default)]
pub(crate) struct Watchers {
    alarm: Alarm,
    meter: Meter,
}

impl Watchers {
    /// Has the supervisor notice when a thread of the store panics.
    pub(crate) fn alarming(supervisor: &Supervisor) -> Self {
        let supervisor = supervisor.clone();
        let alarm = Alarm::new(move |task, panic| supervisor.note(Failure::of_panic(task, panic)));
        Self { alarm, meter: Meter::default() }
    }

    /// The same, and has the commits of the store counted.
    pub(crate) fn of(supervisor: &Supervisor, metrics: &Arc<Metrics>) -> Self {
        let metrics = Arc::clone(metrics);
        let meter = Meter::new(move |writes, took| metrics.commit(writes, took));
        Self { meter, ..Self::alarming(supervisor) }
    }
}

/// Keys that don't fit have to be put right by whoever runs the server, who is told where they come from.
fn wrong_keys(error: OpenError, source: &Source) -> anyhow::Error {
    match error {
        OpenError::WrongKey(_) | OpenError::MissingKeys(_) | OpenError::DifferentKey { .. } => {
            unfit(&error, source).into()
        }
        other => anyhow::Error::new(other).context("could not open the store"),
    }
}

fn unfit(error: &dyn std::error::Error, source: &Source) -> WrongUsage {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    WrongUsage(format!("could not open the store with {source}: {error}{cause}"))
}

/// Where a shared database is, and how it is used.
pub(crate) struct SharedPlace<'a> {
    pub(crate) url: &'a ServerUrl,
    /// Where the keys are, unless they come from elsewhere, and the files of this node.
    pub(crate) data: &'a Data,
    pub(crate) api_connections: u32,
    pub(crate) prepare: bool,
}

/// What is to become a node.
pub(crate) struct NewNode<'a> {
    pub(crate) cluster: &'a ClusterConfig,
    /// The clock of this machine, or a virtual one.
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) virtual_clock: bool,
    pub(crate) fires: bool,
    /// Where it serves the API.
    pub(crate) url: String,
    pub(crate) started_at: Timestamp,
    pub(crate) supervisor: &'a Supervisor,
}

/// Opens the database that several nodes share. Without a node this process only looks after it, whoever fires meanwhile.
pub(crate) async fn open_shared(
    place: &SharedPlace<'_>,
    sealing: Sealing,
    clock: Arc<dyn Clock>,
    node: Option<NewNode<'_>>,
) -> anyhow::Result<OpenedStore> {
    let Sealing { random, credential_headers, note } = sealing;
    let SharedPlace { url, data, .. } = place;
    let unusable = || format!("could not use the directory {}", data.dir.display());
    let keys = keys::open_shared(data, random.as_ref())?;
    let vault = Arc::new(Vault::new(&keys.ring).with_credential_headers(credential_headers));
    let mut home = None;
    if node.is_some() {
        home::make_directory(&data.dir).with_context(unusable)?;
        home = Home::take(&data.dir, &*random).with_context(unusable)?;
        if home.is_none() {
            tracing::info!(
                dir = %data.dir.display(),
                "another process uses the data directory as well: if this node is killed, a restart waits for the takeover time"
            );
        }
    }
    let identity = NodeIdentity {
        name: node.as_ref().map(|node| node_name(node.cluster)).unwrap_or_default(),
        home: home.as_ref().map(|home| home.id.clone()),
        url: node.as_ref().map(|node| node.url.clone()).unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tzdata: tzdata(),
        started_at: node.as_ref().map_or(Timestamp::UNIX_EPOCH, |node| node.started_at),
    };
    let mut options = SharedOptions::new(
        with_password((*url).clone()),
        Arc::clone(&vault),
        Arc::clone(&random),
        clock,
        Arc::new(since_boot),
        identity,
    );
    options.authorities = authorities(url)?;
    options.api_connections = usize::try_from(place.api_connections).unwrap_or(8);
    options.prepare = place.prepare;
    options.key_note = note;
    options.joins = node.is_some();
    if let Some(node) = node {
        let NewNode { cluster, clock, virtual_clock, fires, supervisor, .. } = node;
        options.clock = clock;
        options.virtual_clock = virtual_clock;
        options.fires = fires;
        options.takeover = Duration::from_secs(cluster.takeover_seconds.into());
        options.clock_allowance =
            (!virtual_clock).then(|| Duration::from_millis(cluster.clock_allowance_ms.into()));
        let supervisor = supervisor.clone();
        options.spawn = Box::new(move |task, work| {
            std::thread::Builder::new().name("punctual-lease".to_owned()).spawn(move || {
                if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
                    supervisor.note(Failure::of_panic(task, &*panic));
                }
            })
        });
    }
    let store = match PostgresStore::open(options).await {
        Ok(store) => Arc::new(store),
        Err(error) => return Err(unopened(error, &keys)),
    };
    keys.keep()?;
    let any: Arc<dyn AnyStore> = Arc::<PostgresStore>::clone(&store);
    let keeper = Keeper::new(keys.source, Arc::clone(&any), vault, random);
    store.watch(keeper.problems());
    let shared = Shared { database: store, _home: home };
    Ok(OpenedStore { store: any, keeper: Arc::new(keeper), shared: Some(shared) })
}

/// What whoever runs the node has to put right is told with what to do.
fn unopened(error: punctual_store_postgres::OpenError, keys: &OpenedKeys) -> anyhow::Error {
    use punctual_store_postgres::OpenError;
    match error {
        OpenError::WrongKey(_) | OpenError::MissingKeys(_) | OpenError::DifferentKey { .. } => {
            let hint = "Copy the keys of another node here";
            if keys.are_new() {
                let path = keys.source.path().map(|path| path.display().to_string()).unwrap_or_default();
                keys.discard();
                return WrongUsage(format!(
                    "other nodes have sealed the database with their keys, and there are none here. {hint}: to {path}, to a file \
                     that data.key_file names, or into the environment variable PUNCTUAL_KEYS"
                ))
                .into();
            }
            WrongUsage(format!("{}. {hint}", unfit(&error, &keys.source))).into()
        }
        OpenError::Session(_)
        | OpenError::Takeover { .. }
        | OpenError::TakeoverShort
        | OpenError::VirtualClock { .. }
        | OpenError::Copying
        | OpenError::Newer { .. } => WrongUsage(error.to_string()).into(),
        other => anyhow::Error::new(other).context("could not open the store"),
    }
}

/// What a node is called: as the settings say, or like its host.
pub(crate) fn node_name(cluster: &ClusterConfig) -> String {
    if !cluster.name.is_empty() {
        return cluster.name.clone();
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    if host.is_empty() { "punctual".to_owned() } else { host.to_owned() }
}

/// A URL with the password of the environment, if it has none itself.
pub(crate) fn with_password(url: ServerUrl) -> ServerUrl {
    match std::env::var_os(PASSWORD).and_then(|password| password.into_string().ok()) {
        Some(password) => url.with_password(&password),
        None => url,
    }
}

/// The authorities that certificates of the database may come from.
pub(crate) fn authorities(url: &ServerUrl) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    if !matches!(url.ssl_mode, SslMode::VerifyCa | SslMode::VerifyFull) {
        return Ok(Vec::new());
    }
    match url.root_certificate() {
        Some(path) => read_certificates(path).map_err(|error| {
            WrongUsage(format!("could not read certificates from sslrootcert {}: {error}", path.display()))
                .into()
        }),
        // Those that can't be read are not trusted.
        None => Ok(rustls_native_certs::load_native_certs().certs),
    }
}

fn read_certificates(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)?.collect();
    let found = found?;
    anyhow::ensure!(!found.is_empty(), "there is none in it");
    Ok(found)
}

/// The version of the time zones of this machine, which nodes compare.
fn tzdata() -> String {
    use std::io::BufRead;
    let line = std::fs::File::open("/usr/share/zoneinfo/tzdata.zi").ok().and_then(|file| {
        let mut line = String::new();
        std::io::BufReader::new(std::io::Read::take(file, 200)).read_line(&mut line).ok().map(|_| line)
    });
    let version = line.as_deref().and_then(|line| line.trim().strip_prefix("# version "));
    version.unwrap_or("bundled").to_owned()
}
