//! One node: a runner that can be paused anywhere.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_model::RandomSource;
use punctual_runner::{Log, Runner, Settings, Steps};
use punctual_store::{Fence, LeasedStore, Roster};

use super::backing::Opened;
use crate::clock::NodeClock;
use crate::gate::{Gate, NodeFuture, block_on, drive};
use crate::op::Point;
use crate::receiver::{Receiver, Script};
use crate::watched::{Shared, WatchedStore};

/// So long that no node looks at the agenda without being woken: a lost wake-up is lost forever here.
const NEVER: Duration = Duration::from_secs(1_000_000_000);

/// The slots of each node, how many of them for one target, and for one collection: plenty, some, hardly any.
const SLOTS: [(usize, usize, usize); super::NODES] = [(16_384, 256, 2_048), (4, 2, 3), (2, 1, 1)];

pub(super) struct Node {
    index: usize,
    pub(super) clock: NodeClock,
    pub(super) up: bool,
    gate: Gate,
    shared: Shared,
    script: Script,
    random: Arc<dyn RandomSource>,
    /// Its own way to the store, where nodes have leases.
    leased: Option<Arc<LeasedStore>>,
    runner: Runner,
    /// None while it is paused.
    steps: Option<Steps>,
    /// Paused steps.
    future: Option<NodeFuture<Steps>>,
    /// The uptime of the world when it ran last.
    seen: Duration,
    /// It is to look at the agenda without being woken.
    polls: bool,
}

impl Node {
    pub(super) fn new(
        index: usize,
        shared: &Shared,
        clock: &NodeClock,
        script: &Script,
        opened: &Opened,
    ) -> Self {
        let (clock, gate) = (clock.another(), Gate::default());
        let random = Arc::clone(&opened.random);
        let leased = opened.cluster.as_ref().map(|cluster| Arc::new(cluster.join()));
        let runner = runner(index, shared, leased.as_ref(), &clock, &gate, script, &random);
        let steps = Some(runner.steps());
        let (shared, script, seen) = (shared.clone(), script.clone(), clock.uptime());
        Self {
            index,
            clock,
            up: true,
            gate,
            shared,
            script,
            random,
            leased,
            runner,
            steps,
            future: None,
            seen,
            polls: false,
        }
    }

    /// Whether it could tick now.
    pub(super) fn idle(&self) -> bool {
        self.up && self.future.is_none()
    }

    /// Whether it is paused at a point.
    pub(super) fn at(&self, point: Point) -> bool {
        self.future.is_some() && self.gate.closed() == Some(point)
    }

    /// When it wants to continue: after some time, and at an instant of its clock.
    pub(super) fn wants(&self) -> (Option<Duration>, Option<Timestamp>) {
        let Some(steps) = self.steps.as_ref().filter(|_| self.up) else { return (None, None) };
        let (rest, due_at) = steps.wants();
        let passed = self.clock.uptime().saturating_sub(self.seen);
        (rest.map(|rest| rest.saturating_sub(passed)), due_at)
    }

    /// Its clock was set: it notices that at its next look at the agenda.
    pub(super) fn poll(&mut self) {
        self.polls = true;
    }

    /// Does everything that it can do at this instant, up to a point if one is given.
    pub(super) fn tick(&mut self, until: Option<Point>) {
        if !self.idle() {
            return;
        }
        self.gate.set(until);
        let Some(mut steps) = self.steps.take() else { return };
        let uptime = self.clock.uptime();
        self.renew();
        steps.pass(uptime.saturating_sub(std::mem::replace(&mut self.seen, uptime)));
        if std::mem::take(&mut self.polls) {
            steps.poll();
        }
        self.go(Box::pin(async move {
            steps.run().await;
            steps
        }));
    }

    /// Deletes what is too old; false if it could not.
    pub(super) fn keep_house(&mut self) -> bool {
        if !self.idle() {
            return false;
        }
        loop {
            match block_on(self.runner.keep_house()) {
                Ok(true) => {}
                Ok(false) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Repairs jobs that are ahead of the clock; returns whether all of them were.
    pub(super) fn repair(&mut self) -> bool {
        self.up && block_on(self.runner.repair()).is_ok_and(|report| report.busy.is_empty())
    }

    /// Goes on from where it stayed, with whatever its other lanes had to do meanwhile.
    pub(super) fn resume(&mut self) {
        if let Some(future) = self.future.take() {
            self.renew();
            self.gate.set(None);
            self.go(future);
            self.tick(None);
        }
    }

    fn go(&mut self, future: NodeFuture<Steps>) {
        match drive(future, &self.gate) {
            Ok(steps) => {
                let failed = steps.failure().is_some();
                self.steps = Some(steps);
                if failed {
                    self.start_anew();
                }
            }
            Err(future) => {
                self.future = Some(future);
                return;
            }
        }
        self.shared.shared_oracle.lock().forget(self.index);
    }

    /// One of its tasks has ended: it records and gives back what it can, ends, and is started anew by what
    /// supervises it. A failure while it does that changes nothing.
    fn start_anew(&mut self) {
        self.shared.shared_oracle.lock().cover("a node ended because a task of it had, and was started anew");
        self.runner.begin_stop();
        self.gate.set(None);
        if let Some(mut steps) = self.steps.take() {
            self.renew();
            block_on(steps.run());
        }
        self.crash();
        self.up = true;
    }

    /// Its claims are taken from it.
    pub(super) fn expire(&mut self) {
        let fences = self.shared.shared_oracle.lock().abandon(Some(self.index));
        match &self.leased {
            Some(leased) => block_on(leased.expire()).expect("the store itself has no faults"),
            None => self.release(&fences),
        }
    }

    /// It learns whether its lease holds.
    fn renew(&self) {
        if let Some(leased) = &self.leased {
            leased.tell_boot(self.clock.uptime());
            let lease = leased.standing().borrow().lease;
            leased.renew();
            if leased.standing().borrow().lease != lease {
                self.shared.shared_oracle.lock().cut_off(self.index);
            }
        }
    }

    pub(super) fn crash(&mut self) {
        self.forget_all();
        self.expire();
        self.shared.shared_oracle.lock().forget(self.index);
        self.up = false;
    }

    /// Forgets what it was doing, and all that it knew.
    pub(super) fn forget_all(&mut self) {
        self.future = None;
        self.runner = runner(
            self.index,
            &self.shared,
            self.leased.as_ref(),
            &self.clock,
            &self.gate,
            &self.script,
            &self.random,
        );
        self.steps = Some(self.runner.steps());
        self.seen = self.clock.uptime();
    }

    /// Gives back what it has not begun, finishes what it has, and stops.
    pub(super) fn stop(&mut self) {
        if !self.up {
            return;
        }
        self.runner.begin_stop();
        self.resume();
        // If a panic ended the node while it went on, it was started anew, and does not know yet that it is to stop.
        self.runner.begin_stop();
        self.tick(None);
        self.shared.shared_oracle.lock().stopped(self.index);
        self.forget_all();
        self.up = false;
    }

    fn release(&self, fences: &[Fence]) {
        block_on(self.shared.store().release(fences)).expect("the store itself has no faults");
    }
}

fn runner(
    index: usize,
    shared: &Shared,
    leased: Option<&Arc<LeasedStore>>,
    clock: &NodeClock,
    gate: &Gate,
    script: &Script,
    random: &Arc<dyn RandomSource>,
) -> Runner {
    let store = WatchedStore {
        node: Some(index),
        leased: leased.cloned(),
        gate: gate.clone(),
        clock: clock.clone(),
        shared: shared.clone(),
    };
    let receiver = Receiver {
        node: index,
        script: script.clone(),
        clock: clock.clone(),
        gate: gate.clone(),
        shared_oracle: shared.shared_oracle.clone(),
    };
    let (slots, slots_per_target, slots_per_collection) = SLOTS[index];
    let settings =
        Settings { slots, slots_per_target, slots_per_collection, poll: NEVER, ..Settings::default() };
    let (receiver, clock) = (Arc::new(receiver), Arc::new(clock.clone()));
    Runner::new(Arc::new(store), receiver, clock, Arc::clone(random), Arc::new(Log), settings)
}
