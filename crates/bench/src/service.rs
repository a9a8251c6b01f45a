//! The service under test: one server with a store of its own, or several nodes on one PostgreSQL server.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::figure::{Figure, Unit};
use crate::place::Place;
use crate::postgres::Postgres;
use crate::server::{Role, Server};
use crate::workload::Setup;

/// A running service. Dropping it ends all of it.
pub(crate) struct Service {
    // The nodes go before their database, and both before their files.
    nodes: Vec<Server>,
    postgres: Option<Postgres>,
    _dir: TempDir,
}

/// What a service has used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) nodes: Duration,
    pub(crate) postgres: Duration,
}

impl Service {
    /// Starts it without any jobs.
    pub(crate) fn start(setup: &Setup, place: Place, role: Role) -> anyhow::Result<Self> {
        let dir = setup.fresh()?;
        let Place::Shared { nodes: count } = place else {
            let (server, _) = setup.start(dir.path(), role)?;
            return Ok(Self { nodes: vec![server], postgres: None, _dir: dir });
        };
        let bin = setup.postgres.as_deref().context("--postgres names no directory with its programs")?;
        // A server of PostgreSQL that runs as somebody else must be able to come here.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), open).context("could not open the directory")?;
        let postgres = Postgres::start(bin, &dir.path().join("postgres"))?;
        let keys = keys(setup)?;
        let mut nodes = Vec::new();
        for number in 0..count {
            let name = format!("node-{number}");
            let node = dir.path().join(&name);
            std::fs::create_dir(&node).context("could not make a directory")?;
            let settings = [
                ("PUNCTUAL_STORE__URL", postgres.url()),
                ("PUNCTUAL_CLUSTER__NAME", name),
                ("PUNCTUAL_KEYS", keys.clone()),
                // Only one process can have the port of the default.
                ("PUNCTUAL_SERVER__ECHO_LISTEN", "127.0.0.1:0".to_owned()),
            ];
            nodes.push(setup.start_with(&node, role, &settings)?.0);
        }
        Ok(Self { nodes, postgres: Some(postgres), _dir: dir })
    }

    /// Where the first node serves the API.
    pub(crate) fn address(&self) -> SocketAddr {
        self.nodes[0].address()
    }

    pub(crate) fn postgres(&self) -> Option<&Postgres> {
        self.postgres.as_ref()
    }

    /// The processor time that all of it has used so far.
    pub(crate) fn used(&self) -> anyhow::Result<Used> {
        let mut nodes = Duration::ZERO;
        for node in &self.nodes {
            nodes += node.processor_time()?;
        }
        let postgres = self.postgres.as_ref().map_or(Ok(Duration::ZERO), Postgres::processor_time)?;
        Ok(Used { nodes, postgres })
    }

    /// The most memory that a node had, in megabytes.
    pub(crate) fn memory_peak(&self) -> anyhow::Result<f64> {
        let mut peak = 0.0_f64;
        for node in &self.nodes {
            peak = peak.max(node.memory()?.peak);
        }
        Ok(peak)
    }

    /// What PostgreSQL has to say at the end, and what is wrong.
    pub(crate) fn verdict(&self) -> anyhow::Result<(Vec<Figure>, Vec<String>)> {
        let Some(postgres) = &self.postgres else { return Ok((Vec::new(), Vec::new())) };
        let deadlocks = postgres.deadlocks()?;
        let faults = (deadlocks > 0.0).then(|| format!("{deadlocks} deadlocks in PostgreSQL"));
        let figure = Figure::new("deadlocks in PostgreSQL", deadlocks, Unit::Count).at_most(0.0);
        Ok((vec![figure], faults.into_iter().collect()))
    }
}

impl Used {
    /// What was used since then.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_sub(before.nodes),
            postgres: self.postgres.saturating_sub(before.postgres),
        }
    }
}

/// A key that all nodes share.
fn keys(setup: &Setup) -> anyhow::Result<String> {
    let made = Command::new(&setup.server).args(["keys", "generate"]).output();
    let made = made.context("could not make a key")?;
    if !made.status.success() {
        bail!("could not make a key: {}", String::from_utf8_lossy(&made.stderr));
    }
    Ok(String::from_utf8_lossy(&made.stdout).trim().to_owned())
}
