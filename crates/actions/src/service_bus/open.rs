//! Opening an AMQP connection: TCP, TLS, SASL and, where the broker takes tokens, the link to `$cbs`.

use std::sync::Arc;
use std::time::Duration;

use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::{Connection, Session};
use punctual_model::{Clock, Secret};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::Credentials;
use super::abortable::{AbortOnDrop, AbortableStream, ByteStream};
use super::amqp_failure::AmqpFailures;
use super::cbs::Cbs;
use super::endpoint::BrokerAddress;
use super::token::Token;
use crate::connector;
use crate::dial::{Deadline, Dialed, Dialer, without_brackets};
use crate::failure::{Failure, Within};
use crate::first_bytes::RecordingStream;
use crate::peer::{Peer, Protocol};
use crate::settings::Sasl;

/// The largest frame that a broker may send us. Its answers are short.
const FRAME_BYTES_MAX: u32 = 64 * 1024;

/// A broker that sends nothing for so long counts as dead. We tell it this limit, and it sends empty frames to keep
/// an idle connection alive.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long closing may take before the connection is aborted.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Opens connections.
pub(super) struct ConnectionOpener {
    pub(super) dialer: Arc<Dialer>,
    pub(super) tls: TlsConnector,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sasl: Sasl,
    pub(super) token_lifetime: Duration,
}

/// Which broker to connect to, and with which key.
#[derive(Clone)]
pub(super) struct BrokerLogin {
    pub(super) broker: BrokerAddress,
    pub(super) key_name: String,
    pub(super) key: Secret,
}

/// An open connection. The fields are dropped in this order; aborting the stream comes last.
pub(super) struct OpenConnection {
    /// `None` if the broker takes no tokens.
    pub(super) tokens: Option<TokenSession>,
    pub(super) connection: ConnectionHandle<()>,
    _abort: AbortOnDrop,
}

/// The links to `$cbs`, on a session that no other link shares.
pub(super) struct TokenSession {
    cbs: Cbs,
    _session: SessionHandle<()>,
}

impl ConnectionOpener {
    /// How long an attempt may take.
    pub(super) fn timeout(&self) -> Duration {
        self.dialer.timeout()
    }

    /// Opens a connection. `container` is its name and must be unique.
    pub(super) async fn open(
        &self,
        login: &BrokerLogin,
        container: &str,
        failures: &AmqpFailures,
    ) -> Result<OpenConnection, Failure> {
        let deadline = self.dialer.deadline();
        let (stream, peer) = self.connect(&login.broker, deadline).await?;
        let (stream, abort) = AbortableStream::new(stream);
        let profile = match self.sasl {
            // A token is put later.
            Sasl::Cbs => SaslProfile::Anonymous,
            Sasl::Plain => SaslProfile::Plain {
                username: login.key_name.clone(),
                password: login.key.expose().to_owned(),
            },
        };
        let late = |what: &str, hint: &str| {
            let (address, within) = (peer.address, Within(deadline.after));
            Failure::timeout(format_args!(
                "{address} accepted the connection, but {what} within {within}; {hint}"
            ))
        };
        let opening = Connection::builder()
            .container_id(container)
            .hostname(without_brackets(&login.broker.host))
            .scheme("amqp")
            .max_frame_size(FRAME_BYTES_MAX)
            .idle_time_out(IDLE_TIMEOUT.as_millis() as u32)
            .sasl_profile(profile)
            .open_with_stream(stream);
        let opened = deadline.limit(opening).await;
        let opened =
            opened.ok_or_else(|| late("did not answer in AMQP 1.0", "it may speak something else"))?;
        let mut connection = opened.map_err(|error| failures.of_open(&error, &peer))?;
        let tokens = match self.sasl {
            Sasl::Plain => None,
            Sasl::Cbs => {
                let attaching = async {
                    let session = Session::begin(&mut connection).await;
                    let mut session = session.map_err(|error| failures.of_begin(&error))?;
                    let cbs = Cbs::attach(&mut session, container).await;
                    let cbs = cbs.map_err(|error| failures.of_cbs(&error))?;
                    Ok(TokenSession { cbs, _session: session })
                };
                let attached = deadline.limit(attaching).await;
                let late = || late("opened no link to $cbs", "service_bus_sasl may have to be plain");
                Some(attached.ok_or_else(late)??)
            }
        };
        Ok(OpenConnection { tokens, connection, _abort: abort })
    }

    async fn connect(
        &self,
        broker: &BrokerAddress,
        deadline: Deadline,
    ) -> Result<(Box<dyn ByteStream>, Peer), Failure> {
        let dialed = self.dialer.dial(&broker.host, broker.port, deadline).await;
        let Dialed { stream, address } = dialed.map_err(|error| Failure::of_connect(&error.into()))?;
        let peer = Peer::new(address, Protocol::Amqp, broker.secure);
        if !broker.secure {
            return Ok((Box::new(RecordingStream::new(stream, peer.first_bytes.clone())), peer));
        }
        let secured = connector::secure(&self.tls, &broker.host, stream, &peer, deadline).await;
        let stream = secured.map_err(|error| Failure::of_connect(&error))?;
        Ok((Box::new(RecordingStream::new(stream, peer.first_bytes.clone())), peer))
    }
}

impl TokenSession {
    /// Puts a token for an entity. Returns when to put the next one, well before this one expires.
    pub(super) async fn put(
        &mut self,
        opener: &ConnectionOpener,
        login: &BrokerLogin,
        entity: &str,
    ) -> Result<Instant, super::cbs::CbsError> {
        let renew_at = Instant::now() + opener.token_lifetime * 3 / 4;
        let audience = format!("amqp://{}/{entity}", without_brackets(&login.broker.host));
        let credentials = Credentials { key_name: &login.key_name, key: &login.key };
        let token = Token::sign(&audience, credentials, opener.clock.now(), opener.token_lifetime);
        self.cbs.put(&audience, token).await?;
        Ok(renew_at)
    }
}

impl OpenConnection {
    /// Closes the connection, and aborts it if the broker does not answer. Errors don't matter: some brokers close
    /// first.
    pub(super) async fn close(self) {
        let Self { tokens, mut connection, _abort } = self;
        drop(tokens);
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, connection.close()).await;
    }
}
