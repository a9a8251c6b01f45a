//! What all operations share.

use std::sync::Arc;

use ipnet::IpNet;
use jiff::Timestamp;
use punctual_arm::Locations;
use punctual_metrics::{Metrics, Sampler};
use punctual_model::inspect::Inspection;
use punctual_model::{Clock, CredentialHeaders, Limits, Name, RandomSource};
use punctual_store::Store;

use crate::{Access, Auditor, CallerLimits, Hosts, KeyKeeper, Limiter, NodeSettings, Openers, Page, Traffic};

/// What all operations share.
pub struct ApiState {
    /// What keeps the jobs.
    pub store: Arc<dyn Store>,
    /// The schedule's clock, which may be virtual.
    pub clock: Arc<dyn Clock>,
    /// Makes request ids.
    pub random: Arc<dyn RandomSource>,
    /// The report of the inspector.
    pub inspection: Arc<dyn Inspection>,
    /// Knows who calls.
    pub access: Arc<Access>,
    /// Keeps the audit log.
    pub auditor: Arc<Auditor>,
    /// Knows the keys that seal.
    pub keys: Arc<dyn KeyKeeper>,
    /// Counts the connections of callers.
    pub traffic: Arc<Traffic>,
    /// Counts the requests, among others.
    pub metrics: Arc<Metrics>,
    /// Reads the figures that nobody counts.
    pub sampler: Arc<dyn Sampler>,
    /// Holds callers to their limits.
    pub limiter: Limiter,
    /// What can be set.
    pub settings: Settings,
    /// Where certificate files are opened.
    pub openers: Openers,
}

/// The settings of the API.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The regions that collections may be in.
    pub locations: Locations,
    /// How callers reach this server, such as `https://scheduler.example.com`, if that differs from their
    /// `Host` header; links to next pages begin with it.
    pub public_url: Option<String>,
    /// The names under which this server answers, besides `localhost`.
    pub hosts: Hosts,
    /// The proxies that are believed where a request comes from.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether callers come over TLS.
    pub secure: bool,
    /// Whether each request is logged when it is answered.
    pub access_log: bool,
    /// What plans allow.
    pub limits: Limits,
    /// What each caller may do.
    pub caller_limits: CallerLimits,
    /// The id of the tenant that clients are told of.
    pub tenant: String,
    /// Subscriptions that there are before they have a group.
    pub subscriptions: Vec<Name>,
    /// The headers whose values are credentials.
    pub credential_headers: CredentialHeaders,
    /// What is known of this node.
    pub node: NodeSettings,
    /// The web page; none if it is not served.
    pub page: Option<Arc<Page>>,
}

impl ApiState {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
