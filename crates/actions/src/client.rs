//! HTTP clients, each with its own connection pool.
//!
//! There is one client per client certificate, so that a connection that was authenticated with one job's certificate
//! is never used for another job. The cache key of a client is a hash of the PKCS#12 file and its password: only jobs
//! that have both share it.

mod answer;
mod http1;
mod http2;
mod pool;

use std::sync::Arc;
use std::time::Duration;

use punctual_model::Secret;
use rustls::ClientConfig;
use sha2::{Digest, Sha256};
use tokio::sync::{OnceCell, Semaphore};
use tokio_rustls::TlsConnector;

pub(crate) use self::answer::Answer;
pub(crate) use self::pool::{Client, RequestError};

use crate::cache::Cache;
use crate::connector::Connector;
use crate::dial::Dialer;
use crate::tls::{Identity, Trust};

/// How many certificates are opened at once. Each asks for as much computing as its author chose, up to a bound.
const OPENERS: usize = 2;

/// Clients with a certificate that are cached. The least recently used one is evicted with its pool.
const IDENTITIES_MAX: usize = 256;

/// The largest head of an answer. A larger one is a protocol violation.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// How many idle connections are kept per host, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolLimits {
    pub(crate) idle_per_host_max: usize,
    pub(crate) idle_timeout: Duration,
}

/// All clients.
pub(crate) struct Clients {
    dialer: Arc<Dialer>,
    trust: Trust,
    limits: PoolLimits,
    anonymous: Client,
    http1: Client,
    identified: Cache<[u8; 32], OnceCell<Result<Client, String>>>,
    openers: Arc<Semaphore>,
}

impl Clients {
    pub(crate) fn new(dialer: Arc<Dialer>, trust: Trust, limits: PoolLimits) -> Result<Self, rustls::Error> {
        let anonymous = client(&dialer, trust.config(None)?, limits);
        let http1 = client(&dialer, trust.plain_config()?, limits);
        let (identified, openers) = (Cache::new(IDENTITIES_MAX), Arc::new(Semaphore::new(OPENERS)));
        Ok(Self { dialer, trust, limits, anonymous, http1, identified, openers })
    }

    /// Forgets connections that are kept, so that whatever they lead to is checked anew. Those with a client certificate end by
    /// themselves when they have been idle.
    pub(crate) fn forget_idle(&self) {
        self.anonymous.forget_idle();
        self.http1.forget_idle();
    }

    /// Returns the client without a certificate.
    pub(crate) fn anonymous(&self) -> &Client {
        &self.anonymous
    }

    /// Returns the client without a certificate that uses HTTP/1.1 only, because later versions send the names of
    /// header fields in lower case.
    pub(crate) fn http1(&self) -> &Client {
        &self.http1
    }

    /// Returns the client with the certificate of a PKCS#12 file, or what is wrong with the file.
    pub(crate) async fn identified(&self, pfx: &Secret, password: &Secret) -> Result<Client, String> {
        let client = self.identified.get_or_insert_with(fingerprint(pfx, password), OnceCell::new);
        client.get_or_init(|| self.open(pfx, password)).await.clone()
    }

    async fn open(&self, file: &Secret, password: &Secret) -> Result<Client, String> {
        let (file, password) = (file.clone(), password.clone());
        let failed = || "The client certificate could not be opened".to_owned();
        let turn = Arc::clone(&self.openers).acquire_owned().await.map_err(|_| failed())?;
        // Deriving the key from the password takes milliseconds of computing, or seconds.
        let opening = tokio::task::spawn_blocking(move || {
            let identity = Identity::open(&file, &password);
            // The thread holds the turn: it is busy even if the attempt has given up.
            drop(turn);
            identity
        });
        let identity = opening.await.map_err(|_| failed())??;
        let tls = self.trust.config(Some(identity));
        let tls = tls.map_err(|error| format!("The client certificate can't be used: {error}"))?;
        Ok(client(&self.dialer, tls, self.limits))
    }
}

fn fingerprint(pfx: &Secret, password: &Secret) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(pfx.expose().len().to_be_bytes());
    hash.update(pfx.expose());
    hash.update(password.expose());
    hash.finalize().into()
}

fn client(dialer: &Arc<Dialer>, tls: Arc<ClientConfig>, limits: PoolLimits) -> Client {
    Client::new(Connector { dialer: Arc::clone(dialer), tls: TlsConnector::from(tls) }, limits)
}
