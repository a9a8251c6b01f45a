//! The values of labels, and the position of each. There are few of them, and none is made of what users write.

use punctual_model::{ActionKind, Outcome, OutcomeKind, SkipReason};

/// The kinds of actions.
pub(crate) const ACTIONS: [&str; 4] = ["http", "storage-queue", "service-bus-queue", "service-bus-topic"];

pub(crate) fn action(kind: &ActionKind) -> usize {
    match kind {
        ActionKind::Http(_) => 0,
        ActionKind::StorageQueue(_) => 1,
        ActionKind::ServiceBusQueue(_) => 2,
        ActionKind::ServiceBusTopic(_) => 3,
    }
}

/// Whether an attempt is of the main action or of an error action.
pub(crate) const STEPS: [&str; 2] = ["main", "error"];

/// Whether an attempt is the first of its step.
pub(crate) const TRIES: [&str; 2] = ["first", "retry"];

/// How an attempt ends.
pub(crate) const OUTCOMES: [&str; 2] = ["succeeded", "failed"];

/// Why attempts fail: the class of the HTTP status, or the word that log and history have. All others are `Other`.
pub(crate) const FAILURES: [&str; 20] = [
    "3xx",
    "4xx",
    "5xx",
    "Timeout",
    "NameResolutionFailure",
    "ConnectFailure",
    "SecureChannelFailure",
    "TrustFailure",
    "ReceiveFailure",
    "ServerProtocolViolation",
    "ProtocolError",
    "UnauthorizedAccess",
    "QueueNotFound",
    "AccountNotFound",
    "MessagingCommunication",
    "MessagingEntityNotFound",
    "MessagingException",
    "ServerBusy",
    "InternalError",
    "Other",
];

pub(crate) fn failure(outcome: &Outcome) -> usize {
    let other = FAILURES.len() - 1;
    match outcome.kind {
        OutcomeKind::Status(status @ 300..=599) => usize::from(status / 100 - 3),
        OutcomeKind::Status(_) => other,
        OutcomeKind::Word(word) => FAILURES.iter().position(|known| *known == word).unwrap_or(other),
    }
}

/// Why occurrences are skipped.
pub(crate) const SKIPS: [&str; 2] = ["overlap", "missed"];

pub(crate) fn skip(reason: SkipReason) -> usize {
    match reason {
        SkipReason::Overlap => 0,
        SkipReason::Missed => 1,
    }
}

/// How claims end.
pub(crate) const CLAIM_ENDS: [&str; 5] = ["settled", "given-back", "taken-back", "deleted", "fenced"];

/// The classes of HTTP statuses that the API answers with.
pub(crate) const STATUSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

pub(crate) fn status(status: u16) -> usize {
    usize::from((status / 100).clamp(2, 5) - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_counted_by_its_word_or_the_class_of_its_status() {
        let check = |kind, expected| {
            let outcome = Outcome { succeeded: false, kind, message: String::new() };
            assert_eq!(FAILURES[failure(&outcome)], expected);
        };
        check(OutcomeKind::Status(302), "3xx");
        check(OutcomeKind::Status(404), "4xx");
        check(OutcomeKind::Status(599), "5xx");
        check(OutcomeKind::Status(200), "Other");
        check(OutcomeKind::Status(u16::MAX), "Other");
        check(OutcomeKind::Word("Timeout"), "Timeout");
        check(OutcomeKind::Word("SomethingNew"), "Other");
    }

    #[test]
    fn a_status_has_a_class_whatever_it_is() {
        let check = |code, expected| assert_eq!(STATUSES[status(code)], expected, "{code}");
        check(0, "2xx");
        check(200, "2xx");
        check(304, "3xx");
        check(429, "4xx");
        check(507, "5xx");
        check(u16::MAX, "5xx");
    }
}
