//! What can be configured about actions.

use std::time::Duration;

use crate::egress::Egress;

/// How a connection over AMQP shows who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sasl {
    /// By tokens that are signed with the key (claims-based security), as Service Bus wants it.
    Cbs,
    /// By the key's name and the key as user name and password, as other brokers want it.
    Plain,
}

/// How actions are carried out. The defaults are those of the contract.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which addresses may be connected to.
    pub egress: Egress,
    /// How long an attempt may take, from its start to the last byte that is kept.
    pub timeout: Duration,
    /// Where tokens of Azure Active Directory come from.
    pub oauth_authority: String,
    /// Where queues of a storage account are; `{account}` stands for its name.
    pub storage_queue_endpoint: String,
    /// Where AMQP is spoken with a Service Bus namespace; `{namespace}` stands for its name.
    pub service_bus_amqp_endpoint: String,
    /// Where REST is spoken with a Service Bus namespace; `{namespace}` stands for its name.
    pub service_bus_rest_endpoint: String,
    /// How we show over AMQP who we are.
    pub service_bus_sasl: Sasl,
    /// What a queue is called over AMQP; `{entity}` stands for its name.
    pub service_bus_queue_address: String,
    /// What a topic is called over AMQP; `{entity}` stands for its path.
    pub service_bus_topic_address: String,
    /// How long a token that we sign for Service Bus is good.
    pub service_bus_token_lifetime: Duration,
    /// How long an AMQP link is kept that nothing is sent over.
    pub service_bus_idle_timeout: Duration,
    /// What we call ourselves.
    pub user_agent: String,
    /// Idle connections kept for each host.
    pub idle_per_host_max: usize,
    /// How long an idle connection is kept. Shorter than the five seconds after which common servers
    /// hang up by default, so that a request does not meet a connection that is being closed.
    pub idle_timeout: Duration,
    /// Certificate authorities to trust besides the system's, in PEM.
    pub authorities_pem: Vec<u8>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            egress: Egress::default(),
            timeout: Duration::from_secs(60),
            oauth_authority: "https://login.microsoftonline.com".to_owned(),
            storage_queue_endpoint: "https://{account}.queue.core.windows.net".to_owned(),
            service_bus_amqp_endpoint: "amqps://{namespace}.servicebus.windows.net".to_owned(),
            service_bus_rest_endpoint: "https://{namespace}.servicebus.windows.net".to_owned(),
            service_bus_sasl: Sasl::Cbs,
            service_bus_queue_address: "{entity}".to_owned(),
            service_bus_topic_address: "{entity}".to_owned(),
            service_bus_token_lifetime: Duration::from_secs(20 * 60),
            service_bus_idle_timeout: Duration::from_secs(60),
            user_agent: concat!("punctual/", env!("CARGO_PKG_VERSION")).to_owned(),
            idle_per_host_max: 256,
            idle_timeout: Duration::from_secs(4),
            authorities_pem: Vec::new(),
        }
    }
}

/// What is wrong with the settings: every problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the settings of actions are not usable: {}", joined(.0))]
pub struct SettingsError(pub Vec<SettingsProblem>);

/// What is wrong with one setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {text}")]
pub struct SettingsProblem {
    /// The name of the field in [`Settings`].
    pub setting: &'static str,
    /// What is wrong with it.
    pub text: String,
}

fn joined(problems: &[SettingsProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
