//! Histories from seeds.

use crate::op::{Answer, Call, Change, Kind, Op, Point, Retry, Sketch, Unit, When};
use crate::rng::Rng;
use crate::world::{COLLECTIONS, JOBS, NODES};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The history of a seed.
pub fn history(seed: u64) -> Vec<Op> {
    let mut rng = Rng::new(seed);
    // Some worlds have one node and one job: failures there are easier to read.
    let nodes = rng.below(NODES) + 1;
    let jobs = rng.pick(&[1, 1, 2, 2, 3, 4, JOBS]);
    let length = 10 + rng.below(70);
    let mut author = Author { rng, nodes, jobs, now_ms: 0, ops: Vec::with_capacity(length) };
    for job in 0..jobs.min(3) {
        author.put(job);
    }
    while author.ops.len() < length {
        author.write();
    }
    author.ops
}

struct Author {
    rng: Rng,
    nodes: usize,
    jobs: usize,
    now_ms: i64,
    ops: Vec<Op>,
}

impl Author {
    fn write(&mut self) {
        let (node, job) = (self.rng.below(self.nodes), self.rng.below(self.jobs));
        match self.rng.below(100) {
            0..22 => {
                self.pass();
                self.ops.push(Op::Tick(node));
            }
            22..32 => {
                let ms = self.distance();
                self.now_ms += ms;
                self.ops.push(Op::Elapse(ms));
            }
            32..38 => self.ops.push(Op::Tick(node)),
            38..50 => self.interrupt(node, job),
            50..58 => {
                let (answer, times) = (self.answer(), 1 + self.rng.below(6));
                self.ops.push(Op::Answer(job, answer, u32::try_from(times).unwrap_or(1)));
            }
            58..63 => self.put(job),
            63..69 => {
                let change = self.change();
                self.ops.push(Op::Patch(job, change));
            }
            69..79 => self.switch(job),
            79..84 => self.ops.push(Op::Run(job)),
            84..86 => self.ops.push(Op::Delete(job)),
            86..92 => {
                let call = self.rng.pick(&[
                    Call::Claim,
                    Call::NextDue,
                    Call::Begin,
                    Call::Settle,
                    Call::Settle,
                    Call::Release,
                    Call::Read,
                    Call::Write,
                ]);
                let when = self.rng.pick(&[When::Before, When::After]);
                let kind = self.rng.pick(&[Kind::Busy, Kind::Full, Kind::Closed, Kind::Panic]);
                // Several in a row are longer than a moment, and some are set aside.
                let times = if self.rng.once_in(3) { 1 + self.rng.below(12) } else { 1 };
                self.ops.extend(std::iter::repeat_n(Op::Fault(call, when, kind), times));
            }
            92..94 => {
                let ms = self.distance().min(3 * HOUR);
                let ms = if self.rng.once_in(2) { ms } else { -ms };
                self.jump(ms);
                self.ops.push(Op::Repair(node));
            }
            94 => self.excursion(node, job),
            95 if self.rng.once_in(2) => {
                let ms = self.rng.between(30, 70) * DAY;
                self.now_ms += ms;
                self.ops.push(Op::Advance(ms));
                self.ops.push(Op::KeepHouse(node));
            }
            95..97 => {
                let ms = self.rng.between(-5_000, 5_000);
                self.ops.push(Op::Skew(node, ms));
            }
            _ => self.down(node),
        }
    }

    /// The clock is set ahead, something happens there, and it is set back.
    fn excursion(&mut self, node: usize, job: usize) {
        let ms = self.distance().clamp(2 * MINUTE, 5 * DAY);
        if self.rng.once_in(2) {
            // The job ends while the clock is ahead, and has something left when it is set back.
            let end = Some((self.now_ms + ms * 3 / 4) / SECOND);
            let sketch = Sketch { end, on: true, ..self.sketch() };
            self.ops.push(Op::Put(job, sketch));
        }
        self.jump(ms);
        for _ in 0..1 + self.rng.below(4) {
            match self.rng.below(3) {
                0 => self.write(),
                1 => self.ops.push(Op::Tick(node)),
                _ => {
                    let ms = self.rng.between(1, 10) * MINUTE;
                    self.now_ms += ms;
                    self.ops.push(Op::Elapse(ms));
                }
            }
        }
        self.jump(-ms);
        self.ops.push(Op::Repair(node));
    }

    fn jump(&mut self, ms: i64) {
        self.now_ms += ms;
        self.ops.push(Op::Jump(ms));
    }

    /// Something happens in the middle of a tick.
    fn interrupt(&mut self, node: usize, job: usize) {
        let point = self.rng.pick(&[
            Point::Claimed,
            Point::Begun,
            Point::Fired,
            Point::Fired,
            Point::Queued,
            Point::Settled,
        ]);
        // Something should be in flight: either due work is done first, or a run is asked for.
        match self.rng.below(4) {
            0 => self.ops.push(Op::Run(job)),
            1 => {
                self.ops.push(Op::Tick(node));
                self.pass();
            }
            2 => {
                self.put(job);
                self.pass();
            }
            _ => self.pass(),
        }
        self.ops.push(Op::TickTo(node, point));
        for _ in 0..self.rng.below(4) {
            match self.rng.below(9) {
                0 | 1 => self.pass(),
                2 => self.put(job),
                3 => {
                    let change = self.change();
                    self.ops.push(Op::Patch(job, change));
                }
                4 => self.switch(job),
                5 => self.ops.push(Op::Run(job)),
                6 => {
                    let other = self.rng.below(self.nodes);
                    self.ops.push(Op::Tick(other));
                }
                7 if self.rng.once_in(2) => self.ops.push(Op::Delete(job)),
                _ => {
                    self.ops.push(Op::Expire(node));
                    let other = self.rng.below(self.nodes);
                    self.ops.push(Op::Tick(other));
                }
            }
        }
        if self.rng.once_in(3) {
            self.down(node);
        } else {
            self.ops.push(Op::Resume(node));
        }
    }

    fn down(&mut self, node: usize) {
        let op = self.rng.pick(&[Op::Crash(node), Op::CrashAll, Op::Stop(node), Op::Crash(node)]);
        self.ops.push(op);
        if self.rng.once_in(2) {
            self.pass();
        }
        self.ops.push(Op::Restart(node));
    }

    fn switch(&mut self, job: usize) {
        let expected_collection = self.rng.below(COLLECTIONS);
        let max = u32::try_from(self.rng.below(4)).unwrap_or(1) + 1;
        let op = match self.rng.below(20) {
            0..6 => Op::Disable(job),
            6..13 => Op::Enable(job),
            13..15 => Op::CollectionOff(expected_collection),
            15..19 => Op::CollectionOn(expected_collection),
            _ => Op::Quota(expected_collection, max),
        };
        self.ops.push(op);
    }

    fn put(&mut self, job: usize) {
        let sketch = self.sketch();
        self.ops.push(Op::Put(job, sketch));
    }

    fn pass(&mut self) {
        let ms = self.distance();
        self.now_ms += ms;
        self.ops.push(Op::Advance(ms));
    }

    fn distance(&mut self) -> i64 {
        let unit =
            self.rng.pick(&[1, SECOND, 15 * SECOND, MINUTE, MINUTE, 10 * MINUTE, HOUR, HOUR, DAY, 10 * DAY]);
        unit * self.rng.between(1, 5)
    }

    fn sketch(&mut self) -> Sketch {
        let every = (!self.rng.once_in(5)).then(|| self.every());
        Sketch {
            start: self.moment(3),
            every,
            count: self.count(),
            end: if self.rng.once_in(4) { self.moment(1) } else { None },
            on: !self.rng.once_in(6),
            retry: self.retry(),
            errors: self.rng.pick(&[0, 0, 0, 1, 1, 2, 5]),
        }
    }

    fn every(&mut self) -> (i64, Unit) {
        let unit = self.rng.pick(&[
            Unit::Minute,
            Unit::Minute,
            Unit::Hour,
            Unit::Hour,
            Unit::Day,
            Unit::Week,
            Unit::Month,
            Unit::Berlin,
        ]);
        (self.rng.between(1, if unit == Unit::Minute { 20 } else { 3 }), unit)
    }

    fn count(&mut self) -> Option<i64> {
        self.rng.once_in(3).then(|| self.rng.between(1, 4))
    }

    /// A second around now, or none once in `none_once_in` times.
    fn moment(&mut self, none_once_in: usize) -> Option<i64> {
        let far = self.rng.pick(&[60, 3_600, 86_400, 10 * 86_400]);
        let now = self.now_ms.div_euclid(SECOND);
        let at = now + self.rng.between(-far, 2 * far);
        (none_once_in < 2 || !self.rng.once_in(none_once_in)).then_some(at)
    }

    fn retry(&mut self) -> Retry {
        match self.rng.below(4) {
            0 => Retry::Default,
            1 => Retry::Never,
            _ => {
                let seconds = self.rng.pick(&[15, 30, 60, 90, 3_600]);
                Retry::Fixed(seconds, u32::try_from(self.rng.below(4)).unwrap_or(0))
            }
        }
    }

    fn change(&mut self) -> Change {
        match self.rng.below(7) {
            0 => Change::Start(self.moment(3)),
            1 => Change::Every(if self.rng.once_in(4) { None } else { Some(self.every()) }),
            2 => Change::Count(self.count()),
            3 => Change::End(self.moment(3)),
            4 | 5 => Change::Retry(self.retry()),
            _ => Change::Errors(self.rng.pick(&[0, 1, 2])),
        }
    }

    fn answer(&mut self) -> Answer {
        match self.rng.below(6) {
            0 => Answer::Success(self.rng.between(0, 70_000)),
            1..4 => Answer::Failure(self.rng.between(0, 2_000)),
            4 => Answer::Failure(0),
            _ => Answer::Hang,
        }
    }
}
