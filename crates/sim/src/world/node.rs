//! One node: a runner that can be stopped anywhere.

use std::sync::Arc;

use punctual_runner::{Log, Report, Runner, Settings};
use punctual_store::{Fence, Trouble};

use super::backing::Opened;
use crate::clock::NodeClock;
use crate::gate::{Course, Gate, block_on, drive};
use crate::op::Point;
use crate::receiver::{Receiver, Script};
use crate::watched::{Shared, Watched};

pub(super) struct Node {
    index: usize,
    pub(super) clock: NodeClock,
    pub(super) up: bool,
    gate: Gate,
    shared: Shared,
    runner: Arc<Runner>,
    /// A tick that stays somewhere.
    course: Option<Course<Result<Report, Trouble>>>,
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
        let store =
            Watched { node: Some(index), gate: gate.clone(), clock: clock.clone(), shared: shared.clone() };
        let receiver = Receiver {
            node: index,
            script: script.clone(),
            clock: clock.clone(),
            gate: gate.clone(),
            book: shared.book.clone(),
        };
        let runner = Runner::new(
            Arc::new(store),
            Arc::new(receiver),
            Arc::new(clock.clone()),
            Arc::clone(&opened.mint),
            Arc::new(Log),
            Settings::default(),
        );
        let shared = shared.clone();
        Self { index, clock, up: true, gate, shared, runner: Arc::new(runner), course: None }
    }

    /// Whether it could tick now.
    pub(super) fn idle(&self) -> bool {
        self.up && self.course.is_none()
    }

    /// Whether it stays at a point.
    pub(super) fn at(&self, point: Point) -> bool {
        self.course.is_some() && self.gate.closed() == Some(point)
    }

    /// Ticks, up to a point if one is given.
    pub(super) fn tick(&mut self, until: Option<Point>) {
        if !self.idle() {
            return;
        }
        self.gate.set(until);
        let runner = Arc::clone(&self.runner);
        self.go(Box::pin(async move { runner.tick().await }));
    }

    /// Lets go of what is old; false if it could not.
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

    /// Goes on from where it stayed.
    pub(super) fn resume(&mut self) {
        if let Some(course) = self.course.take() {
            self.gate.set(None);
            self.go(course);
        }
    }

    fn go(&mut self, course: Course<Result<Report, Trouble>>) {
        match drive(course, &self.gate) {
            Ok(Ok(_)) => {}
            // What it holds stays claimed; it comes back at once as after a crash.
            Ok(Err(_)) => self.expire(),
            Err(course) => {
                self.course = Some(course);
                return;
            }
        }
        self.shared.book.open().forget(self.index);
    }

    /// Its claims are taken from it.
    pub(super) fn expire(&mut self) {
        let fences = self.shared.book.open().abandon(Some(self.index));
        self.release(&fences);
    }

    pub(super) fn crash(&mut self) {
        self.drop_course();
        self.expire();
        self.shared.book.open().forget(self.index);
        self.up = false;
    }

    /// Forgets what it was doing.
    pub(super) fn drop_course(&mut self) {
        self.course = None;
    }

    /// Gives back what it has not begun, finishes what it has, and goes.
    pub(super) fn stop(&mut self) {
        let unbegun = self.shared.book.open().unbegun(self.index);
        if !unbegun.is_empty() {
            self.drop_course();
            self.shared.book.open().released(&unbegun);
            self.release(&unbegun);
        }
        self.resume();
        self.up = false;
    }

    fn release(&self, fences: &[Fence]) {
        block_on(self.shared.store().release(fences)).expect("the store itself has no faults");
    }
}
