//! `punctual serve`: the server.

mod access;
mod activity;
mod audit;
mod connection;
mod deadline;
mod demo;
mod descriptors;
mod echo;
mod fire;
mod gate;
mod inspect;
mod issuer;
mod listener;
mod log;
mod metrics;
mod own;
mod page;
mod peers;
mod refused;
mod reseal;
mod stop;
mod tls;
mod watched;
mod welcome;

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use punctual_api::{ApiState, Hosts, Limiter, NodeSettings, Openers, ROUTES, StoreView, Traffic};
use punctual_arm::Locations;
use punctual_metrics::Metrics;
use punctual_model::{Clock, CredentialHeaders, RandomSource};
use punctual_runner::{Failure, Log, Observer, Supervisor};
use punctual_store::Store;

use self::access::Attending;
use self::audit::Auditing;
use self::connection::Connections;
use self::deadline::Deadline;
pub(crate) use self::demo::demo;
use self::descriptors::Share;
use self::gate::Gate;
use self::listener::Stopper;
use self::metrics::{Counting, ServerSampler};
use self::reseal::Resealing;
use self::stop::{Signals, Started};
use self::tls::{Name, Tls};
use crate::clock::{VirtualClock, WatchedClock, real_now};
use crate::config::{self, ClockConfig, Config, Override, Role, StoreConfig};
use crate::exit::{Exit, WrongUsage};
use crate::file_size;
use crate::keys::{self, Keeper};
use crate::options::ServeOptions;
use crate::random::SystemRandom;
use crate::store::{self, AnyStore, NewNode, OpenedStore, Sealing, SharedPlace, Watchers};

/// How long the end of the process waits for what runs in threads, such as the resolution of a name.
const THREADS_TIME_MAX: Duration = Duration::from_secs(2);

pub(crate) fn serve(options: &ServeOptions) -> anyhow::Result<Exit> {
    let config = config::load(options.config.as_deref(), config::environment()?, overrides(options))?;
    log::start(&config.log)?;
    access::check_listen(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("could not start the runtime")?;
    let deadline = Deadline::default();
    let outcome = runtime.block_on(async {
        // Before the port is open: a caller that can connect may also send a signal, and expect an orderly stop.
        let signals = Signals::listen().context("could not listen for signals")?;
        run(config, signals, &Supervisor::default(), &deadline).await
    });
    runtime.shutdown_timeout(THREADS_TIME_MAX);
    outcome
}

/// First come all checks that may refuse the start, including the port; then what changes data; then what
/// fires. So a server that can't start leaves everything as it was, and a second one on a taken port fires
/// nothing.
async fn run(
    config: Config,
    signals: Signals,
    supervisor: &Supervisor,
    deadline: &Deadline,
) -> anyhow::Result<Exit> {
    let mut tls = Tls::prepare(&config)?;
    let actions = match config.server.role {
        Role::Api => None,
        Role::All | Role::Runner => {
            let own = tls.as_ref().and_then(|tls| tls.self_signed.as_deref());
            Some(Arc::new(fire::actions(&config.actions, own)?))
        }
    };
    file_size::survive_limit().await.context("could not listen for signals")?;
    let share = Share::of(descriptors::raise_limit(), config.server.connections_max);
    let listener = bind(config.server.listen, "--listen")?;
    let monitoring = config.server.monitoring_listen;
    let monitoring = monitoring.map(|address| bind(address, "server.monitoring_listen")).transpose()?;
    let bound = listener.local_addr().context("could not ask where the listener is")?;
    // Behind the listener: where both want the same port, this one goes elsewhere.
    let echo = config.server.echo_listen.filter(|_| actions.is_some()).map(echo::bind).transpose()?;
    let echo_bound = echo.as_ref().map(TcpListener::local_addr).transpose();
    let echo_bound = echo_bound.context("could not ask where the echo target is")?;
    let listening = monitoring.iter().filter_map(|listener| listener.local_addr().ok());
    let listening: Vec<SocketAddr> = std::iter::once(bound).chain(listening).collect();
    let own_addresses = own::addresses(&config, &listening, echo_bound);
    if let Some(actions) = actions.as_ref().filter(|_| !config.actions.allow_self) {
        actions.refuse_own(own_addresses.clone());
    }

    let random: Arc<dyn RandomSource> = Arc::new(SystemRandom::default());
    let own_clock = schedule_clock(&config);
    let credential_headers = CredentialHeaders::new(&config.actions.credential_headers);
    let note = config.audit.enabled.then(|| keys::note_of("Punctual/keys/rotate/action"));
    let metrics = Arc::new(Metrics::new(ROUTES.iter().map(|route| route.name)));
    let sealing =
        Sealing { random: Arc::clone(&random), credential_headers: credential_headers.clone(), note };
    let opened = match &config.store.url {
        None => store::open_own(&config.data, sealing, Watchers::of(supervisor, &metrics))?,
        Some(url) => {
            let StoreConfig { api_connections, prepare, .. } = config.store;
            let node = NewNode {
                cluster: &config.cluster,
                clock: Arc::clone(&own_clock),
                virtual_clock: is_virtual(&config.clock),
                fires: actions.is_some(),
                url: own::url(&config, bound, tls.is_some()),
                started_at: real_now(),
                supervisor,
            };
            let place = SharedPlace { url, data: &config.data, api_connections, prepare };
            store::open_shared(&place, sealing, Arc::clone(&own_clock), Some(node)).await?
        }
    };
    let (clock, keeper) = (opened.clock(own_clock), Arc::clone(&opened.keeper));
    let any = Arc::clone(&opened.store);
    let access = access::open(&config, Arc::<dyn AnyStore>::clone(&any)).await?;
    let auditor = audit::open(&config.audit, Arc::<dyn AnyStore>::clone(&any));
    let store: Arc<dyn Store> = any;
    tls.as_mut().map(Tls::save).transpose()?;

    let peers = match (&actions, &opened.shared) {
        (Some(actions), Some(shared)) if !config.actions.allow_self => {
            Some(peers::Refusing::start(Arc::clone(actions), own_addresses, shared, supervisor))
        }
        (_, _) => None,
    };
    let observer: Arc<dyn Observer> = Arc::new(Counting { log: Log, metrics: Arc::clone(&metrics) });
    let start = |actions| fire::start(&config, actions, &store, &clock, &random, observer, supervisor);
    let (running, status) = actions.map(start).transpose()?.unzip();
    let (inspector, inspecting) =
        inspect::start(&config.inspector, &store, &clock, status.clone(), supervisor);
    let traffic = Arc::new(Traffic::default());
    let sampler = ServerSampler {
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        inspection: inspector.clone(),
        status,
        traffic: Arc::clone(&traffic),
        data: config.data.dir.clone(),
        certificate_expires_at: tls.as_ref().and_then(|tls| tls.expires_at),
        started_at: real_now(),
        reading: Arc::default(),
    };
    let state = ApiState {
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        random,
        inspection: inspector,
        access: Arc::clone(&access),
        auditor: Arc::clone(&auditor),
        keys: Arc::<Keeper>::clone(&keeper),
        traffic: Arc::clone(&traffic),
        metrics,
        sampler: Arc::new(sampler),
        limiter: Limiter::new(config.limits.of_callers()),
        settings: punctual_api::Settings {
            locations: locations(&config),
            public_url: Some(config.server.public_url.clone()).filter(|url| !url.is_empty()),
            hosts: hosts(&config, tls.as_ref()),
            trusted_proxies: config.server.trusted_proxies.clone(),
            secure: tls.is_some(),
            access_log: config.log.access,
            limits: config.plans.limits(),
            caller_limits: config.limits.of_callers(),
            tenant: config.arm.tenant.clone(),
            subscriptions: config.arm.subscriptions.iter().map(|id| id.as_str().into()).collect(),
            credential_headers,
            node: node_settings(&config, &opened).await,
            page: page::open(&config.server),
        },
        openers: Openers::default(),
    };
    let state = Arc::new(state);
    let refusing = Arc::clone(&state);
    let refused: refused::Answer = Arc::new(move |status| punctual_api::refused_head(&refusing, status));
    let app = match config.server.role {
        Role::All | Role::Api => punctual_api::router(Arc::clone(&state)),
        Role::Runner => punctual_api::health_router(Arc::clone(&state)),
    };

    if tls.is_none() && !bound.ip().is_loopback() {
        tracing::warn!("tokens go over the network in clear: serve TLS, or let a proxy do so");
    }
    if !access.required()
        && (!config.server.trusted_proxies.is_empty() || !config.server.public_url.is_empty())
    {
        tracing::warn!(
            "a proxy leads others here (server.trusted_proxies, server.public_url), and nobody is asked who they are: \
             make a token, or set auth.mode to \"required\""
        );
    }
    let attending = Attending::start(&access, supervisor);
    let auditing = Auditing::start(&auditor, supervisor);
    let resealing = Resealing::start(&keeper, supervisor);
    let stopper = Stopper::default();
    let mut listening = supervisor.tasks();
    if let Some(echo) = echo {
        let stopping = listening.told_to_stop();
        listening.spawn("echo target", echo::serve(echo, share.echo, stopping));
    }
    // A process that does not fire has none; the one that does has it where the settings say.
    let echo = echo_bound.or(config.server.echo_listen);
    welcome::print(&config, bound, echo, tls.as_ref(), clock.now(), access.required());
    let mut listen = |name, listener, connections, gate| {
        let serving = listener::listen(listener, Arc::new(connections), gate, stopper.stopping());
        listening.spawn(name, noted(name, serving, supervisor.clone()));
    };
    if let Some(monitoring) = monitoring {
        if let Ok(address) = monitoring.local_addr() {
            tracing::info!(%address, "health, doctor and metrics are served without asking for a token");
        }
        let connections =
            Connections::new(punctual_api::monitoring_router(state), None, Arc::clone(&refused));
        // Counted by itself: /doctor tells of the connections of callers.
        let gate = Gate::new(share.monitoring, config.server.trusted_proxies.clone(), Arc::default());
        listen("listener for monitoring", monitoring, connections, gate);
    }
    let connections = Connections::new(app, tls.map(|tls| tls.acceptor), refused);
    listen(
        "listener",
        listener,
        connections,
        Gate::new(share.callers, config.server.trusted_proxies.clone(), traffic),
    );
    let started = Started { listening, stopper, running, inspecting, grace: grace(&config) };
    let failure = started.stop_when_due(signals, supervisor, deadline).await;
    attending.stop().await;
    resealing.stop().await;
    auditing.stop().await;
    if let Some(peers) = peers {
        peers.stop().await;
    }
    // Whoever fires has done so before.
    opened.leave().await;
    tracing::info!("stopped");
    match failure {
        None => Ok(Exit::Fine),
        Some(failure) => Err(failure).context(
            "the server stopped after an internal error; start it anew, its data is sound, and please report this",
        ),
    }
}

/// Serves; if that fails, it is noted why.
async fn noted(
    task: &'static str,
    serving: impl Future<Output = std::io::Result<()>>,
    supervisor: Supervisor,
) {
    if let Err(error) = serving.await {
        supervisor.note(Failure { task, cause: error.to_string() });
    }
}

/// The names under which callers reach this server. Those of its certificate are its own: a page of another name can't
/// get a connection with it.
fn hosts(config: &Config, tls: Option<&Tls>) -> Hosts {
    let public = punctual_api::host_name_of_url(&config.server.public_url);
    let certified = tls.into_iter().flat_map(|tls| &tls.names).filter_map(|name| match name {
        Name::Dns(name) => Some(name.clone()),
        Name::Ip(_) => None,
    });
    Hosts::new(config.server.hosts.iter().cloned().chain(public).chain(certified))
}

fn grace(config: &Config) -> Duration {
    Duration::from_secs(config.server.stop_grace_seconds)
}

/// What the command line says, as settings.
fn overrides(options: &ServeOptions) -> Vec<Override> {
    let mut overrides = Vec::new();
    let mut add = |option, section, key, value: Option<String>| {
        overrides.extend(value.map(|value| Override { option, section, key, value }));
    };
    let path = |path: &std::path::PathBuf| path.display().to_string();
    add("--listen", "server", "listen", options.listen.clone());
    add("--role", "server", "role", options.role.map(|role| format!("{role:?}").to_lowercase()));
    add("--data", "data", "dir", options.data.as_ref().map(path));
    add("--store", "store", "url", options.store.clone());
    let files = options.tls_cert.is_some() || options.tls_key.is_some();
    let mode = options.tls.map(|_| "self-signed".to_owned()).or(files.then(|| "files".to_owned()));
    add("--tls", "tls", "mode", mode);
    add("--tls-cert", "tls", "cert", options.tls_cert.as_ref().map(path));
    add("--tls-key", "tls", "key", options.tls_key.as_ref().map(path));
    add("--clock-start", "clock", "start", options.clock_start.map(|start| start.to_string()));
    add("--clock-speed", "clock", "speed", options.clock_speed.map(|speed| speed.to_string()));
    let patience = options.clock_patience.map(|seconds| seconds.to_string());
    add("--clock-patience", "clock", "patience_seconds", patience);
    overrides
}

/// Opens a port. Callers can connect from now on, and are answered when everything has started.
fn bind(address: SocketAddr, setting: &str) -> anyhow::Result<TcpListener> {
    let listener = TcpListener::bind(address).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AddrInUse => format!(
                "; another process, perhaps another Punctual, listens there: stop it, or choose another address \
                 with {setting}"
            ),
            ErrorKind::AddrNotAvailable => "; this machine has no such address".to_owned(),
            ErrorKind::PermissionDenied => "; ports below 1024 need a permission: choose a higher one".to_owned(),
            _ => String::new(),
        };
        WrongUsage(format!("could not listen on {address}: {error}{hint}"))
    })?;
    listener.set_nonblocking(true).context("could not set up the listener")?;
    Ok(listener)
}

/// The longest patience of a virtual clock; a larger setting is a mistake.
const PATIENCE_MAX: Duration = Duration::from_secs(3_600);

fn schedule_clock(config: &Config) -> Arc<dyn Clock> {
    let ClockConfig { start, speed, patience, hold } = config.clock;
    if !is_virtual(&config.clock) {
        return Arc::new(WatchedClock::new(hold));
    }
    let start_at = start.unwrap_or_else(real_now);
    Arc::new(VirtualClock::new(start_at, speed, patience.min(PATIENCE_MAX)))
}

/// What this node is, for whoever asks.
async fn node_settings(config: &Config, opened: &OpenedStore) -> NodeSettings {
    let shared = opened.shared.as_ref();
    let detail = match shared {
        Some(shared) => shared.database.server_version().await.unwrap_or_default(),
        None => format!("SQLite {}", punctual_store_sqlite::version()),
    };
    let kind = if shared.is_some() { "postgres" } else { "sqlite" };
    let takeover = Duration::from_secs(config.cluster.takeover_seconds.into());
    let allowance = Duration::from_millis(config.cluster.clock_allowance_ms.into());
    NodeSettings {
        name: store::node_name(&config.cluster),
        started_at: Some(real_now()),
        fires: config.server.role != Role::Api,
        store: StoreView { kind: kind.to_owned(), detail },
        takeover: shared.map(|_| takeover),
        clock_allowance: shared.map(|_| allowance),
    }
}

/// Whether the schedule has another time than the machine.
fn is_virtual(clock: &ClockConfig) -> bool {
    clock.start.is_some() || (clock.speed - 1.0).abs() > f64::EPSILON
}

fn locations(config: &Config) -> Locations {
    if config.api.locations.is_empty() {
        Locations::default()
    } else {
        Locations::new(config.api.locations.clone())
    }
}

#[cfg(test)]
mod tests;
