//! Starts the runner with the actions that it fires.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use jiff::SignedDuration;
use punctual_actions::{Actions, Egress, Sasl, Settings as ActionSettings};
use punctual_model::{Clock, Firing, Go, Outcome, RandomSource};
use punctual_runner::{Dispatcher, Observer, Runner, RunnerStatus, Running, Settings, Supervisor};
use punctual_store::Store;

use crate::clock::RealClock;
use crate::config::{ActionsConfig, Config, SaslConfig};
use crate::exit::WrongUsage;

/// The actions as the dispatcher of the runner.
struct Firer(Arc<Actions>);

#[async_trait]
impl Dispatcher for Firer {
    async fn fire(&self, firing: &Firing, go: &Go) -> Option<Outcome> {
        self.0.fire_if(firing, go).await
    }
}

/// Prepares the actions, or reports all problems of their settings. Nothing is fired yet.
///
/// `certificate` is one to trust besides the authorities of the system, in PEM: that of this server, if it is
/// self-signed, so that a job can call the server that it runs on where `actions.allow_self` lets it.
pub(super) fn actions(config: &ActionsConfig, certificate: Option<&str>) -> Result<Actions, WrongUsage> {
    let settings = settings(config, certificate)?;
    Actions::new(settings, Arc::new(RealClock)).map_err(|error| {
        let problems = error.0.iter().map(|problem| {
            let key = if problem.setting == "authorities_pem" { "ca_file" } else { problem.setting };
            format!("actions.{key}: {}", problem.text)
        });
        WrongUsage::of_settings(&problems.collect::<Vec<_>>())
    })
}

/// Starts to fire.
pub(super) fn start(
    config: &Config,
    actions: Arc<Actions>,
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn RandomSource>,
    observer: Arc<dyn Observer>,
    supervisor: &Supervisor,
) -> anyhow::Result<(Running, RunnerStatus)> {
    let runner = runner(config, actions, store, clock, random, observer, supervisor);
    let status = runner.status();
    Ok((runner.start().context("could not start the runner")?, status))
}

/// The runner that the settings describe, not started yet.
pub(super) fn runner(
    config: &Config,
    actions: Arc<Actions>,
    store: &Arc<dyn Store>,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn RandomSource>,
    observer: Arc<dyn Observer>,
    supervisor: &Supervisor,
) -> Runner {
    let settings = Settings {
        slots: config.runner.slots.max(1),
        slots_per_target: config.runner.slots_per_target.max(1),
        slots_per_collection: config.runner.slots_per_collection.max(1),
        grace: Duration::from_secs(config.server.stop_grace_seconds),
        retention: SignedDuration::from_hours(config.history.retention_days.max(1).saturating_mul(24)),
        records_per_job_max: config.history.records_per_job_max,
        limits: config.plans.limits(),
        ..Settings::default()
    };
    let (store, clock, random) = (Arc::clone(store), Arc::clone(clock), Arc::clone(random));
    let runner = Runner::new(store, Arc::new(Firer(actions)), clock, random, observer, settings);
    runner.supervised(supervisor)
}

fn settings(config: &ActionsConfig, certificate: Option<&str>) -> Result<ActionSettings, WrongUsage> {
    let mut authorities_pem = Vec::new();
    if !config.ca_file.as_os_str().is_empty() {
        authorities_pem = std::fs::read(&config.ca_file).map_err(|error| {
            WrongUsage(format!("actions.ca_file: could not read {}: {error}", config.ca_file.display()))
        })?;
    }
    if let Some(certificate) = certificate {
        authorities_pem.push(b'\n');
        authorities_pem.extend_from_slice(certificate.as_bytes());
    }
    Ok(ActionSettings {
        egress: Egress::new(&config.egress_allow, &config.egress_deny),
        oauth_authority: config.oauth_authority.clone(),
        storage_queue_endpoint: config.storage_queue_endpoint.clone(),
        service_bus_amqp_endpoint: config.service_bus_amqp_endpoint.clone(),
        service_bus_rest_endpoint: config.service_bus_rest_endpoint.clone(),
        service_bus_sasl: match config.service_bus_sasl {
            SaslConfig::Cbs => Sasl::Cbs,
            SaslConfig::Plain => Sasl::Plain,
        },
        service_bus_queue_address: config.service_bus_queue_address.clone(),
        service_bus_topic_address: config.service_bus_topic_address.clone(),
        authorities_pem,
        ..ActionSettings::default()
    })
}
