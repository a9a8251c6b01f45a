//! What the watch says of clocks that are set.

use super::*;

const HOLD: Duration = Duration::from_secs(10);
const DAY: i64 = 86_400;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

/// A watch, the time since the machine was started, and by how much its clock was set.
struct Machine {
    watch: ClockWatch,
    boot: u64,
    set_by: i64,
}

impl Machine {
    fn new() -> Self {
        let first = ClockReading { wall: at(0), boot: Duration::ZERO };
        Self { watch: ClockWatch::new(HOLD, first), boot: 0, set_by: 0 }
    }

    fn reading(&self) -> ClockReading {
        ClockReading { wall: at(self.boot.cast_signed() + self.set_by), boot: Duration::from_secs(self.boot) }
    }

    /// So many seconds later the clock was set by so many; what is believed, in seconds.
    fn look(&mut self, pass: u64, set_by: i64) -> i64 {
        self.boot += pass;
        self.set_by += set_by;
        self.watch.believe(self.reading()).duration_since(at(0)).as_secs()
    }

    fn events(&self) -> Vec<(ClockEvent, i64)> {
        self.watch.news(0).iter().map(|news| (news.event, news.by.as_secs())).collect()
    }
}

#[test]
fn a_step_forward_stops_the_time_until_it_is_accepted() {
    let mut machine = Machine::new();
    assert_eq!(machine.look(5, 5 * DAY), 5);
    assert_eq!(machine.watch.held().map(|by| by.as_secs()), Some(5 * DAY));
    assert_eq!(machine.look(9, 0), 5);
    assert_eq!(machine.look(1, 0), 15 + 5 * DAY);
    assert_eq!(machine.watch.held(), None);
    assert_eq!(machine.look(1, 0), 16 + 5 * DAY);
    assert_eq!(machine.events(), [(ClockEvent::Held, 5 * DAY), (ClockEvent::Forward, 5 * DAY)]);
    assert_eq!(machine.watch.news(1).len(), 1);
}

#[test]
fn a_step_forward_that_is_taken_back_in_time_has_not_happened() {
    let mut machine = Machine::new();
    machine.look(5, 5 * DAY);
    assert_eq!(machine.look(3, -5 * DAY), 8);
    assert_eq!(machine.look(20, 0), 28);
    assert_eq!(machine.events(), [(ClockEvent::Held, 5 * DAY), (ClockEvent::Returned, 0)]);
    let mut machine = Machine::new();
    machine.look(5, 5 * DAY);
    assert_eq!(machine.look(3, -6 * DAY), 8 - DAY, "further back than it came from");
    let events = [(ClockEvent::Held, 5 * DAY), (ClockEvent::Returned, -DAY), (ClockEvent::Back, -DAY)];
    assert_eq!(machine.events(), events);
}

#[test]
fn the_hold_begins_anew_with_each_step() {
    let mut machine = Machine::new();
    machine.look(5, DAY);
    assert_eq!(machine.look(9, DAY), 5);
    assert_eq!(machine.look(9, 0), 5);
    assert_eq!(machine.look(1, 0), 24 + 2 * DAY);
}

#[test]
fn a_step_back_is_believed_at_once() {
    let mut machine = Machine::new();
    assert_eq!(machine.look(5, -DAY), 5 - DAY);
    assert_eq!(machine.look(5, 0), 10 - DAY);
    assert_eq!(machine.events(), [(ClockEvent::Back, -DAY)]);
}

#[test]
fn small_steps_drift_and_suspension_are_no_events() {
    let mut machine = Machine::new();
    assert_eq!(machine.look(5, 60), 65);
    assert_eq!(machine.look(5, -1), 69);
    // Suspended for a week: both clocks went on.
    assert_eq!(machine.look(7 * DAY.unsigned_abs(), 0), 69 + 7 * DAY);
    // Slewed back by a second in two, for an hour.
    for _ in 0..1_800 {
        machine.look(2, -1);
    }
    assert_eq!(machine.events(), []);
}

#[test]
fn without_a_hold_a_step_forward_is_accepted_and_told() {
    let mut machine = Machine::new();
    machine.watch = ClockWatch::new(Duration::ZERO, machine.reading());
    assert_eq!(machine.look(5, DAY), 5 + DAY);
    assert_eq!(machine.events(), [(ClockEvent::Forward, DAY)]);
}

#[test]
fn a_reading_that_comes_late_is_no_step() {
    let mut machine = Machine::new();
    machine.look(100, 0);
    let late = machine.reading();
    assert_eq!(machine.look(1, -DAY), 101 - DAY);
    assert_eq!(machine.watch.believe(late), at(100 - DAY));
    assert_eq!(machine.look(1, 0), 102 - DAY);
    assert_eq!(machine.events(), [(ClockEvent::Back, -DAY)]);
}

#[test]
fn nothing_gets_old_by_a_step_forward_for_a_day() {
    let mut machine = Machine::new();
    let housekeeping = |machine: &mut Machine, pass, set_by| {
        let now = machine.look(pass, set_by);
        machine.watch.time_for_housekeeping(at(now)).map(|time| time.duration_since(at(0)).as_secs())
    };
    assert_eq!(housekeeping(&mut machine, 599, 0), None, "right after a start nobody knows");
    assert_eq!(housekeeping(&mut machine, 1, 0), Some(600));
    assert_eq!(housekeeping(&mut machine, 0, 5 * DAY), None, "held");
    assert_eq!(housekeeping(&mut machine, 10, 0), Some(610));
    assert_eq!(housekeeping(&mut machine, 3_600, 0), Some(4_210));
    let back = housekeeping(&mut machine, 3_600, -5 * DAY);
    assert_eq!(back, Some(7_810));
    assert_eq!(housekeeping(&mut machine, 10, 9 * DAY), None);
    assert_eq!(housekeeping(&mut machine, 10, 0), Some(7_830));
    assert_eq!(housekeeping(&mut machine, DAY.unsigned_abs(), 0), Some(7_830 + 10 * DAY));
}

#[test]
fn a_clock_that_never_rests_is_remembered_by_its_last_steps() {
    let mut machine = Machine::new();
    for _ in 0..500 {
        machine.look(1, -10);
    }
    let news = machine.watch.news(0);
    assert_eq!((news.len(), news.last().map(|news| news.number)), (NEWS_MAX, Some(500)));
}
