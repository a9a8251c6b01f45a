//! What callers do while the server is killed again and again, and what is seen of it.

use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use punctual_model::{CollectionKey, JobState, Sku};
use punctual_sim::evidence::{ApiCall, CallKind, Delivery, Evidence, JobEvidence, JobView, Life};
use punctual_sim::rng::Rng;
use serde_json::Value;

use super::caller::{exchange, view};
use super::definition::{Definition, SealContext, place_of, succeeds};
use super::{Clock, SLACK, history};
use crate::receiver::Hit;
use crate::scheduler::start_at;
use crate::server::Server;

/// The plan allows a thousand jobs.
const ONCE_MAX: usize = 400;

/// Callers and what they know.
pub(crate) struct Load {
    pub(crate) clock: Clock,
    pub(crate) evidence: Evidence,
    /// How long each life took to say that it listens: its clock is behind ours by no more than that.
    pub(crate) delays: Vec<SignedDuration>,
    pub(crate) known: Vec<Known>,
    pub(crate) rng: Rng,
    /// The store may fail, and whoever is told so can't know whether a call was carried out.
    pub(crate) expects_trouble: bool,
    collection: &'static str,
    url: String,
    once_count: usize,
}

/// What the callers know of a job.
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// All definitions, by the index of the evidence.
    pub(crate) definitions: Vec<Definition>,
    /// The one that it has.
    spec: usize,
    /// A call was not answered: what became of it must be looked up first.
    pub(crate) unclear: bool,
    /// A run was not answered. Of two of them nobody could say which one was made, so no other is asked for as long as
    /// the same nodes are there.
    run_unclear: bool,
    pub(crate) gone: bool,
}

/// What is done to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It runs by its schedule.
    Left,
    /// It is changed, switched and run.
    Edited,
    /// It is deleted some time.
    Doomed,
    /// It ends by itself.
    Ending,
}

impl Load {
    pub(crate) fn new(seed: u64, clock: Clock, collection: &'static str, url: String) -> Self {
        let slack = SignedDuration::try_from(SLACK * clock.speed).unwrap();
        let evidence = Evidence { slack, ..Evidence::default() };
        Self {
            clock,
            evidence,
            delays: Vec::new(),
            known: Vec::new(),
            rng: Rng::new(seed),
            expects_trouble: false,
            collection,
            url,
            once_count: 0,
        }
    }

    /// A process is started; the time on its clock.
    pub(crate) fn begin_life(&mut self) -> Timestamp {
        let from = self.clock.now();
        self.evidence.lives.push(Life { from, to: from, killed: false });
        self.delays.push(SignedDuration::ZERO);
        from
    }

    /// A process is started that fires nothing, on a clock that goes slower than ours.
    pub(crate) fn begin_quiet_life(&mut self) {
        self.evidence.lives.push(Life { from: start_at(), to: start_at(), killed: false });
        self.delays.push(SignedDuration::MAX);
    }

    /// The process says that it listens.
    pub(crate) fn note_ready(&mut self) {
        let delay = self.clock.now().duration_since(self.life().from);
        *self.delays.last_mut().unwrap() = delay;
    }

    /// The process has ended.
    pub(crate) fn end_life(&mut self, killed: bool, was_ready: bool) {
        if !was_ready {
            self.note_ready();
        }
        let to = self.clock.now();
        let life = self.evidence.lives.len() - 1;
        self.known.iter_mut().for_each(|known| known.run_unclear = false);
        let ended = self.evidence.lives.last_mut().unwrap();
        (ended.to, ended.killed) = (to, killed);
        // Whatever was not answered was carried out before the end, or not at all.
        for job in &mut self.evidence.jobs {
            for ask in
                job.calls.iter_mut().rev().take_while(|ask| ask.life == life).filter(|ask| !ask.answered)
            {
                ask.to = to;
            }
        }
    }

    fn life(&self) -> &Life {
        self.evidence.lives.last().unwrap()
    }

    /// On the clock of the server it is not earlier than this.
    fn earliest(&self) -> Timestamp {
        let delay = *self.delays.last().unwrap();
        self.clock.now().saturating_sub(delay).unwrap().max(self.life().from)
    }

    fn path(&self, job: usize, below: &str) -> String {
        Server::path(&format!("/{}/jobs/{}{below}", self.collection, self.known[job].name))
    }

    /// Asks for something and notes what came of it; the status of the answer if there was one.
    fn ask(
        &mut self,
        address: &str,
        job: usize,
        what: CallKind,
        body: Option<&Value>,
    ) -> Option<(u16, Value)> {
        let (method, below) = match what {
            CallKind::Put(_) => ("PUT", ""),
            CallKind::Patch(_) => ("PATCH", ""),
            CallKind::Run => ("POST", "/run"),
            CallKind::Delete => ("DELETE", ""),
            CallKind::Look => ("GET", ""),
        };
        let (life, from) = (self.evidence.lives.len() - 1, self.earliest());
        let told = |answer: &(u16, Value)| answer.0 < 500 || !self.expects_trouble;
        let answer = exchange(address, method, &self.path(job, below), body).filter(told);
        let to = self.clock.now();
        let refused = answer.as_ref().is_some_and(|(status, _)| *status >= 400);
        let nothing_seen = what == CallKind::Look && answer.is_none();
        if !refused && !nothing_seen {
            let shown = answer
                .as_ref()
                .filter(|(_, body)| body["properties"].is_object())
                .map(|(_, body)| view(body));
            self.evidence.jobs[job].calls.push(ApiCall {
                life,
                from,
                to,
                what,
                answered: answer.is_some(),
                shown,
            });
        }
        self.known[job].unclear |= answer.is_none() && what != CallKind::Look;
        self.known[job].run_unclear |= answer.is_none() && what == CallKind::Run;
        answer
    }

    /// Makes a job.
    pub(crate) fn make(&mut self, address: &str, name: String, role: Role, definition: Definition) -> bool {
        let job = self.known.len();
        let place = SealContext { url: &self.url, job, spec: 0 };
        let (body, spec) = (definition.body(&place), definition.spec(&place));
        self.evidence.jobs.push(JobEvidence {
            key: CollectionKey::new("s1", "g1", self.collection).job(name.clone()),
            sku: Sku::P20Premium,
            specs: vec![spec],
            calls: Vec::new(),
            deliveries: Vec::new(),
            records: None,
            earlier_records: Vec::new(),
            skipped: Vec::new(),
            made: Vec::new(),
        });
        let definitions = vec![definition];
        self.known.push(Known {
            name,
            role,
            definitions,
            spec: 0,
            unclear: false,
            run_unclear: false,
            gone: false,
        });
        let answer = self.ask(address, job, CallKind::Put(0), Some(&body));
        if let Some((status, body)) = &answer {
            assert!([200, 201].contains(status), "{body}");
        }
        answer.is_some()
    }

    /// Gives a job another definition, by PUT or PATCH.
    pub(crate) fn write(
        &mut self,
        address: &str,
        job: usize,
        put: bool,
        change: impl FnOnce(&mut Definition),
    ) -> bool {
        let mut definition = self.known[job].definitions[self.known[job].spec];
        change(&mut definition);
        let spec = self.known[job].definitions.len();
        let place = SealContext { url: &self.url, job, spec };
        let (body, of_ledger) = (definition.body(&place), definition.spec(&place));
        self.evidence.jobs[job].specs.push(of_ledger);
        self.known[job].definitions.push(definition);
        let what = if put { CallKind::Put(spec) } else { CallKind::Patch(spec) };
        let answer = self.ask(address, job, what, Some(&body));
        let refused = answer.as_ref().is_some_and(|(status, _)| *status == 409);
        if let Some((status, body)) = answer.filter(|_| !refused) {
            assert_eq!(status, 200, "{body}");
            self.known[job].spec = spec;
        }
        !self.known[job].unclear
    }

    pub(crate) fn run(&mut self, address: &str, job: usize) -> bool {
        if self.known[job].run_unclear {
            return false;
        }
        let answer = self.ask(address, job, CallKind::Run, None);
        // Too many wait already.
        answer.as_ref().is_none_or(|(status, _)| [200, 429].contains(status)) && answer.is_some()
    }

    fn delete_one(&mut self, address: &str) {
        let doomed: Vec<usize> = self.with_role(Role::Doomed);
        if doomed.is_empty() {
            return;
        }
        let job = self.rng.pick(&doomed);
        if let Some((status, body)) = self.ask(address, job, CallKind::Delete, None) {
            assert_eq!(status, 200, "{body}");
            self.known[job].gone = true;
        }
    }

    /// The jobs that are there and have a role.
    fn with_role(&self, role: Role) -> Vec<usize> {
        let wanted = |job: &usize| self.known[*job].role == role && !self.known[*job].gone;
        (0..self.known.len()).filter(wanted).collect()
    }

    /// Looks at a job, and finds out what became of a call that was not answered. False if there was no answer.
    pub(crate) fn look(&mut self, address: &str, job: usize) -> Option<Option<JobView>> {
        let (status, body) = self.ask(address, job, CallKind::Look, None)?;
        let found = (status == 200).then(|| view(&body));
        let calls = &mut self.evidence.jobs[job].calls;
        // The last that was not answered; before what was just seen.
        let unclear = calls.iter().rposition(|ask| !ask.answered).filter(|_| self.known[job].unclear);
        let what = unclear.map(|unclear| calls[unclear].what);
        match (found, what) {
            (Some(found), Some(CallKind::Delete)) => {
                calls.remove(unclear.unwrap());
                self.known[job].spec = found.spec;
            }
            (Some(found), _) => {
                if unclear == Some(0) {
                    calls[0].answered = true;
                }
                self.known[job].spec = found.spec;
            }
            (None, Some(CallKind::Delete)) => {
                calls[unclear.unwrap()].answered = true;
                self.known[job].gone = true;
            }
            // It was never made.
            (None, Some(CallKind::Put(0))) => {
                calls.clear();
                self.known[job].gone = true;
            }
            (None, _) => panic!("{} was acknowledged and is gone", self.known[job].name),
        }
        self.known[job].unclear = false;
        Some(found)
    }

    /// Does something to some job.
    pub(crate) fn disturb(&mut self, address: &str) {
        if let Some(job) = self.known.iter().position(|job| job.unclear) {
            self.look(address, job);
            return;
        }
        let there: Vec<usize> = (0..self.known.len()).filter(|job| !self.known[*job].gone).collect();
        let job = self.rng.pick(&there);
        match self.rng.below(16) {
            0 if self.once_count < ONCE_MAX => self.make_once(address),
            1 => self.make_doomed(address),
            2 => self.delete_one(address),
            3 | 4 => drop(self.look(address, job)),
            5 => self.look_at_history(address, job),
            _ => self.edit(address),
        }
    }

    fn make_once(&mut self, address: &str) {
        let kind = self.rng.pick(&["ok", "ok", "flaky", "fail"]);
        let errors = self.rng.pick(&[0, 1, 2]);
        let definition =
            Definition { kind, start_at: None, minutes: None, count: None, retry_count: 1, errors, on: true };
        self.once_count += 1;
        self.make(address, format!("once-{}", self.once_count), Role::Ending, definition);
    }

    fn make_doomed(&mut self, address: &str) {
        // A few names, used again and again.
        let name = format!("doomed-{}", self.rng.below(4));
        if self.known.iter().any(|known| known.name == name && !known.gone) {
            return;
        }
        let start_at = Some(whole(self.clock.now()) + SignedDuration::from_secs(20));
        let definition = Definition {
            kind: "flaky",
            start_at,
            minutes: Some(1),
            count: None,
            retry_count: 1,
            errors: 0,
            on: true,
        };
        self.make(address, name, Role::Doomed, definition);
    }

    fn edit(&mut self, address: &str) {
        let edited = self.with_role(Role::Edited);
        let job = self.rng.pick(&edited);
        let number: u8 = self.rng.pick(&[0, 1, 2]);
        let at = whole(self.clock.now());
        match self.rng.below(8) {
            0 | 1 => self.write(address, job, false, |definition| definition.on = !definition.on),
            2 => self.write(address, job, false, |definition| definition.retry_count = number.into()),
            3 => self.write(address, job, false, |definition| definition.errors = number),
            4 => {
                self.write(address, job, false, |definition| definition.minutes = Some(i64::from(number) + 1))
            }
            5 => self.write(address, job, true, |definition| {
                definition.start_at = Some(at + SignedDuration::from_secs(i64::from(number) * 30));
                definition.on = true;
            }),
            _ => self.run(address, job),
        };
    }

    /// Reads a page of the history, to be compared with what it is at the end.
    fn look_at_history(&mut self, address: &str, job: usize) {
        let path = self.path(job, "/history?$top=100");
        if let Some((200, body)) = exchange(address, "GET", &path, None) {
            self.evidence.jobs[job].earlier_records.extend(history::read(&body));
        }
    }

    /// Everything comes to an end: what recurs is switched off and does nothing but one last run, behind which
    /// no other waits.
    pub(crate) fn calm_down(&mut self, address: &str) {
        for job in 0..self.known.len() {
            while self.known[job].unclear {
                self.look(address, job).expect("nobody kills it any more");
            }
            let Known { gone, role, .. } = self.known[job];
            if gone || role == Role::Ending {
                continue;
            }
            let calm = |definition: &mut Definition| {
                (definition.on, definition.kind) = (false, "ok");
                (definition.retry_count, definition.errors) = (0, 0);
            };
            self.write(address, job, false, calm);
        }
        for job in 0..self.known.len() {
            if self.known[job].role == Role::Edited {
                self.run_to_the_end(address, job);
            }
        }
        for job in 0..self.known.len() {
            if self.known[job].role == Role::Ending && !self.known[job].gone {
                let ended = |state: JobState| state.is_final();
                crate::scheduler::wait_for(&format!("{} has ended", self.known[job].name), || {
                    let (_, body) = exchange(address, "GET", &self.path(job, ""), None)?;
                    Some(()).filter(|()| ended(view(&body).state))
                });
            }
        }
    }

    fn run_to_the_end(&mut self, address: &str, job: usize) {
        let from = self.earliest();
        crate::scheduler::wait_for("a run is taken", || {
            let answer = self.ask(address, job, CallKind::Run, None)?;
            (answer.0 == 200).then_some(())
        });
        let path = self.path(job, "/history?$top=1");
        crate::scheduler::wait_for(&format!("{} has run for the last time", self.known[job].name), || {
            let (_, body) = exchange(address, "GET", &path, None)?;
            history::read(&body)
                .first()
                .filter(|record| record.nominal_at >= from && record.nominal_at.subsec_nanosecond() != 0)
                .map(|_| ())
        });
    }

    /// The jobs of the beginning.
    pub(crate) fn populate(&mut self, address: &str) {
        let of = |kind, minutes, retry_count, errors| Definition {
            kind,
            start_at: None,
            minutes: Some(minutes),
            count: None,
            retry_count,
            errors,
            on: true,
        };
        let roles = [
            (18, "steady", Role::Left, of("ok", 1, 2, 0)),
            (9, "flaky", Role::Left, of("flaky", 1, 2, 0)),
            (4, "failing", Role::Left, of("fail", 2, 1, 2)),
            // Longer than the pause between two: they overlap.
            (3, "overlapping", Role::Left, of("fail", 1, 5, 1)),
            (4, "counting", Role::Ending, Definition { count: Some(12), ..of("flaky", 1, 1, 0) }),
            (6, "edited", Role::Edited, of("flaky", 1, 1, 1)),
        ];
        self.populate_with(address, start_at() + SignedDuration::from_mins(1), &roles);
    }

    /// Makes so many jobs of each kind, which begin at an instant and in the minute behind it.
    pub(crate) fn populate_with(
        &mut self,
        address: &str,
        from: Timestamp,
        roles: &[(i64, &str, Role, Definition)],
    ) {
        for &(count, name, role, definition) in roles {
            for index in 0..count {
                let start_at = from + SignedDuration::from_secs(index * 60 / count);
                let definition = Definition { start_at: Some(start_at), ..definition };
                assert!(self.make(address, format!("{name}-{index}"), role, definition));
            }
        }
    }

    /// Notes what arrived, of an attempt that began between two instants.
    pub(crate) fn note_delivery(&mut self, hit: &Hit, life: usize, from: Timestamp, to: Timestamp) {
        let (job, spec, step) = place_of(&hit.path);
        assert_eq!(hit.job(), self.known[job].name, "{hit:?}");
        let (attempt, expected_at, tag) = (hit.attempt(), hit.expected_at(), hit.tag().to_owned());
        let succeeds = succeeds(hit);
        let delivery = Delivery { life, from, to, spec, step, attempt, expected_at, tag, succeeds };
        self.evidence.jobs[job].deliveries.push(delivery);
    }

    /// Reads what is shown of all jobs when all is over.
    pub(crate) fn collect_history(&mut self, address: &str, from: Timestamp, end: Timestamp) {
        for job in 0..self.known.len() {
            if self.known[job].gone {
                continue;
            }
            let found = self.look(address, job).expect("it answers");
            assert!(found.is_some(), "{} is there", self.known[job].name);
            history::collect(address, &mut self.evidence.jobs[job], from, end);
        }
    }

    /// When something arrived, on the clock of the server.
    pub(crate) fn arrival(&self, arrived: Instant, started: &[Instant]) -> (usize, Timestamp, Timestamp) {
        let life = started.iter().rposition(|started| *started <= arrived).expect("somebody sent it");
        let to = self.clock.at(arrived);
        let from = to - self.delays[life] - self.evidence.slack;
        (life, from.max(self.evidence.lives[life].from), to)
    }
}

pub(crate) fn whole(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap()
}
