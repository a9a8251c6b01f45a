//! Carries out actions of all kinds.

use std::time::Duration;

use http::HeaderValue;
use punctual_model::{ActionKind, Firing, Outcome, ServiceBusMessage};
use url::Url;

use crate::client::{Clients, PoolLimits};
use crate::dial::Dialer;
use crate::oauth::Tokens;
use crate::settings::{Settings, SettingsError};
use crate::storage_queue::Endpoint;
use crate::tls::Trust;
use crate::{http as http_action, storage_queue};

/// Carries out actions. One for the whole process: its connections and tokens are shared by all jobs.
pub struct Actions {
    pub(crate) timeout: Duration,
    pub(crate) user_agent: HeaderValue,
    pub(crate) clients: Clients,
    pub(crate) tokens: Tokens,
    pub(crate) queues: Endpoint,
}

impl Actions {
    /// Reads the system's certificate authorities, so that this is not for every day.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        let mut problems = Vec::new();
        let mut note = |setting: &str, problem: String| problems.push(format!("{setting}: {problem}"));
        let user_agent = HeaderValue::try_from(&settings.user_agent)
            .map_err(|_| note("user_agent", "holds characters that can't be sent".to_owned()));
        let authority =
            authority(&settings.oauth_authority).map_err(|problem| note("oauth_authority", problem));
        let queues = Endpoint::new(&settings.storage_queue_endpoint)
            .map_err(|problem| note("storage_queue_endpoint", problem));
        let trust =
            Trust::load(&settings.authorities_pem).map_err(|problem| note("authorities_pem", problem));
        if settings.timeout.is_zero() {
            note("timeout", "must be longer than nothing".to_owned());
        }
        let limits =
            PoolLimits { idle_per_host_max: settings.idle_per_host_max, idle_timeout: settings.idle_timeout };
        let dialer = Dialer::new(settings.egress, settings.timeout);
        let clients = trust.and_then(|trust| {
            Clients::new(dialer, trust, limits).map_err(|error| note("authorities_pem", error.to_string()))
        });
        match (user_agent, authority, queues, clients) {
            (Ok(user_agent), Ok(authority), Ok(queues), Ok(clients)) if problems.is_empty() => Ok(Self {
                timeout: settings.timeout,
                tokens: Tokens::new(authority, user_agent.clone()),
                user_agent,
                clients,
                queues,
            }),
            _ => Err(SettingsError(problems)),
        }
    }

    /// Makes one attempt. Whatever goes wrong is a failed outcome that says why; it is there after the
    /// time-out of the settings at the latest. Dropping the future gives the attempt up.
    pub async fn fire(&self, firing: &Firing) -> Outcome {
        let Some(action) = firing.target() else {
            let message = format!("The job has no action for step {}.", firing.step);
            return Outcome { succeeded: false, message };
        };
        match &action.kind {
            ActionKind::Http(action) => http_action::fire(self, firing, action).await,
            ActionKind::StorageQueue(message) => storage_queue::fire(self, firing, message).await,
            ActionKind::ServiceBusQueue(message) => without_service_bus("ServiceBusQueue", "queue", message),
            ActionKind::ServiceBusTopic(message) => without_service_bus("ServiceBusTopic", "topic", message),
        }
    }
}

fn without_service_bus(kind: &str, noun: &str, message: &ServiceBusMessage) -> Outcome {
    let ServiceBusMessage { entity, namespace, .. } = message;
    let message = format!(
        "{kind} Action - Failed: {noun} '{entity}' namespace '{namespace}' \
         This build does not send to Service Bus yet."
    );
    Outcome { succeeded: false, message }
}

fn authority(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("not a URL: {error}"))?;
    match url.scheme() {
        "http" | "https" if url.query().is_none() && url.fragment().is_none() => Ok(url),
        "http" | "https" => Err("must have neither a query nor a fragment".to_owned()),
        _ => Err("must begin with https:// or http://".to_owned()),
    }
}
