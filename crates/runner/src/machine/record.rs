//! Finished attempts until they are recorded: settled in batches, with retries if the store fails.
//!
//! One record that the store never accepts must not block all others: if a batch is refused, its parts are
//! tried one by one, and a few that are refused while others are accepted are set aside.

use std::collections::VecDeque;
use std::time::Duration;

use punctual_model::{Chain, Job, Skip, Sku, decide};
use punctual_store::{Settled, Trouble};

use super::{Ending, Machine, Rest};
use crate::attempt::Fired;
use crate::hold::Hold;
use crate::{Event, Loss};

/// The largest batch: larger ones are not faster, and delay the writes of callers.
const BATCH_MAX: usize = 1_000;

/// How long a small batch waits for more. Recording is not urgent, and fewer writes leave more of the disk to
/// others. What waits here is fired again if the server is killed.
const LINGER: Duration = Duration::from_millis(5);

/// The same on a fast clock, which waits for attempts to be recorded.
const LINGER_OF_A_FAST_CLOCK: Duration = Duration::from_millis(1);

/// A batch of this size does not wait.
const BATCH_WORTH_WRITING: usize = 256;

/// How long to wait before a refused batch is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// After this many refusals in a row of single records the store is at fault, and not the records.
const REFUSED_IN_A_ROW_MAX: usize = 8;

/// The most records that are set aside while the store accepts others. With more, the store is at fault.
const STUCK_MAX: usize = 64;

/// How often records that were set aside are tried again.
const STUCK_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The next step of the recorder.
pub(crate) enum RecorderStep {
    /// Decides and settles; to be answered by [`recorded`](Machine::recorded).
    Settle(Vec<Open>),
    /// Rest until then, or until it is woken.
    Rest(Rest),
    /// The lane has ended.
    Done,
}

/// An attempt that is not recorded yet.
pub(crate) struct Open {
    pub(crate) fired: Fired,
    /// The job as it is now, if it was edited while the attempt was in flight.
    pub(crate) edited: Option<(Job, Sku)>,
    /// The skips of the settlement, to be reported once it is recorded.
    pub(crate) skips: Vec<Skip>,
}

/// Attempts that are not recorded yet.
pub(super) struct Recording {
    queue: Vec<Fired>,
    /// How many attempts have ended and are not recorded.
    unrecorded: usize,
    linger: Duration,
    lingers_until: Option<Duration>,
    paused_until: Duration,
    work: Work,
    out: bool,
    stuck: Vec<Open>,
    stuck_at: Duration,
    /// Deciding on these panicked: they stay claimed, which the inspector reports, and are fired again after a
    /// restart. If they were given back, they would be fired again and again.
    undecided: Vec<Hold>,
}

/// What is being settled.
enum Work {
    Whole(Vec<Open>),
    /// One by one.
    Each {
        left: VecDeque<Open>,
        refused: Vec<Open>,
        in_a_row: usize,
        /// They had been set aside.
        aside: bool,
    },
}

impl Recording {
    pub(super) fn new(fast_clock: bool) -> Self {
        Self {
            queue: Vec::new(),
            unrecorded: 0,
            linger: if fast_clock { LINGER_OF_A_FAST_CLOCK } else { LINGER },
            lingers_until: None,
            paused_until: Duration::ZERO,
            work: Work::Whole(Vec::new()),
            out: false,
            stuck: Vec::new(),
            stuck_at: Duration::ZERO,
            undecided: Vec::new(),
        }
    }
}

impl Work {
    fn is_over(&self) -> bool {
        match self {
            Self::Whole(batch) => batch.is_empty(),
            Self::Each { left, refused, .. } => left.is_empty() && refused.is_empty(),
        }
    }
}

impl Machine {
    /// Takes a finished attempt to record it.
    pub(super) fn record(&mut self, fired: Fired) {
        self.wakes.recorder |= self.recording.queue.is_empty();
        self.recording.queue.push(fired);
        self.recording.unrecorded += 1;
    }

    /// How many attempts have ended and are not recorded.
    pub(super) fn unrecorded(&self) -> usize {
        self.recording.unrecorded
    }

    /// The next step of the recorder.
    pub(crate) fn recorder(&mut self, uptime: Duration) -> RecorderStep {
        if self.recording.out {
            return RecorderStep::Rest(Rest::for_ever());
        }
        if uptime < self.recording.paused_until {
            return RecorderStep::Rest(Rest::pause(self.recording.paused_until));
        }
        if self.recording.work.is_over()
            && let Some(rest) = self.take_up_work(uptime)
        {
            return rest;
        }
        self.recording.out = true;
        RecorderStep::Settle(match &mut self.recording.work {
            Work::Whole(batch) => std::mem::take(batch),
            Work::Each { left, .. } => left.pop_front().into_iter().collect(),
        })
    }

    /// Takes what has queued, else what was set aside. If there is nothing to do, returns the step.
    fn take_up_work(&mut self, uptime: Duration) -> Option<RecorderStep> {
        let Recording { queue, linger, lingers_until, work, stuck, stuck_at, .. } = &mut self.recording;
        if !stuck.is_empty() && uptime >= *stuck_at {
            let left = std::mem::take(stuck).into();
            *work = Work::Each { left, refused: Vec::new(), in_a_row: 0, aside: true };
            return None;
        }
        if queue.is_empty() {
            let over = self.stopping && self.slots.under_way() == 0 && stuck.is_empty();
            let rest = if stuck.is_empty() { Rest::for_ever() } else { Rest::pause(*stuck_at) };
            return Some(if over { RecorderStep::Done } else { RecorderStep::Rest(rest) });
        }
        if queue.len() < BATCH_WORTH_WRITING && !self.stopping {
            let until = *lingers_until.get_or_insert(uptime + *linger);
            if uptime < until {
                return Some(RecorderStep::Rest(Rest::pause(until)));
            }
        }
        *lingers_until = None;
        let open = |fired| Open { fired, edited: None, skips: Vec::new() };
        *work = Work::Whole(queue.drain(..queue.len().min(BATCH_MAX)).map(open).collect());
        None
    }

    /// Keeps attempts that could not be decided on.
    pub(crate) fn keep_undecided(&mut self, undecided: Vec<Open>, uptime: Duration) {
        for mut open in undecided {
            let wait = open.fired.hold.take_clock_pause();
            self.keep_clock_pause(wait, uptime);
            self.recording.undecided.push(open.fired.hold);
        }
    }

    /// The store has answered, in the order of the settlements. Returns what is over, to be dropped without the
    /// lock.
    pub(crate) fn recorded(
        &mut self,
        batch: Vec<Open>,
        answer: Result<Vec<Settled>, Trouble>,
        uptime: Duration,
    ) -> Vec<decide::Attempt> {
        self.recording.out = false;
        let answers = match answer {
            Ok(answers) => answers,
            Err(trouble) => {
                self.refused(batch, &trouble, uptime);
                return Vec::new();
            }
        };
        let mut again = Vec::new();
        let mut over = Vec::with_capacity(batch.len());
        for (mut open, answer) in batch.into_iter().zip(answers) {
            let ending = match answer {
                Settled::Recorded => Ending::Settled,
                // The job was edited while the attempt was in flight: decide on the job as it is now.
                Settled::Changed(job, sku) => {
                    open.edited = Some((*job, sku));
                    again.push(open);
                    continue;
                }
                Settled::Gone => Ending::Lost(Loss::Deleted),
                Settled::Lost => Ending::Lost(Loss::Fenced),
            };
            let Open { fired, skips, .. } = open;
            self.recording.unrecorded = self.recording.unrecorded.saturating_sub(1);
            self.end(fired.hold, ending, uptime);
            if matches!(ending, Ending::Settled) {
                skips.iter().for_each(|skip| self.observer.hear(&Event::Skipped(skip)));
            }
            over.push(fired.attempt);
        }
        match &mut self.recording.work {
            Work::Whole(batch) => *batch = again,
            Work::Each { left, in_a_row, .. } => {
                *in_a_row = 0;
                again.into_iter().for_each(|open| left.push_front(open));
            }
        }
        self.end_of_each(uptime);
        over
    }

    /// The store has accepted none of a batch.
    fn refused(&mut self, mut batch: Vec<Open>, trouble: &Trouble, uptime: Duration) {
        if trouble.outage().is_some() {
            // Nothing can be written, which the store logs itself: everything waits until that is over.
            match std::mem::replace(&mut self.recording.work, Work::Whole(Vec::new())) {
                Work::Whole(rest) => batch.extend(rest),
                Work::Each { left, refused, .. } => batch.extend(left.into_iter().chain(refused)),
            }
            self.recording.work = Work::Whole(batch);
            self.recording.paused_until = uptime + RETRY_PAUSE;
            return;
        }
        match &mut self.recording.work {
            Work::Whole(_) => {
                let count = batch.len();
                tracing::error!(error = %Chain(trouble), count, "could not record what was fired; trying again");
                self.recording.paused_until = uptime + RETRY_PAUSE;
                let (left, refused) = (batch.into(), Vec::new());
                self.recording.work = Work::Each { left, refused, in_a_row: 0, aside: false };
            }
            Work::Each { left, refused, in_a_row, .. } => {
                refused.extend(batch);
                *in_a_row += 1;
                if !left.is_empty() && *in_a_row < REFUSED_IN_A_ROW_MAX {
                    return;
                }
            }
        }
        self.end_of_each(uptime);
    }

    /// After each was tried, or after so many refusals in a row that the store is at fault: a few are set
    /// aside, more are tried again as a batch.
    fn end_of_each(&mut self, uptime: Duration) {
        let Work::Each { left, refused, in_a_row, aside } = &mut self.recording.work else { return };
        let given_up = *in_a_row >= REFUSED_IN_A_ROW_MAX;
        if !given_up && !left.is_empty() {
            return;
        }
        let (left, mut refused, aside) = (std::mem::take(left), std::mem::take(refused), *aside);
        if aside || (left.is_empty() && self.recording.stuck.len() + refused.len() <= STUCK_MAX) {
            refused.extend(left);
            self.set_aside(refused, aside, uptime);
            self.recording.work = Work::Whole(Vec::new());
        } else {
            self.recording.paused_until = uptime + RETRY_PAUSE;
            self.recording.work = Work::Whole(left.into_iter().chain(refused).collect());
        }
    }

    fn set_aside(&mut self, refused: Vec<Open>, again: bool, uptime: Duration) {
        for mut open in refused {
            if !again {
                let job = &open.fired.attempt.claimed.key.name;
                tracing::error!(%job, "the store takes others but not what became of this job; set aside");
            }
            // A fast clock does not wait for it.
            let wait = open.fired.hold.take_clock_pause();
            self.keep_clock_pause(wait, uptime);
            self.recording.stuck.push(open);
        }
        let pause = if self.stopping { RETRY_PAUSE } else { STUCK_RETRY_PAUSE };
        self.recording.stuck_at = uptime + pause;
    }
}
