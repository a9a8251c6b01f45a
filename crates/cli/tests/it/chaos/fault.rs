//! What fails, and how.

use std::time::{Duration, Instant};

use super::trio::Trio;
use crate::crash::{now, pause};
use crate::proxy::Mode;

/// The kinds of faults. The number is how many seconds it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Killed; started again after so many seconds.
    Kill(u64),
    /// SIGSTOP, and SIGCONT later.
    Freeze(u64),
    /// Stopped in good order, and started again.
    Leave,
    /// Half of all connections to the database are ended by it.
    Terminate,
    /// The database is started again.
    Restart(&'static str),
    /// The connections of a node to the database are closed, and new ones too.
    Cut(u64),
    /// Nothing comes through them.
    Stall(u64),
    /// Answers of the database to a node are lost, so many.
    LoseAnswers(usize),
    /// A node is told to fire nothing, and to fire again.
    Drain,
}

/// All of them, the most important first.
pub(super) const KINDS: [Kind; 13] = [
    Kind::Kill(8),
    Kind::Kill(0),
    Kind::Freeze(2),
    Kind::Freeze(10),
    Kind::Leave,
    Kind::Terminate,
    Kind::Restart("fast"),
    Kind::Restart("immediate"),
    Kind::Cut(2),
    Kind::Cut(8),
    Kind::Stall(8),
    Kind::LoseAnswers(12),
    Kind::Drain,
];

impl Kind {
    /// Whether others take over, since a node is silent for longer than they wait.
    pub(super) fn is_taken_over(self) -> bool {
        matches!(self, Self::Kill(8) | Self::Freeze(10) | Self::Cut(8) | Self::Stall(8))
    }
}

/// A fault that has happened, until all was as before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) from: Instant,
    pub(super) to: Instant,
}

impl Trio {
    /// Has something fail, mends it, and waits until all nodes fire again.
    pub(super) fn suffer(&mut self, kind: Kind, turn: usize) -> Fault {
        let from = now();
        match kind {
            Kind::Kill(seconds) => {
                let node = self.take(turn);
                node.signal("-KILL");
                assert!(!node.wait().success());
                pause(Duration::from_secs(seconds));
                self.join(turn);
            }
            Kind::Freeze(seconds) => {
                self.node(turn).signal("-STOP");
                pause(Duration::from_secs(seconds));
                self.node(turn).signal("-CONT");
            }
            Kind::Leave => {
                self.take(turn).stop();
                self.join(turn);
            }
            Kind::Terminate => {
                let sql = "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity \
                           WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND random() < 0.5) x";
                assert!(self.cluster.number(sql) > 0);
            }
            Kind::Restart(mode) => self.cluster.restart_database(mode),
            Kind::Cut(seconds) => self.behind(turn, Mode::Cut, seconds),
            Kind::Stall(seconds) => self.behind(turn, Mode::Stall, seconds),
            Kind::LoseAnswers(count) => {
                self.proxies[turn].0.lose(count);
                crate::scheduler::wait_for("all of them are lost", || {
                    (self.proxies[turn].0.left() == 0).then_some(())
                });
            }
            Kind::Drain => {
                self.drain("drain", turn);
                pause(Duration::from_secs(2));
                self.drain("undrain", turn);
            }
        }
        self.wait_until_all_fire();
        Fault { kind, from, to: now() }
    }

    fn behind(&self, turn: usize, mode: Mode, seconds: u64) {
        self.proxies[turn].0.set(mode);
        pause(Duration::from_secs(seconds));
        self.proxies[turn].0.set(Mode::Pass);
    }
}
