//! Three nodes, each behind a proxy of its own.

use std::fs::OpenOptions;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::Addresses;
use crate::cluster::Cluster;
use crate::command::punctual;
use crate::crash::caller::exchange;
use crate::proxy::Proxy;
use crate::scheduler::wait_for;
use crate::server::Server;

pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// Executing a statement, as it is on the wire: whatever it did is committed when the answer comes, except in the middle
/// of a transaction.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

/// The nodes and what is between them and the database.
pub(super) struct Trio {
    pub(super) cluster: Cluster,
    pub(super) addresses: Addresses,
    pub(super) proxies: Vec<(Proxy, String)>,
    nodes: Vec<Option<Server>>,
}

impl Trio {
    pub(super) fn start() -> Option<Self> {
        let cluster = Cluster::on_its_own_server()?;
        let proxies = NAMES.iter().map(|_| cluster.proxy(EXECUTE)).collect();
        let addresses = Arc::new(Mutex::new(Vec::new()));
        let mut trio = Self { cluster, addresses, proxies, nodes: vec![None, None, None] };
        for turn in 0..NAMES.len() {
            trio.join(turn);
        }
        trio.wait_until_all_fire();
        Some(trio)
    }

    /// Starts a node.
    pub(super) fn join(&mut self, turn: usize) {
        let name = NAMES[turn];
        let path = self.cluster.folder.path().join(format!("{name}.log"));
        let log = OpenOptions::new().create(true).append(true).open(path).unwrap();
        let mut command = self.cluster.command(name);
        command.env("PUNCTUAL_STORE", &self.proxies[turn].1).stderr(log);
        self.nodes[turn] = Some(Server::start_as(&mut command, &self.cluster.data(name), &[]));
        self.tell();
    }

    /// Takes a node out, to be ended. Callers go on calling it until another has joined.
    pub(super) fn take(&mut self, turn: usize) -> Server {
        self.nodes[turn].take().unwrap()
    }

    fn tell(&self) {
        let there = self.nodes.iter().flatten().map(|node| node.address.clone()).collect();
        *self.addresses.lock().unwrap() = there;
    }

    pub(super) fn node(&self, turn: usize) -> &Server {
        self.nodes[turn % NAMES.len()].as_ref().unwrap()
    }

    pub(super) fn address(&self, turn: usize) -> String {
        self.node(turn).address.clone()
    }

    /// Waits until each node sees that all of them fire, with nobody's help.
    pub(super) fn wait_until_all_fire(&self) {
        for node in self.nodes.iter().flatten() {
            let fires = |shown: &&Value| shown["fires"] == true;
            wait_for("all nodes fire", || {
                let (_, shown) = exchange(&node.address, "GET", "/nodes?api-version=2026-11-01", None)?;
                (shown["value"].as_array()?.iter().filter(fires).count() == NAMES.len()).then_some(())
            });
        }
    }

    /// Has a node fire nothing, or fire again; another one is asked to.
    pub(super) fn drain(&self, verb: &str, turn: usize) {
        let url = format!("http://{}", self.address(turn + 1));
        let done = punctual().args(["nodes", verb, NAMES[turn], "--server", &url]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    /// Stops all nodes in good order.
    pub(super) fn stop(self) {
        for node in self.nodes.into_iter().flatten() {
            node.stop();
        }
    }
}
