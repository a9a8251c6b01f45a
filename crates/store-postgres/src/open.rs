//! Opens the store: connects, migrates, checks settings and keys, and gets a lease.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use punctual_model::audit::AuditEntry;
use punctual_model::{Clock, RandomSource};
use punctual_store::{AuditKey, KeyUse, Vault, VaultError};
use rustls::pki_types::CertificateDer;
use thiserror::Error;

use crate::connection::Connection;
use crate::connector::Connector;
use crate::error::{Class, PgError};
use crate::param::params;
use crate::tls::Tls;
use crate::url::ServerUrl;
use crate::{audit, query, schema, seals, session};

/// The shortest takeover time: a node must be able to miss a renewal.
pub const TAKEOVER_MIN: Duration = Duration::from_secs(3);

/// How a store is opened.
pub struct Options {
    /// Where the database is.
    pub url: ServerUrl,
    /// The authorities that `sslmode=verify-ca` and `verify-full` trust.
    pub authorities: Vec<CertificateDer<'static>>,
    /// Seals and opens the secrets.
    pub vault: Arc<Vault>,
    /// Makes nonces, receipts and the first fence; must be unpredictable.
    pub random: Arc<dyn RandomSource>,
    /// The clock by which entries are due.
    pub clock: Arc<dyn Clock>,
    /// The time since the machine was started, suspension included: leases are judged by it.
    pub boot: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// How far the clock may be off from the database's before the node stops firing; none if it is not compared, because
    /// it is a virtual one.
    pub clock_allowance: Option<Duration>,
    /// Whether the clock is a virtual one: no other node may fire beside it.
    pub virtual_clock: bool,
    /// How long the beat of a node must stand still before others take over; the same for all nodes.
    pub takeover: Duration,
    /// Whether it becomes a node, with a lease. Without one nothing is claimed, and the others don't know of it: for whoever
    /// looks after the database from outside.
    pub joins: bool,
    /// Whether this node fires; others count on it from the start.
    pub fires: bool,
    /// What others see of this node.
    pub identity: NodeIdentity,
    /// Connections for everything but claiming, beginning and settling.
    pub api_connections: usize,
    /// Whether statements are prepared; not possible behind a pooler in transaction mode.
    pub prepare: bool,
    /// What the audit log says when a key begins to seal that this node has brought.
    pub key_note: Option<AuditEntry>,
    /// Starts the thread that keeps the lease, and tells somebody if it panics.
    pub spawn: Spawn,
}

/// Starts a thread that is called this, for this task.
pub type Spawn =
    Box<dyn FnOnce(&'static str, Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> + Send + Sync>;

/// What others see of a node.
#[derive(Clone, Debug)]
pub struct NodeIdentity {
    /// What it is called.
    pub name: String,
    /// A random id of a directory whose lock this process has: leases of earlier owners are ended at once.
    pub home: Option<String>,
    /// Where it serves the API.
    pub url: String,
    /// The version of the program.
    pub version: String,
    /// The version of its time zones.
    pub tzdata: String,
    /// When it was started.
    pub started_at: Timestamp,
}

impl Options {
    /// The default options: four seconds until others take over, a quarter of a second that clocks may differ.
    pub fn new(
        url: ServerUrl,
        vault: Arc<Vault>,
        random: Arc<dyn RandomSource>,
        clock: Arc<dyn Clock>,
        boot: Arc<dyn Fn() -> Duration + Send + Sync>,
        identity: NodeIdentity,
    ) -> Self {
        Self {
            url,
            authorities: Vec::new(),
            vault,
            random,
            clock,
            boot,
            clock_allowance: Some(Duration::from_millis(250)),
            virtual_clock: false,
            takeover: Duration::from_secs(4),
            joins: true,
            fires: true,
            identity,
            api_connections: 8,
            prepare: true,
            key_note: None,
            spawn: Box::new(|_, work| {
                std::thread::Builder::new().name("punctual-lease".to_owned()).spawn(work)
            }),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Options({})", self.url)
    }
}

/// Why the store could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// There is no connection.
    #[error("could not connect to the database {url}")]
    Unreachable {
        /// Which, without its password.
        url: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// TLS can't be used as the URL asks for it.
    #[error(
        "could not use TLS for the database; sslrootcert must name a file with certificates of authorities"
    )]
    Tls(#[source] rustls::Error),
    /// A setting of the session does not hold.
    #[error("{0}")]
    Session(String),
    /// Nodes that know less than the database asks for may not start.
    #[error(
        "the database has schema version {found} and needs nodes that know version {least}; this program knows \
         versions up to {known}: install the newer version"
    )]
    Newer {
        /// The version of the database.
        found: usize,
        /// The least that a node must know.
        least: usize,
        /// The program's version.
        known: usize,
    },
    /// Somebody holds locks for so long that the schema could not be changed.
    #[error("could not bring the schema of the database up to date: others hold locks on it; try again")]
    MigrationBusy,
    /// It was written by an earlier version, and must not be migrated now.
    #[error(
        "the database has schema version {found}, and this program works with version {known}: start a node of this version \
         once, which brings it up to date"
    )]
    Older {
        /// The version of the database.
        found: usize,
        /// The program's version.
        known: usize,
    },
    /// No node has ever completed its start.
    #[error("there is no data in the database")]
    Empty,
    /// A copy into it was begun and not completed.
    #[error(
        "a copy into this database was not completed: the same `punctual copy` goes on where it stopped; or make a new, \
         empty database"
    )]
    Copying,
    /// Nodes run that have to be stopped.
    #[error("nodes of this database are running ({}): stop them first", .0.join(", "))]
    Running(Vec<String>),
    /// Somebody else holds a lock on the nodes.
    #[error("somebody else is copying this database, or a node is just starting; try again")]
    Locked,
    /// Nodes with different takeover times would end each other's leases too early.
    #[error(
        "cluster.takeover_seconds is {wanted:?} here, and {found:?} in the database: all nodes must have the same. To change it, \
         stop all nodes, and set numbers.last to {} where name is 'takeover_ms'",
        .wanted.as_millis()
    )]
    Takeover {
        /// What this node has.
        wanted: Duration,
        /// What the others have.
        found: Duration,
    },
    /// The takeover time is too short.
    #[error("cluster.takeover_seconds must be at least {} seconds", TAKEOVER_MIN.as_secs())]
    TakeoverShort,
    /// The keys are not those that the secrets were sealed with.
    #[error("the keys are not those of this database: every node must have the same")]
    WrongKey(#[source] VaultError),
    /// Something is sealed with keys that are not there.
    #[error("{}: every node must have all of the keys", missing(.0))]
    MissingKeys(Vec<KeyUse>),
    /// A key is another one than the nodes before had under its number.
    #[error(
        "key {id} is not the one that other nodes have under this number: every node must have the same keys"
    )]
    DifferentKey {
        /// Its number.
        id: u32,
    },
    /// A virtual clock is for one node.
    #[error(
        "a virtual clock is for one node, and {}: stop the other first, or use the real time",
        if *.here { "another node fires on this database" } else { "the node that fires on this database has one" }
    )]
    VirtualClock {
        /// Whether it is the clock of this node.
        here: bool,
    },
    /// The database does not do what it is asked to.
    #[error("could not open the database")]
    Database(#[source] Box<dyn Error + Send + Sync>),
    /// A thread could not be started.
    #[error("could not start a thread of the store")]
    Thread(#[source] io::Error),
}

/// What keys are missing, and what needs them.
fn missing(keys: &[KeyUse]) -> String {
    let told = |key: &KeyUse| match key.needed_by() {
        Some(what) => format!("key {} is missing, and sealed with it: {what}", key.id),
        None => format!("key {} is missing, with which the other nodes seal", key.id),
    };
    keys.iter().map(told).collect::<Vec<_>>().join("; ")
}

impl OpenError {
    pub(crate) fn of(error: PgError) -> Self {
        match error {
            PgError::Sql(error) => Self::Database(error.into()),
            other => Self::Database(other.to_string().into()),
        }
    }
}

impl From<PgError> for OpenError {
    fn from(error: PgError) -> Self {
        Self::of(error)
    }
}

/// How long to wait for the first connection.
const FIRST: Duration = Duration::from_secs(20);

/// What was found out while the store was opened.
pub(crate) struct Opened {
    pub(crate) connector: Arc<Connector>,
    pub(crate) audit_key: AuditKey,
}

pub(crate) async fn open(options: &Options) -> Result<Opened, OpenError> {
    if options.joins && options.takeover < TAKEOVER_MIN {
        return Err(OpenError::TakeoverShort);
    }
    let tls = Tls::new(options.url.ssl_mode, &options.authorities).map_err(OpenError::Tls)?;
    let connector = Arc::new(Connector::new(options.url.clone(), tls, options.prepare));
    let connection = first(&connector, &options.url).await?;
    if let Some(problem) = session::problem(&connection).await? {
        return Err(OpenError::Session(problem));
    }
    schema::migrate(&connection).await?;
    if connection.number(query::number, params!["copying"]).await?.is_some() {
        return Err(OpenError::Copying);
    }
    if options.joins {
        check_takeover(&connection, options.takeover).await?;
    }
    let checked = seals::open(&connection, options).await;
    if checked.is_err() {
        // Nothing is left behind; the connection is closed in any case.
        let _ = connection.roll_back().await;
    }
    checked?;
    let audit_key = audit::open_key(&connection, &options.vault, &*options.random).await?;
    Ok(Opened { connector, audit_key })
}

/// The first connection. A server that is just starting is waited for; one that refuses us is not.
pub(crate) async fn first(connector: &Connector, url: &ServerUrl) -> Result<Connection, OpenError> {
    let connect = async {
        loop {
            match connector.connect().await {
                Ok(connection) => return Ok(connection),
                Err(error @ PgError::Sql(_)) if starting(&error) => {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
                Err(error) => return Err(error),
            }
        }
    };
    let connected = tokio::time::timeout(FIRST, connect).await.unwrap_or(Err(PgError::TimedOut));
    connected.map_err(|error| OpenError::Unreachable {
        url: url.to_string(),
        source: match error {
            PgError::Sql(error) => error.into(),
            other => other.to_string().into(),
        },
    })
}

/// Whether the server says that it is starting or has too many connections.
fn starting(error: &PgError) -> bool {
    let said = matches!(error, PgError::Sql(error) if error.as_db_error().is_some());
    said && error.class() == Class::Disconnected
}

async fn check_takeover(connection: &Connection, wanted: Duration) -> Result<(), OpenError> {
    let wanted_ms = i64::try_from(wanted.as_millis()).unwrap_or(i64::MAX);
    connection.execute(query::set_takeover, params![wanted_ms]).await?;
    let found = connection.number(query::number, params!["takeover_ms"]).await?.unwrap_or(0);
    if found == wanted_ms {
        return Ok(());
    }
    Err(OpenError::Takeover { wanted, found: Duration::from_millis(u64::try_from(found).unwrap_or(0)) })
}
