//! What every operation may use.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_arm::Locations;
use punctual_model::inspect::Inspection;
use punctual_model::{Clock, Limits, Mint};
use punctual_store::Store;

/// What operations share.
pub struct ApiState {
    /// What keeps the jobs.
    pub store: Arc<dyn Store>,
    /// The schedule's clock, which may be virtual.
    pub clock: Arc<dyn Clock>,
    /// Makes request ids.
    pub mint: Arc<dyn Mint>,
    /// Knows whether what must hold does.
    pub inspection: Arc<dyn Inspection>,
    /// What can be set.
    pub settings: Settings,
}

/// What can be set.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The regions that collections may be in.
    pub locations: Locations,
    /// How callers reach this server, such as `https://scheduler.example.com`, where that is not what
    /// their `Host` header says; links to next pages begin with it.
    pub public_url: Option<String>,
    /// Whether callers come over TLS.
    pub secure: bool,
    /// What plans allow.
    pub limits: Limits,
}

impl ApiState {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}
