//! Carries out actions of all kinds.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use punctual_model::{ActionKind, Clock, Firing, Go, Outcome, OutcomeKind};
use tokio_rustls::TlsConnector;
use url::Url;

use crate::client::{Clients, PoolLimits};
use crate::dial::Dialer;
use crate::oauth::Tokens;
use crate::own::OwnAddresses;
use crate::permit::Permit;
use crate::service_bus::{AmqpEndpoint, Entity, EntityAddress, RestEndpoint, ServiceBus};
use crate::settings::{Settings, SettingsError, SettingsProblem};
use crate::storage_queue::Endpoint;
use crate::tls::Trust;
use crate::{http as http_action, service_bus, storage_queue};

/// Carries out actions. One for the whole process: its connections and tokens are shared by all jobs.
pub struct Actions {
    pub(crate) timeout: Duration,
    dialer: Arc<Dialer>,
    pub(crate) user_agent: HeaderValue,
    pub(crate) clients: Clients,
    pub(crate) tokens: Tokens,
    pub(crate) queues: Endpoint,
    pub(crate) bus: ServiceBus,
}

impl Actions {
    /// Checks the settings and reads the system's certificate authorities, which is slow: call it once. `clock` must
    /// be the real clock, because tokens expire in real time even if the schedule runs on a virtual clock.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Result<Self, SettingsError> {
        let mut problems = Problems::default();
        let user_agent = problems.check(
            "user_agent",
            HeaderValue::try_from(&settings.user_agent)
                .map_err(|_| "holds characters that can't be sent".to_owned()),
        );
        let authority = problems.check("oauth_authority", authority(&settings.oauth_authority));
        let queues =
            problems.check("storage_queue_endpoint", Endpoint::new(&settings.storage_queue_endpoint));
        let amqp = problems
            .check("service_bus_amqp_endpoint", AmqpEndpoint::new(&settings.service_bus_amqp_endpoint));
        let rest = problems
            .check("service_bus_rest_endpoint", RestEndpoint::new(&settings.service_bus_rest_endpoint));
        let queue_address = problems
            .check("service_bus_queue_address", EntityAddress::new(&settings.service_bus_queue_address));
        let topic_address = problems
            .check("service_bus_topic_address", EntityAddress::new(&settings.service_bus_topic_address));
        for (name, duration) in [
            ("timeout", settings.timeout),
            ("service_bus_token_lifetime", settings.service_bus_token_lifetime),
        ] {
            let longer =
                if duration.is_zero() { Err("must be longer than nothing".to_owned()) } else { Ok(()) };
            problems.check(name, longer);
        }
        let dialer = Arc::new(Dialer::new(settings.egress, settings.timeout));
        let limits =
            PoolLimits { idle_per_host_max: settings.idle_per_host_max, idle_timeout: settings.idle_timeout };
        let secured = Trust::load(&settings.authorities_pem).and_then(|trust| {
            let tls = trust.plain_config().map_err(|error| error.to_string())?;
            let clients =
                Clients::new(Arc::clone(&dialer), trust, limits).map_err(|error| error.to_string())?;
            Ok((TlsConnector::from(tls), clients))
        });
        let secured = problems.check("authorities_pem", secured);
        let (
            Some(user_agent),
            Some(authority),
            Some(queues),
            Some(amqp),
            Some(rest),
            Some(queue_address),
            Some(topic_address),
            Some((tls, clients)),
            [],
        ) = (user_agent, authority, queues, amqp, rest, queue_address, topic_address, secured, &*problems.0)
        else {
            return Err(SettingsError(problems.0));
        };
        let bus = ServiceBus::new(service_bus::Parts {
            dialer: Arc::clone(&dialer),
            tls,
            clock,
            sasl: settings.service_bus_sasl,
            amqp,
            rest,
            queue_address,
            topic_address,
            token_lifetime: settings.service_bus_token_lifetime,
            idle_timeout: settings.service_bus_idle_timeout,
        });
        let tokens = Tokens::new(authority, user_agent.clone());
        Ok(Self { timeout: settings.timeout, dialer, user_agent, clients, tokens, queues, bus })
    }

    /// Refuses to connect to this server itself, and to the nodes that share its store. To be called before anything is
    /// fired, since where the server listens is known only after the settings were checked; and again when other nodes
    /// come and go.
    pub fn refuse_own(&self, own: OwnAddresses) {
        self.dialer.refuse_own(own);
        self.clients.forget_idle();
    }

    /// Makes one attempt. If it goes wrong, the outcome is a failure with the reason. It takes at most the time-out of
    /// the settings. Dropping the future cancels the attempt.
    pub async fn fire(&self, firing: &Firing) -> Outcome {
        self.send(firing, &Permit::always()).await
    }

    /// The same, if it may still be sent when everything is ready for its first byte; else none, and nothing was
    /// sent.
    pub async fn fire_if(&self, firing: &Firing, go: &Go) -> Option<Outcome> {
        let permit = Permit::of(go);
        let outcome = self.send(firing, &permit).await;
        (!permit.refused()).then_some(outcome)
    }

    async fn send(&self, firing: &Firing, permit: &Permit) -> Outcome {
        let Some(action) = firing.action() else {
            let message = format!("The job has no action for step {}.", firing.step);
            return Outcome { succeeded: false, kind: OutcomeKind::Word("NoAction"), message };
        };
        match &action.kind {
            ActionKind::Http(action) => http_action::fire(self, firing, action, permit).await,
            ActionKind::StorageQueue(message) => storage_queue::fire(self, firing, message, permit).await,
            ActionKind::ServiceBusQueue(message) => {
                service_bus::fire(self, firing, Entity::Queue, message, permit).await
            }
            ActionKind::ServiceBusTopic(message) => {
                service_bus::fire(self, firing, Entity::Topic, message, permit).await
            }
        }
    }
}

/// Collects problems of the settings.
#[derive(Default)]
struct Problems(Vec<SettingsProblem>);

impl Problems {
    /// Returns the value of a setting, or records its problem.
    fn check<T>(&mut self, setting: &'static str, made: Result<T, String>) -> Option<T> {
        made.map_err(|text| self.0.push(SettingsProblem { setting, text })).ok()
    }
}

fn authority(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("not a URL: {error}"))?;
    match url.scheme() {
        "http" | "https" if url.query().is_none() && url.fragment().is_none() => Ok(url),
        "http" | "https" => Err("must have neither a query nor a fragment".to_owned()),
        _ => Err("must begin with https:// or http://".to_owned()),
    }
}
