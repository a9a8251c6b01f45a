//! The settings of actions.

use std::time::Duration;

use crate::egress::Egress;

/// How an AMQP connection authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sasl {
    /// Claims-based security: with tokens that are signed with the key. Service Bus requires it.
    Cbs,
    /// SASL PLAIN: with the key's name as user name and the key as password, as other brokers require it.
    Plain,
}

/// The settings of actions. The defaults are those of the contract.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which addresses may be connected to.
    pub egress: Egress,
    /// How long an attempt may take, from its start to the last byte of the answer that is kept.
    pub timeout: Duration,
    /// The authority that issues tokens of Azure Active Directory.
    pub oauth_authority: String,
    /// The queue endpoint of a storage account; `{account}` stands for its name.
    pub storage_queue_endpoint: String,
    /// The AMQP endpoint of a Service Bus namespace; `{namespace}` stands for its name.
    pub service_bus_amqp_endpoint: String,
    /// The REST endpoint of a Service Bus namespace; `{namespace}` stands for its name.
    pub service_bus_rest_endpoint: String,
    /// How AMQP connections authenticate.
    pub service_bus_sasl: Sasl,
    /// The AMQP address of a queue; `{entity}` stands for its name.
    pub service_bus_queue_address: String,
    /// The AMQP address of a topic; `{entity}` stands for its path.
    pub service_bus_topic_address: String,
    /// How long a token that we sign for Service Bus is valid.
    pub service_bus_token_lifetime: Duration,
    /// How long an idle AMQP link is kept.
    pub service_bus_idle_timeout: Duration,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// How many idle connections are kept for each host.
    pub idle_per_host_max: usize,
    /// How long an idle connection is kept. Common servers close idle connections after five seconds; a shorter time
    /// avoids sending a request on a connection that is being closed.
    pub idle_timeout: Duration,
    /// Certificate authorities to trust in addition to the system's, in PEM.
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

/// All problems of the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the settings of actions are not usable: {}", joined(.0))]
pub struct SettingsError(pub Vec<SettingsProblem>);

/// A problem of one setting.
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
