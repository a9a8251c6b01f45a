//! The files of a data directory, and who may read them.

/// The data file.
pub const DATABASE: &str = "punctual.db";
/// The write-ahead log: what was written and is not in the data file yet.
pub const WAL: &str = "punctual.db-wal";
/// The index of the write-ahead log.
pub(crate) const SHM: &str = "punctual.db-shm";
/// A data file that is copied to, until it is complete.
pub(crate) const COPY: &str = "punctual.db.copy";
/// Names the process that owns the directory.
pub(crate) const LOCK: &str = "punctual.lock";
/// Written to find out whether there is space, and removed at once.
pub(crate) const PROBE: &str = "punctual.probe";
/// The keys that secrets are sealed with, unless they are kept elsewhere.
pub const KEYS: &str = "keys";
/// The same until the data file is sealed with them.
pub const NEW_KEYS: &str = "keys.new";
/// The self-signed certificate, if there is one.
pub const TLS_CERT: &str = "tls-cert.pem";
/// The same until it is complete.
pub const NEW_TLS_CERT: &str = "tls-cert.pem.new";
/// Its private key.
pub const TLS_KEY: &str = "tls-key.pem";

/// All files that a server makes.
pub(crate) const FILES: [&str; 14] = [
    DATABASE,
    WAL,
    SHM,
    "punctual.db-journal",
    COPY,
    "punctual.db.copy-wal",
    "punctual.db.copy-shm",
    LOCK,
    PROBE,
    KEYS,
    NEW_KEYS,
    TLS_CERT,
    NEW_TLS_CERT,
    TLS_KEY,
];

/// Only for the owner: the history may contain what targets answered.
pub(crate) const DIRECTORY_MODE: u32 = 0o700;
/// The same for files.
pub(crate) const FILE_MODE: u32 = 0o600;
