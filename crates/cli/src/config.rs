//! The settings of a server: defaults, file, environment, command line, each above the one before.
//!
//! `config.default.toml` is the defaults, the documentation and an example in one; it is compiled in, and a
//! test checks that it has every setting. Settings are read into their final types: an address is a
//! `SocketAddr`, a log filter is ready for use.

mod filter;
mod issuer;
mod layer;
mod limits;
mod plans;
mod read;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use jiff::Timestamp;
use punctual_store_postgres::ServerUrl;
use serde::Deserialize;

pub(crate) use self::filter::LogFilter;
pub(crate) use self::issuer::{IssuerConfig, RuleConfig};
pub(crate) use self::layer::{Override, environment, load};
pub(crate) use self::limits::LimitsConfig;
pub(crate) use self::plans::Plans;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) auth: Auth,
    pub(crate) audit: AuditConfig,
    pub(crate) limits: LimitsConfig,
    pub(crate) data: Data,
    pub(crate) store: StoreConfig,
    pub(crate) cluster: ClusterConfig,
    pub(crate) tls: Tls,
    pub(crate) clock: ClockConfig,
    pub(crate) api: Api,
    pub(crate) arm: Arm,
    pub(crate) plans: Plans,
    pub(crate) runner: RunnerConfig,
    pub(crate) inspector: InspectorConfig,
    pub(crate) actions: ActionsConfig,
    pub(crate) history: History,
    pub(crate) log: Log,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Server {
    #[serde(deserialize_with = "read::address")]
    pub(crate) listen: SocketAddr,
    pub(crate) role: Role,
    /// A URL, or empty.
    #[serde(deserialize_with = "read::public_url")]
    pub(crate) public_url: String,
    pub(crate) page: bool,
    /// In lower case, without dots at their ends.
    #[serde(deserialize_with = "read::hosts")]
    pub(crate) hosts: Vec<String>,
    #[serde(deserialize_with = "read::networks")]
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// None if there is no such listener.
    #[serde(deserialize_with = "read::optional_address")]
    pub(crate) monitoring_listen: Option<SocketAddr>,
    pub(crate) connections_max: usize,
    pub(crate) stop_grace_seconds: u64,
    /// None if there is to be no echo target.
    #[serde(deserialize_with = "read::loopback")]
    pub(crate) echo_listen: Option<SocketAddr>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Auth {
    pub(crate) mode: AuthMode,
    pub(crate) issuers: Vec<IssuerConfig>,
    pub(crate) sessions: SessionsConfig,
}

/// How long sessions of the web page live.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionsConfig {
    #[serde(deserialize_with = "read::idle_minutes")]
    pub(crate) idle_minutes: u32,
    #[serde(deserialize_with = "read::lifetime_hours")]
    pub(crate) lifetime_hours: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuditConfig {
    pub(crate) enabled: bool,
    pub(crate) retention_days: u32,
}

/// Whether callers must say who they are.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(crate) enum AuthMode {
    Auto,
    Required,
    Off,
}

/// The role of a process.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, clap::ValueEnum)]
#[serde(try_from = "String")]
pub(crate) enum Role {
    All,
    Api,
    Runner,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    pub(crate) dir: PathBuf,
    pub(crate) key_file: PathBuf,
}

/// The database that several nodes share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoreConfig {
    /// None if everything is in the data directory. It shows no password.
    #[serde(deserialize_with = "read::store_url")]
    pub(crate) url: Option<ServerUrl>,
    #[serde(deserialize_with = "read::api_connections")]
    pub(crate) api_connections: u32,
    pub(crate) prepare: bool,
}

/// This node among those that share the database.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClusterConfig {
    /// Empty for the name of the host.
    #[serde(deserialize_with = "read::node_name")]
    pub(crate) name: String,
    #[serde(deserialize_with = "read::takeover_seconds")]
    pub(crate) takeover_seconds: u32,
    #[serde(deserialize_with = "read::clock_allowance_ms")]
    pub(crate) clock_allowance_ms: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    pub(crate) mode: TlsMode,
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(crate) enum TlsMode {
    Off,
    SelfSigned,
    Files,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClockConfig {
    /// None for the real time.
    #[serde(deserialize_with = "read::instant")]
    pub(crate) start: Option<Timestamp>,
    #[serde(deserialize_with = "read::speed")]
    pub(crate) speed: f64,
    #[serde(deserialize_with = "read::seconds", rename = "patience_seconds")]
    pub(crate) patience: Duration,
    #[serde(deserialize_with = "read::hold", rename = "hold_seconds")]
    pub(crate) hold: Duration,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Api {
    pub(crate) locations: Vec<String>,
}

/// What clients find when they sign in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arm {
    #[serde(deserialize_with = "read::guid")]
    pub(crate) tenant: String,
    #[serde(deserialize_with = "read::guids")]
    pub(crate) subscriptions: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunnerConfig {
    pub(crate) slots: usize,
    pub(crate) slots_per_target: usize,
    pub(crate) slots_per_collection: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InspectorConfig {
    pub(crate) enabled: bool,
    pub(crate) look_seconds: u64,
    pub(crate) tolerance_seconds: u64,
    pub(crate) pass_seconds: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActionsConfig {
    pub(crate) oauth_authority: String,
    pub(crate) storage_queue_endpoint: String,
    pub(crate) service_bus_amqp_endpoint: String,
    pub(crate) service_bus_rest_endpoint: String,
    pub(crate) service_bus_sasl: SaslConfig,
    pub(crate) service_bus_queue_address: String,
    pub(crate) service_bus_topic_address: String,
    #[serde(deserialize_with = "read::networks")]
    pub(crate) egress_allow: Vec<IpNet>,
    #[serde(deserialize_with = "read::networks")]
    pub(crate) egress_deny: Vec<IpNet>,
    pub(crate) allow_self: bool,
    pub(crate) credential_headers: Vec<String>,
    pub(crate) ca_file: PathBuf,
}

/// How an AMQP connection authenticates.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(crate) enum SaslConfig {
    Cbs,
    Plain,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct History {
    pub(crate) retention_days: i64,
    pub(crate) records_per_job_max: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) level: LogFilter,
    pub(crate) format: LogFormat,
    pub(crate) access: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "String")]
pub(crate) enum LogFormat {
    Text,
    Json,
}
