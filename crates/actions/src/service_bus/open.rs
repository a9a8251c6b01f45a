//! Opening a connection to a broker: dial, TLS, SASL, and where there are tokens the node that takes them.

use std::sync::Arc;
use std::time::Duration;

use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::{Connection, Session};
use punctual_model::{Clock, Secret};
use rustls::pki_types::ServerName;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::Credentials;
use super::cbs::Cbs;
use super::place::Host;
use super::tether::{Duplex, Leash, Tether};
use super::token::Token;
use super::trouble::Trouble;
use crate::connector::ConnectError;
use crate::dial::{DialError, Dialer};
use crate::failure::Failure;
use crate::settings::Sasl;

/// The largest frame that a broker may send us; what it has to say is short.
const FRAME_BYTES_MAX: u32 = 64 * 1024;

/// A broker that is silent for so long is taken for dead. It is told so and sends something in time.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// How long a good-bye may take before the connection is cut.
pub(super) const GOOD_BYE: Duration = Duration::from_secs(2);

/// Opens connections.
pub(super) struct Opener {
    pub(super) dialer: Arc<Dialer>,
    pub(super) tls: TlsConnector,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sasl: Sasl,
    pub(super) token_lifetime: Duration,
}

/// Where a connection leads, and as whom.
#[derive(Clone)]
pub(super) struct Party {
    pub(super) host: Host,
    pub(super) key_name: String,
    pub(super) key: Secret,
}

/// A connection with what it needs to live. The order is that in which things are let go: the leash last.
pub(super) struct OpenConnection {
    /// None where tokens are not wanted.
    pub(super) tokens: Option<Tokens>,
    pub(super) connection: ConnectionHandle<()>,
    _leash: Leash,
}

/// The node that takes tokens, on a session that nothing else can end.
pub(super) struct Tokens {
    cbs: Cbs,
    _session: SessionHandle<()>,
}

impl Opener {
    /// How long opening may take.
    pub(super) fn timeout(&self) -> Duration {
        self.dialer.timeout()
    }

    /// `container` is unlike any other connection's.
    pub(super) async fn open(
        &self,
        party: &Party,
        container: &str,
        trouble: &Trouble,
    ) -> Result<OpenConnection, Failure> {
        let (stream, leash) = Tether::new(self.connect(&party.host).await?);
        let profile = match self.sasl {
            // The token comes later.
            Sasl::Cbs => SaslProfile::Anonymous,
            Sasl::Plain => SaslProfile::Plain {
                username: party.key_name.clone(),
                password: party.key.expose().to_owned(),
            },
        };
        let mut connection = Connection::builder()
            .container_id(container)
            .hostname(bare(&party.host.name))
            .scheme("amqp")
            .max_frame_size(FRAME_BYTES_MAX)
            .idle_time_out(SILENCE_MAX.as_millis() as u32)
            .sasl_profile(profile)
            .open_with_stream(stream)
            .await
            .map_err(|error| trouble.of_open(&error))?;
        let tokens = match self.sasl {
            Sasl::Plain => None,
            Sasl::Cbs => {
                let session = Session::begin(&mut connection).await;
                let mut session = session.map_err(|error| trouble.of_begin(&error))?;
                let cbs = Cbs::attach(&mut session, container).await;
                let cbs = cbs.map_err(|error| trouble.of_cbs(&error))?;
                Some(Tokens { cbs, _session: session })
            }
        };
        Ok(OpenConnection { tokens, connection, _leash: leash })
    }

    async fn connect(&self, host: &Host) -> Result<Box<dyn Duplex>, Failure> {
        let of_connect = |error: ConnectError| Failure::of(&error);
        let tcp = self.dialer.dial(&host.name, host.port).await.map_err(|error| of_connect(error.into()))?;
        if !host.secure {
            return Ok(Box::new(tcp));
        }
        let name = ServerName::try_from(bare(&host.name).to_owned());
        let name = name.map_err(|_| of_connect(ConnectError::NoHost))?;
        let handshake = tokio::time::timeout(self.dialer.timeout(), self.tls.connect(name, tcp)).await;
        let stream = handshake.map_err(|_| of_connect(DialError::TimedOut.into()))?;
        Ok(Box::new(stream.map_err(|error| of_connect(ConnectError::Tls(error)))?))
    }
}

impl Tokens {
    /// Puts a token for an entity; says when the next one is due, well before this one expires.
    pub(super) async fn put(
        &mut self,
        opener: &Opener,
        party: &Party,
        entity: &str,
    ) -> Result<Instant, super::cbs::CbsError> {
        let renew_at = Instant::now() + opener.token_lifetime * 3 / 4;
        let audience = format!("amqp://{}/{entity}", bare(&party.host.name));
        let credentials = Credentials { key_name: &party.key_name, key: &party.key };
        let token = Token::sign(&audience, credentials, opener.clock.now(), opener.token_lifetime);
        self.cbs.put(&audience, token).await?;
        Ok(renew_at)
    }
}

impl OpenConnection {
    /// Says good-bye, then cuts the connection whether that was heard or not. Errors are of no interest:
    /// some brokers hang up first.
    pub(super) async fn close(self) {
        let Self { tokens, mut connection, _leash } = self;
        drop(tokens);
        let _ = tokio::time::timeout(GOOD_BYE, connection.close()).await;
    }
}

/// Without the brackets of IPv6.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}
