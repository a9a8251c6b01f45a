//! Client dialects: which client reads durations in which form, and which misspelt name.
//!
//! The real service wrote .NET TimeSpans and `occurrence`. Two Python clients were generated from a
//! description that says otherwise:
//!
//! | client | `User-Agent` contains | reads durations |
//! |---|---|---|
//! | 7.x | `azsdk-python-mgmt-scheduler/` | ISO 8601 only |
//! | 1.x, 2.x | `azure-mgmt-scheduler/` | TimeSpans, but in `jobs.list` ISO 8601 only |
//!
//! The older one has another quirk: it reads the days of a TimeSpan as months of 30 days, and writes them so.
//! It must read a listed job like a single one, or the interval of a job that is listed and put back would be
//! multiplied by 30.
//!
//! Both read `Occurrence` and nothing else. With `occurrence` they would lose it when they read, modify and
//! write.

use jiff::SignedDuration;

use crate::time;

/// The spelling of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    durations: Durations,
    capital_occurrence: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Durations {
    #[default]
    TimeSpan,
    Iso,
    /// ISO 8601 of how the older Python client reads a TimeSpan.
    IsoOfMonths,
}

/// The older Python client reads this many days as a month.
const DAYS_PER_MONTH: i64 = 30;

impl Dialect {
    /// The dialect of a client, for an answer that is one resource or a list.
    ///
    /// Applications may add their own name before or after that of the client, so it is searched anywhere.
    pub fn of(user_agent: Option<&str>, list: bool) -> Self {
        let Some(user_agent) = user_agent else { return Self::default() };
        let user_agent = user_agent.to_ascii_lowercase();
        if user_agent.contains("azsdk-python-mgmt-scheduler/") {
            Self { durations: Durations::Iso, capital_occurrence: true }
        } else if user_agent.contains("azure-mgmt-scheduler/") {
            let durations = if list { Durations::IsoOfMonths } else { Durations::TimeSpan };
            Self { durations, capital_occurrence: true }
        } else {
            Self::default()
        }
    }

    pub(crate) fn duration(self, duration: SignedDuration) -> String {
        match self.durations {
            Durations::TimeSpan => time::time_span(duration),
            Durations::Iso => time::iso_duration(duration),
            Durations::IsoOfMonths => {
                let days = duration.as_hours() / 24;
                let surplus_days = days - days / DAYS_PER_MONTH;
                time::iso_duration(duration - SignedDuration::from_hours(24 * surplus_days))
            }
        }
    }

    pub(crate) fn occurrence_name(self) -> &'static str {
        if self.capital_occurrence { "Occurrence" } else { "occurrence" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_clients_are_known_by_their_user_agents() {
        let python_7 = "azsdk-python-mgmt-scheduler/7.0.0 Python/3.11.2 (Linux-6.1.0-x86_64-with-glibc2.36)";
        let python_7_with_name = "myapp/1 azsdk-python-mgmt-scheduler/7.0.0 Python/3.11.2 (Linux) extra";
        let python_2 = "python/3.11.2 (Linux-6.1.0-x86_64-with-glibc2.36) msrest/0.7.1 msrest_azure/0.6.4 \
                        azure-mgmt-scheduler/2.0.0 Azure-SDK-For-Python";
        let node = "Node/v20.20.2 (x64-Linux-6.1.0) ms-rest/2.5.4 azure-arm-scheduler/1.2.0-preview";
        let minute = SignedDuration::from_mins(1);
        let check = |user_agent, list, duration: &str, occurrence: &str| {
            let dialect = Dialect::of(user_agent, list);
            assert_eq!(dialect.duration(minute), duration, "{user_agent:?} list {list}");
            assert_eq!(dialect.occurrence_name(), occurrence, "{user_agent:?} list {list}");
        };
        for python in [python_7, python_7_with_name] {
            check(Some(python), false, "PT1M", "Occurrence");
            check(Some(python), true, "PT1M", "Occurrence");
        }
        check(Some(python_2), false, "00:01:00", "Occurrence");
        check(Some(python_2), true, "PT1M", "Occurrence");
        for other in [None, Some(node), Some("curl/8.0"), Some("")] {
            check(other, false, "00:01:00", "occurrence");
            check(other, true, "00:01:00", "occurrence");
        }
    }
    #[test]
    fn the_older_python_client_reads_days_in_lists_as_it_reads_them_alone() {
        let list = Dialect::of(Some("azure-mgmt-scheduler/2.0.0"), true);
        let check = |duration, expected: &str| assert_eq!(list.duration(duration), expected);
        check(SignedDuration::from_hours(23), "PT23H");
        check(SignedDuration::from_hours(60 * 24) + SignedDuration::from_mins(5), "P2DT5M");
        // The client's own reader loses days that are no multiple of 30, too.
        check(SignedDuration::from_hours(45 * 24), "P1D");
    }
}
