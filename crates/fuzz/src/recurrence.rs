//! Recurrences: what is accepted is walked in order, and every search ends.

use jiff::Timestamp;
use punctual_arm::read_preview;
use punctual_recurrence::{Start, Timetable};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice(bytes) else { return };
    let Ok(job) = read_preview(&value) else { return };
    let put_at = job.now.unwrap_or(Timestamp::UNIX_EPOCH);
    let start = Start { start_at: job.start_at, put_at };
    let timetable = match &job.rule {
        None => Timetable::once(start),
        Some(rule) => rule.check().expect("what was read was checked").timetable(start),
    };
    walk(&timetable);
}

/// The first occurrences come in order, and everything that asks for them agrees.
pub(crate) fn walk(timetable: &Timetable) {
    assert!(!timetable.describe().is_empty());
    let mut last: Option<Timestamp> = None;
    for at in timetable.occurrences().take(5) {
        assert!(last.is_none_or(|last| last < at), "{at} follows {last:?}");
        assert!(timetable.contains(at), "{at}");
        assert_eq!(timetable.at_or_after(at), Some(at));
        if let Some(last) = last {
            assert_eq!(timetable.next_after(last), Some(at), "after {last}");
        }
        let _ = timetable.clock_note(at);
        last = Some(at);
    }
    assert_eq!(timetable.first(), timetable.occurrences().next());
}
