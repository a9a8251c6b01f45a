//! Opening a link to an entity: dial, TLS, SASL, session, token, link.

use std::sync::Arc;
use std::time::Duration;

use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::{Connection, Sender, Session};
use fe2o3_amqp_types::definitions::SenderSettleMode;
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
const GOOD_BYE: Duration = Duration::from_secs(2);

/// Opens links.
pub(super) struct Opener {
    pub(super) dialer: Arc<Dialer>,
    pub(super) tls: TlsConnector,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sasl: Sasl,
    pub(super) token_lifetime: Duration,
}

/// Where a link leads, and as whom.
pub(super) struct Route {
    pub(super) host: Host,
    /// The entity as the token has it.
    pub(super) entity: String,
    /// The entity as the link has it.
    pub(super) address: String,
    pub(super) key_name: String,
    pub(super) key: Secret,
    /// Unlike any other connection's.
    pub(super) container: String,
}

/// A link with what it needs to live. The order is that in which things are let go: the leash last.
pub(super) struct OpenLink {
    pub(super) sender: Sender,
    cbs: Option<Cbs>,
    _session: SessionHandle<()>,
    pub(super) connection: ConnectionHandle<()>,
    /// When the token should be renewed; never where there is none.
    pub(super) renew_at: Option<Instant>,
    _leash: Leash,
}

impl Opener {
    /// How long opening may take.
    pub(super) fn timeout(&self) -> Duration {
        self.dialer.timeout()
    }

    pub(super) async fn open(&self, route: &Route, trouble: &Trouble) -> Result<OpenLink, Failure> {
        let (stream, leash) = Tether::new(self.connect(&route.host).await?);
        let bare = bare(&route.host.name);
        let profile = match self.sasl {
            // The token comes later.
            Sasl::Cbs => SaslProfile::Anonymous,
            Sasl::Plain => SaslProfile::Plain {
                username: route.key_name.clone(),
                password: route.key.expose().to_owned(),
            },
        };
        let mut connection = Connection::builder()
            .container_id(route.container.as_str())
            .hostname(bare)
            .scheme("amqp")
            .max_frame_size(FRAME_BYTES_MAX)
            .idle_time_out(SILENCE_MAX.as_millis() as u32)
            .sasl_profile(profile)
            .open_with_stream(stream)
            .await
            .map_err(|error| trouble.of_open(&error))?;
        let mut session = Session::begin(&mut connection).await.map_err(|error| trouble.of_begin(&error))?;
        let (cbs, renew_at) = match self.sasl {
            Sasl::Plain => (None, None),
            Sasl::Cbs => {
                let cbs = Cbs::attach(&mut session, &route.container).await;
                let mut cbs = cbs.map_err(|error| trouble.of_cbs(&error))?;
                let renew_at = self.put_token(&mut cbs, route, trouble).await?;
                (Some(cbs), Some(renew_at))
            }
        };
        let sender = Sender::builder()
            .name(format!("{}-{}", route.container, route.address))
            .target(route.address.as_str())
            // Settled by the broker alone, so that its outcome is the truth.
            .sender_settle_mode(SenderSettleMode::Unsettled)
            .attach(&mut session)
            .await
            .map_err(|error| trouble.of_attach(&error))?;
        Ok(OpenLink { sender, cbs, _session: session, connection, renew_at, _leash: leash })
    }

    /// Puts a new token in place of the one that is about to expire.
    pub(super) async fn renew(
        &self,
        link: &mut OpenLink,
        route: &Route,
        trouble: &Trouble,
    ) -> Result<(), Failure> {
        if let Some(cbs) = &mut link.cbs {
            link.renew_at = Some(self.put_token(cbs, route, trouble).await?);
        }
        Ok(())
    }

    /// Puts a token for the entity; says when the next one is due.
    async fn put_token(&self, cbs: &mut Cbs, route: &Route, trouble: &Trouble) -> Result<Instant, Failure> {
        let renew_at = Instant::now() + self.token_lifetime * 3 / 4;
        let audience = format!("amqp://{}/{}", bare(&route.host.name), route.entity);
        let credentials = Credentials { key_name: &route.key_name, key: &route.key };
        let token = Token::sign(&audience, credentials, self.clock.now(), self.token_lifetime);
        cbs.put(&audience, token).await.map_err(|error| trouble.of_token(&error))?;
        Ok(renew_at)
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

impl OpenLink {
    /// Says good-bye, then cuts the connection whether that was heard or not. Errors are of no interest:
    /// some brokers hang up first.
    pub(super) async fn close(self) {
        let Self { sender, cbs, _session, mut connection, renew_at: _, _leash } = self;
        let _ = tokio::time::timeout(GOOD_BYE, async {
            let _ = sender.close().await;
            drop(cbs);
            let _ = connection.close().await;
        })
        .await;
    }
}

/// Without the brackets of IPv6.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}
