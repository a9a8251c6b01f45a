//! HTTP clients with their pools of connections, one for each identity.
//!
//! A connection on which one job's certificate was shown is never used for another job: each certificate
//! has a client, and so a pool, of its own, found by a hash of the file and its password, so that only
//! who has both can get at it.

mod answer;
mod http1;
mod http2;
mod pool;

use std::sync::Arc;
use std::time::Duration;

use punctual_model::Secret;
use rustls::ClientConfig;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

pub(crate) use self::answer::Answer;
pub(crate) use self::pool::{AskError, Client};

use crate::connector::Connector;
use crate::dial::Dialer;
use crate::shelf::Shelf;
use crate::tls::{Identity, Trust};

/// Client certificates that are kept open with their pools; the least used one is closed for the next.
const IDENTITIES_MAX: usize = 256;

/// How much of an answer's head is read. Beyond it the answer counts as broken.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// How many idle connections are kept, and how long.
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
    identified: Shelf<[u8; 32], OnceCell<Result<Client, String>>>,
}

impl Clients {
    pub(crate) fn new(dialer: Arc<Dialer>, trust: Trust, limits: PoolLimits) -> Result<Self, rustls::Error> {
        let anonymous = client(&dialer, trust.config(None)?, limits);
        let http1 = client(&dialer, trust.plain_config()?, limits);
        Ok(Self { dialer, trust, limits, anonymous, http1, identified: Shelf::new(IDENTITIES_MAX) })
    }

    /// The client that shows no certificate.
    pub(crate) fn anonymous(&self) -> &Client {
        &self.anonymous
    }

    /// The client that shows no certificate and speaks HTTP/1.1 alone: later versions know no letter case in
    /// the names of header fields.
    pub(crate) fn http1(&self) -> &Client {
        &self.http1
    }

    /// The client that shows the certificate of a PKCS#12 file, or what is wrong with that.
    pub(crate) async fn identified(&self, pfx: &Secret, password: &Secret) -> Result<Client, String> {
        let slot = self.identified.get_or_make(fingerprint(pfx, password), OnceCell::new);
        slot.get_or_init(|| self.open(pfx, password)).await.clone()
    }

    async fn open(&self, file: &Secret, password: &Secret) -> Result<Client, String> {
        let (file, password) = (file.clone(), password.clone());
        // Deriving the file's key takes milliseconds of pure computing.
        let opening = tokio::task::spawn_blocking(move || Identity::open(&file, &password));
        let identity =
            opening.await.map_err(|_| "The client certificate could not be opened".to_owned())??;
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
