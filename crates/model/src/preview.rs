//! What a preview of a definition shows: its coming runs with notes, those before, how it ends, and what may surprise.
//!
//! Arithmetic on a timetable, bounded by the number of runs that are asked for.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use punctual_recurrence::{ClockNote, Frequency, MonthlyOccurrence, Rule, Schedule, Start, Timetable};

/// How far ahead a change of the clocks is looked for.
const CLOCK_CHANGE_AHEAD: SignedDuration = SignedDuration::from_hours(366 * 24);

/// The most changes of the clocks that are looked at: two a year, and some zones have four.
const CLOCK_CHANGES_MAX: usize = 4;

/// How far from a change of the clocks an occurrence is that it moves or repeats.
const CLOCK_CHANGE_REACH: SignedDuration = SignedDuration::from_hours(2);

/// The most occurrences that are visited around a change of the clocks: one for each minute.
const AROUND_CHANGE_MAX: usize = 300;

/// The most months between two runs that are looked at, and that a note names.
const MONTHS_BETWEEN_MAX: usize = 48;
const MONTHS_NAMED_MAX: usize = 3;

/// When a job runs, and what that depends on.
#[derive(Clone, Copy, Debug)]
pub struct Timing<'a> {
    /// Its timetable.
    pub timetable: &'a Timetable,
    /// Its rule; none if it runs once.
    pub rule: Option<&'a Rule>,
    /// What the rule is counted from.
    pub start: Start,
    /// The assumed time.
    pub now: Timestamp,
    /// No run is earlier than this, if there is such a bound beside the start.
    pub from: Option<Timestamp>,
    /// How many occurrences were started already, which `count` limits.
    pub started_count: u32,
}

/// The coming runs of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// In order.
    pub runs: Vec<Run>,
    /// Why there are not more.
    pub end: End,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// When it is due.
    pub at: Timestamp,
    /// What is remarkable about it: changes of the clocks, and months before it without a run.
    pub notes: Vec<String>,
}

/// Why a list of runs ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As many as were asked for; there are more.
    Cut,
    /// The rule ends after so many.
    Count(u32),
    /// The end time of the rule is past then.
    AtTime(Timestamp),
    /// The job runs once.
    Once,
    /// There are no more up to the year 9999.
    Never,
}

/// A day that not every month of a rule has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingDay {
    /// A chosen day of the month, counted from the end if it is negative: months without it are passed over.
    Chosen(i64),
    /// The fifth weekday of a month: months without it are passed over.
    Fifth(MonthlyOccurrence),
    /// The day of the start: in a month without it the job runs on the last day.
    OfStart(i8),
}

impl Timing<'_> {
    /// The coming runs, at most `limit`.
    pub fn runs(&self, limit: usize) -> Runs {
        let left = self.timetable.count().map(|count| count.saturating_sub(self.started_count));
        let left = left.map_or(usize::MAX, |left| left as usize);
        let following = std::iter::successors(self.first(), |&at| self.timetable.next_after(at));
        let mut instants: Vec<Timestamp> = following.take(left.min(limit.saturating_add(1))).collect();
        let cut = instants.len() > limit;
        instants.truncate(limit);
        let end = match (self.rule, cut) {
            (_, true) => End::Cut,
            (None, false) => End::Once,
            (Some(rule), false) => match (self.timetable.count(), rule.end_at) {
                (Some(count), _) if instants.len() == left => End::Count(count),
                (_, Some(end_at)) => End::AtTime(end_at),
                (_, None) => End::Never,
            },
        };
        // Months before the start are not passed over: the job is not there yet.
        let begin = self.start.start_at.map_or(self.now, |start_at| start_at.max(self.now));
        Runs { runs: self.noted(&instants, Some(begin)), end }
    }

    /// The last instants before now that the rule yields from its anchor on, in order; at most `limit`. A job that is
    /// put now did not run at them.
    pub fn previous(&self, limit: usize) -> Vec<Run> {
        let anchor_at = self.start.anchor_at();
        let past = self.rule.and_then(|rule| rule.check().ok());
        let past = past.map(|rule| rule.timetable(Start { start_at: Some(anchor_at), put_at: anchor_at }));
        let Some(past) = past else { return Vec::new() };
        let before_that = std::iter::successors(past.last_before(self.now), |&at| past.last_before(at));
        let mut instants: Vec<Timestamp> = before_that.take(limit).collect();
        instants.reverse();
        Timing { timetable: &past, ..*self }.noted(&instants, None)
    }

    /// The next occurrence within a year that a change of the clocks moves or repeats, and what it does to it.
    pub fn next_clock_change(&self) -> Option<(Timestamp, String)> {
        let zone = self.zone();
        let until = self.now.checked_add(CLOCK_CHANGE_AHEAD).ok()?;
        let changes = zone.following(self.now).take(CLOCK_CHANGES_MAX).map(|change| change.timestamp());
        changes.take_while(|&change| change <= until).find_map(|change| {
            let begin = change.checked_sub(CLOCK_CHANGE_REACH).ok()?;
            let begin = self.from.map_or(begin, |from| from.max(begin));
            let end = change.checked_add(CLOCK_CHANGE_REACH).ok()?;
            let around =
                std::iter::successors(self.timetable.at_or_after(begin), |&at| self.timetable.next_after(at));
            let mut around = around.take(AROUND_CHANGE_MAX).take_while(|&at| at <= end);
            around.find_map(|at| Some((at, clock_words(self.timetable.clock_note(at)?))))
        })
    }

    /// A day that the rule chooses and that not every month has.
    pub fn missing_day(&self) -> Option<MissingDay> {
        let rule = self.rule.filter(|rule| rule.frequency >= Frequency::Month)?;
        let nothing = Schedule::default();
        let schedule = rule.schedule.as_ref().unwrap_or(&nothing);
        let shortest = self.months().map(shortest).min().unwrap_or(31);
        let anchor = self.start.anchor_at().to_zoned(self.zone());
        if schedule.month_days.is_empty() && schedule.monthly_occurrences.is_empty() {
            return (i64::from(anchor.day()) > shortest).then_some(MissingDay::OfStart(anchor.day()));
        }
        let day = schedule.month_days.iter().copied().find(|day| day.abs() > shortest);
        let fifth =
            schedule.monthly_occurrences.iter().find(|one| one.occurrence.is_some_and(|nth| nth.abs() == 5));
        day.map(MissingDay::Chosen).or(fifth.copied().map(MissingDay::Fifth))
    }

    /// The zone of the rule.
    pub fn zone(&self) -> TimeZone {
        let name = self.rule.and_then(|rule| rule.time_zone.as_deref());
        name.and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC)
    }

    fn first(&self) -> Option<Timestamp> {
        match (self.from, self.rule) {
            (None, _) => self.timetable.first(),
            (Some(from), Some(_)) => self.timetable.at_or_after(from),
            // A job that runs once and has not run yet: if its time is past, it is due at once.
            (Some(from), None) => self.timetable.first().map(|at| at.max(from)),
        }
    }

    /// Instants with their notes; `begin` stands for the run before the first.
    fn noted(&self, instants: &[Timestamp], begin: Option<Timestamp>) -> Vec<Run> {
        let zone = self.zone();
        let noted = instants.iter().enumerate().map(|(index, &at)| {
            let before = index.checked_sub(1).map(|before| instants[before]);
            let clock = match self.timetable.clock_note(at) {
                Some(note) => Some(clock_words(note)),
                None => before.or(Some(self.now)).and_then(|before| shift_words(before, at, &zone)),
            };
            let months = before.or(begin).and_then(|before| self.months_words(before, at, &zone));
            Run { at, notes: clock.into_iter().chain(months).collect() }
        });
        noted.collect()
    }

    /// The months in which the rule may run.
    fn months(&self) -> impl Iterator<Item = i8> + use<> {
        let chosen: Vec<i64> = self
            .rule
            .and_then(|rule| rule.schedule.as_ref())
            .map(|schedule| schedule.months.clone())
            .unwrap_or_default();
        let of_anchor = self.start.anchor_at().to_zoned(self.zone()).month();
        let yearly = self.rule.is_some_and(|rule| rule.frequency == Frequency::Year);
        (1..=12).filter(move |&month| match (chosen.is_empty(), yearly) {
            (false, _) => chosen.contains(&i64::from(month)),
            (true, true) => month == of_anchor,
            (true, false) => true,
        })
    }

    /// Names the months between two runs that have none of the chosen days. With an interval of one month or year every
    /// chosen month has a run if it has such a day.
    fn months_words(&self, before: Timestamp, at: Timestamp, zone: &TimeZone) -> Option<String> {
        let rule =
            self.rule.filter(|rule| rule.frequency >= Frequency::Month && rule.interval.unwrap_or(1) == 1)?;
        let schedule = rule.schedule.as_ref()?;
        if schedule.month_days.is_empty() && schedule.monthly_occurrences.is_empty() {
            return None;
        }
        let months: Vec<i8> = self.months().collect();
        let month_of = |at: Timestamp| at.to_zoned(zone.clone()).date().first_of_month();
        let last = month_of(at);
        let next = |month: &Date| month.checked_add(jiff::Span::new().months(1)).ok();
        let between = std::iter::successors(next(&month_of(before)), next).take_while(|month| *month < last);
        let between = between.take(MONTHS_BETWEEN_MAX).filter(|month| months.contains(&month.month()));
        let named: Vec<String> = between.map(|month| month.strftime("%B %Y").to_string()).collect();
        let more = named.len().saturating_sub(MONTHS_NAMED_MAX);
        let listed = named.get(..MONTHS_NAMED_MAX.min(named.len()))?.join(", ");
        match (named.len(), more) {
            (0, _) => None,
            (1, _) => Some(format!("{listed} has no such day")),
            (_, 0) => Some(format!("{listed} have no such day")),
            (_, more) => Some(format!("{listed} and {more} more months have no such day")),
        }
    }
}

/// The length of a month in a year in which it is shortest.
fn shortest(month: i8) -> i64 {
    match month {
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn clock_words(note: ClockNote) -> String {
    match note {
        ClockNote::Moved { wall } => format!("{} does not exist: moved past the gap", wall.strftime("%H:%M")),
        ClockNote::FirstOfTwo => "the clocks show this time twice: the first".to_owned(),
        ClockNote::RepeatedHour => "in the hour that the clocks show twice".to_owned(),
    }
}

fn shift_words(before: Timestamp, at: Timestamp, zone: &TimeZone) -> Option<String> {
    let (old, new) = (zone.to_offset(before), zone.to_offset(at));
    if old == new || before >= at {
        return None;
    }
    let direction = if new.seconds() > old.seconds() { "forward" } else { "back" };
    Some(format!("clocks were set {direction} since the last run: UTC{old} to UTC{new}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Shows a preview of a rule that is put at an instant, or began at an earlier one.
    fn with<T>(rule: &Rule, start_at: Option<&str>, now: &str, show: impl Fn(&Timing<'_>) -> T) -> T {
        let start = Start { start_at: start_at.map(at), put_at: at(now) };
        let timetable = rule.check().unwrap().timetable(start);
        show(&Timing {
            timetable: &timetable,
            rule: Some(rule),
            start,
            now: at(now),
            from: None,
            started_count: 0,
        })
    }

    fn monthly(schedule: Schedule) -> Rule {
        Rule { schedule: Some(schedule), ..Rule::every(1, Frequency::Month) }
    }

    fn day(day: i64) -> Rule {
        monthly(Schedule { month_days: vec![day], hours: vec![8], minutes: vec![0], ..Schedule::default() })
    }

    #[test]
    fn a_month_without_the_chosen_day_is_named_by_the_run_after_it() {
        let runs =
            with(&day(31), Some("2027-01-01T00:00:00Z"), "2026-11-15T12:00:00Z", |timing| timing.runs(3));
        let shown: Vec<_> = runs.runs.iter().map(|run| (run.at.to_string(), run.notes.join("; "))).collect();
        let expected = [
            ("2027-01-31T08:00:00Z", ""),
            ("2027-03-31T08:00:00Z", "February 2027 has no such day"),
            ("2027-05-31T08:00:00Z", "April 2027 has no such day"),
        ];
        assert_eq!(shown, expected.map(|(at, note)| (at.to_owned(), note.to_owned())));
        let leap = Rule {
            schedule: Some(Schedule { months: vec![2], month_days: vec![29], ..Schedule::default() }),
            ..Rule::every(1, Frequency::Year)
        };
        let runs = with(&leap, Some("2028-02-01T00:00:00Z"), "2026-11-15T12:00:00Z", |timing| timing.runs(2));
        assert_eq!(runs.runs[0].notes, [""; 0]);
        let note = "February 2029, February 2030, February 2031 have no such day";
        assert_eq!(runs.runs[1].notes, [note]);
    }

    #[test]
    fn a_day_that_some_months_lack_is_told_however_it_was_chosen() {
        let check = |rule: &Rule, start_at: &str, expected: Option<MissingDay>| {
            let found = with(rule, Some(start_at), "2026-11-15T12:00:00Z", |timing| {
                (timing.missing_day(), timing.now)
            })
            .0;
            assert_eq!(found, expected, "{rule:?}");
        };
        let first = "2026-12-01T00:00:00Z";
        check(&day(28), first, None);
        check(&day(29), first, Some(MissingDay::Chosen(29)));
        check(&day(-31), first, Some(MissingDay::Chosen(-31)));
        check(&day(-1), first, None);
        let mut of_summer = day(31);
        of_summer.schedule.as_mut().unwrap().months = vec![7, 8];
        check(&of_summer, first, None);
        of_summer.schedule.as_mut().unwrap().months = vec![6, 7];
        check(&of_summer, first, Some(MissingDay::Chosen(31)));
        let friday = |nth| MonthlyOccurrence { day: punctual_recurrence::Weekday::Friday, occurrence: nth };
        let on = |nth| monthly(Schedule { monthly_occurrences: vec![friday(nth)], ..Schedule::default() });
        check(&on(Some(5)), first, Some(MissingDay::Fifth(friday(Some(5)))));
        check(&on(Some(-1)), first, None);
        check(&on(None), first, None);
        let plain = Rule::every(1, Frequency::Month);
        check(&plain, "2026-12-31T09:00:00Z", Some(MissingDay::OfStart(31)));
        check(&plain, first, None);
        check(&Rule::every(1, Frequency::Year), "2026-12-31T09:00:00Z", None);
        check(&Rule::every(1, Frequency::Year), "2028-02-29T09:00:00Z", Some(MissingDay::OfStart(29)));
        check(&Rule::every(1, Frequency::Week), "2026-12-31T09:00:00Z", None);
    }

    #[test]
    fn the_next_run_that_a_change_of_the_clocks_moves_is_found() {
        let mut rule = Rule::every(1, Frequency::Day);
        rule.schedule = Some(Schedule { hours: vec![2], minutes: vec![30], ..Schedule::default() });
        let change = |rule: &Rule| {
            with(rule, None, "2026-11-15T12:00:00Z", |timing| (timing.next_clock_change(), timing.now)).0
        };
        assert_eq!(change(&rule), None);
        rule.time_zone = Some("Europe/Berlin".to_owned());
        let moved = (at("2027-03-28T01:30:00Z"), "02:30 does not exist: moved past the gap".to_owned());
        assert_eq!(change(&rule), Some(moved));
        rule.schedule = Some(Schedule { hours: vec![9], minutes: vec![0], ..Schedule::default() });
        assert_eq!(change(&rule), None);
        let minutely = Rule { time_zone: Some("Europe/Berlin".to_owned()), ..monthly(Schedule::default()) };
        let minutely = Rule {
            frequency: Frequency::Minute,
            schedule: Some(Schedule { minutes: (0..60).collect(), ..Schedule::default() }),
            ..minutely
        };
        let repeated = change(&minutely).map(|(at, note)| (at.to_string(), note));
        let note = "in the hour that the clocks show twice";
        assert_eq!(repeated, Some(("2027-10-31T00:00:00Z".to_owned(), note.to_owned())));
    }

    #[test]
    fn instants_before_now_are_those_of_the_rule_from_its_anchor_on() {
        let daily = Rule::every(1, Frequency::Day);
        let previous = |rule: &Rule, start_at: Option<&str>| -> Vec<String> {
            let runs = with(rule, start_at, "2026-11-15T12:00:00Z", |timing| timing.previous(2));
            runs.iter().map(|run| run.at.to_string()).collect()
        };
        assert_eq!(
            previous(&daily, Some("1999-01-01T12:00:00Z")),
            ["2026-11-13T12:00:00Z", "2026-11-14T12:00:00Z"]
        );
        assert_eq!(previous(&daily, Some("2026-11-14T12:30:00Z")), ["2026-11-14T12:30:00Z"]);
        assert_eq!(previous(&daily, Some("2027-01-01T12:00:00Z")), [""; 0]);
        assert_eq!(previous(&daily, None), [""; 0]);
    }

    #[test]
    fn a_job_that_goes_on_has_what_count_leaves_it() {
        let rule = Rule { count: Some(5), ..Rule::every(1, Frequency::Day) };
        let start = Start { start_at: Some(at("2026-11-12T12:00:00Z")), put_at: at("2026-11-12T00:00:00Z") };
        let timetable = rule.check().unwrap().timetable(start);
        let now = at("2026-11-14T13:00:00Z");
        let timing = Timing {
            timetable: &timetable,
            rule: Some(&rule),
            start,
            now,
            from: Some(now),
            started_count: 3,
        };
        let runs = timing.runs(9);
        assert_eq!((runs.runs.len(), runs.runs[0].at), (2, at("2026-11-15T12:00:00Z")));
        assert_eq!(runs.end, End::Count(5));
        let spent = Timing { started_count: 5, ..timing }.runs(9);
        assert_eq!((spent.runs, spent.end), (Vec::new(), End::Count(5)));
        let once = Timetable::once(start);
        let late = Timing { timetable: &once, rule: None, started_count: 0, ..timing };
        assert_eq!(late.runs(9).runs[0].at, now);
        assert_eq!(Timing { started_count: 1, ..late }.runs(9).runs, []);
    }
}
