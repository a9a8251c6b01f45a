//! Opening a connection to a broker: dial, TLS, SASL, and where there are tokens the node that takes them.

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
use super::cbs::Cbs;
use super::place::Host;
use super::tether::{Duplex, Leash, Tether};
use super::token::Token;
use super::trouble::Trouble;
use crate::connector::Contact;
use crate::dial::{Deadline, Dialed, Dialer};
use crate::failure::{Failure, Protocol, Within};
use crate::first_bytes::Noting;
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
    /// How long an attempt may take.
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
        let deadline = self.dialer.deadline();
        let (stream, contact) = self.connect(&party.host, deadline).await?;
        let (stream, leash) = Tether::new(stream);
        let profile = match self.sasl {
            // The token comes later.
            Sasl::Cbs => SaslProfile::Anonymous,
            Sasl::Plain => SaslProfile::Plain {
                username: party.key_name.clone(),
                password: party.key.expose().to_owned(),
            },
        };
        let late = |what: &str, hint: &str| {
            let (address, within) = (contact.address, Within(deadline.after));
            Failure::timeout(format_args!(
                "{address} accepted the connection, but {what} within {within}; {hint}"
            ))
        };
        let opening = Connection::builder()
            .container_id(container)
            .hostname(bare(&party.host.name))
            .scheme("amqp")
            .max_frame_size(FRAME_BYTES_MAX)
            .idle_time_out(SILENCE_MAX.as_millis() as u32)
            .sasl_profile(profile)
            .open_with_stream(stream);
        let opened = deadline.limit(opening).await;
        let opened =
            opened.ok_or_else(|| late("did not answer in AMQP 1.0", "it may speak something else"))?;
        let mut connection = opened.map_err(|error| trouble.of_open(&error, &contact.peer()))?;
        let tokens = match self.sasl {
            Sasl::Plain => None,
            Sasl::Cbs => {
                let attaching = async {
                    let session = Session::begin(&mut connection).await;
                    let mut session = session.map_err(|error| trouble.of_begin(&error))?;
                    let cbs = Cbs::attach(&mut session, container).await;
                    let cbs = cbs.map_err(|error| trouble.of_cbs(&error))?;
                    Ok(Tokens { cbs, _session: session })
                };
                let attached = deadline.limit(attaching).await;
                let late = || late("opened no link to $cbs", "service_bus_sasl may have to be plain");
                Some(attached.ok_or_else(late)??)
            }
        };
        Ok(OpenConnection { tokens, connection, _leash: leash })
    }

    async fn connect(&self, host: &Host, deadline: Deadline) -> Result<(Box<dyn Duplex>, Contact), Failure> {
        let dialed = self.dialer.dial(&host.name, host.port, deadline).await;
        let Dialed { stream, address } = dialed.map_err(|error| Failure::of_connect(&error.into()))?;
        let contact = Contact::new(address, Protocol::Amqp, host.secure);
        let first_bytes = contact.first_bytes.clone();
        if !host.secure {
            return Ok((Box::new(Noting::new(stream, first_bytes)), contact));
        }
        let secured = contact.secure(&self.tls, &host.name, stream, deadline).await;
        let stream = secured.map_err(|error| Failure::of_connect(&error))?;
        Ok((Box::new(Noting::new(stream, first_bytes)), contact))
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
