//! What was seen of a job as a list to read, in order of time.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::{JobEvidence, Life};

impl JobEvidence {
    /// All that was seen of the job, one line per event.
    pub fn story(&self, lives: &[Life]) -> String {
        let mut lines: Vec<(Timestamp, String)> = Vec::new();
        for (index, life) in lives.iter().enumerate() {
            lines.push((life.from, format!("life {index} begins")));
            lines.push((life.to, format!("life {index} ends, killed: {}", life.killed)));
        }
        for ask in &self.calls {
            let answered = if ask.answered { "" } else { ", not answered" };
            lines.push((ask.from, format!("{:?} until {}{answered}; {:?}", ask.what, ask.to, ask.shown)));
        }
        for delivery in &self.deliveries {
            let super::Delivery { to, spec, step, attempt, expected_at, succeeds, .. } = delivery;
            let text = format!("delivered {expected_at} step {step} attempt {attempt} by {spec}: {succeeds}");
            lines.push((*to, text));
        }
        for record in self.records.iter().flatten() {
            let super::SeenRecord { sequence, nominal_at, ended_at, status, attempt, ordinal, .. } = record;
            let text = format!(
                "record {sequence} of {nominal_at} attempt {attempt} until {ended_at}: {status:?} {ordinal}"
            );
            lines.push((record.started_at, text));
        }
        lines.extend(self.skipped.iter().map(|(at, reason)| (*at, format!("skipped: {reason:?}"))));
        lines.sort();
        let mut story = format!("{}\n", self.key.name);
        for (at, text) in lines {
            let _ = writeln!(story, "{at} {text}");
        }
        story
    }
}
