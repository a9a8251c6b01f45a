//! File descriptors: how many the process may have, and how many of them callers may take.
//!
//! Every connection takes one, those of callers and those of actions alike. If callers could take all, whoever opens
//! enough connections and says nothing would keep jobs from firing.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the process itself needs: the database, its listeners, the runtime, standard streams, files that are read.
const OWN: usize = 64;

/// The part of the rest that callers may take; what is left is for firing.
const PART_OF_CALLERS: usize = 4;

/// The part of the rest that a small listener may take: that for probes and scrapers, and the echo target.
const PART_OF_SMALL: usize = 16;

/// More than any of these needs.
const SMALL_MAX: usize = 64;

/// How many connections may be open at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// To callers of the API.
    pub(super) callers: usize,
    /// To probes and scrapers.
    pub(super) monitoring: usize,
    /// To the echo target.
    pub(super) echo: usize,
}

impl Share {
    /// Divides what the process may open; callers may want less.
    pub(super) fn of(limit: usize, callers_max: usize) -> Self {
        let free = limit.saturating_sub(OWN);
        let small = (free / PART_OF_SMALL).clamp(1, SMALL_MAX);
        Self { callers: (free / PART_OF_CALLERS).min(callers_max).max(1), monitoring: small, echo: small }
    }
}

/// How many descriptors the process may have. The usual soft limit is 1024, which is few: raises it to the hard limit.
pub(super) fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::warn!(%error, "could not raise the number of open files");
            limit.current
        }
    };
    // None means that there is no limit.
    current.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_get_a_quarter_of_what_is_free_and_never_more_than_is_set() {
        let check = |limit, wanted, callers, small| {
            let expected = Share { callers, monitoring: small, echo: small };
            assert_eq!(Share::of(limit, wanted), expected, "{limit} {wanted}");
        };
        check(200, 4096, 34, 8);
        check(1024, 4096, 240, 60);
        check(524_288, 4096, 4096, 64);
        check(usize::MAX, 100, 100, 64);
        check(10, 4096, 1, 1);
        check(1024, 0, 1, 60);
    }
}
