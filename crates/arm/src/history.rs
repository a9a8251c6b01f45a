//! History records.

use crate::json::{Json, Members};
use jiff::Timestamp;
use punctual_model::{JobKey, Record, RecordStatus};

use crate::{id, time};

/// The last tick that .NET can represent.
const TICKS_MAX: i128 = 3_155_378_975_999_999_999;

/// The name of a record: two numbers, so that names in ascending order are newest first. The sequence is that
/// of the archive, unique and never changed.
pub fn record_name(started_at: Timestamp, sequence: i64) -> String {
    let first = TICKS_MAX - time::ticks(started_at);
    let second = i128::from(i64::MAX) - i128::from(sequence);
    format!("{first:020}:{second:020}")
}

/// Renders a record of a job.
pub fn answer<'a>(key: &JobKey, record: &'a Record, sequence: i64) -> Json<'a> {
    let name = record_name(record.started_at, sequence);
    let mut properties = Members::new();
    properties.insert("startTime", time::instant(record.started_at).into());
    properties.insert("endTime", time::instant(record.ended_at).into());
    properties.insert("expectedExecutionTime", time::instant(record.nominal_at).into());
    properties.insert("status", status_name(record.status).into());
    if !record.message.is_empty() {
        properties.insert("message", record.message.as_str().into());
    }
    properties.insert("retryCount", record.attempt.into());
    properties.insert("repeatCount", record.ordinal.into());
    let action_name = if record.step == 0 { "MainAction" } else { "ErrorAction" };
    properties.insert("actionName", action_name.into());
    let mut members = Members::new();
    members.insert("id", format!("{}/history/{name}", id::job(key)).into());
    members.insert("type", id::HISTORY_TYPE.into());
    members.insert("name", format!("{}/{name}", id::job_name(key)).into());
    members.insert("properties", properties.into());
    members.into()
}

pub(crate) fn status_name(status: RecordStatus) -> &'static str {
    match status {
        RecordStatus::Completed => "completed",
        RecordStatus::Failed => "failed",
        RecordStatus::Postponed => "postponed",
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::{Cause, CollectionKey, JobId};
    use serde_json::json;

    use super::*;

    #[test]
    fn record_names_sort_newest_first() {
        let started_at = "2016-03-30T20:39:53.8021951Z".parse().unwrap();
        // The name that the original service gave a record that began at this tick.
        assert_eq!(record_name(started_at, 194_994), "02519429304061978048:09223372036854580813");
        let later = "2016-03-30T20:39:54Z".parse().unwrap();
        assert!(record_name(later, 1) < record_name(started_at, 1));
        assert!(record_name(later, 2) < record_name(later, 1));
    }

    #[test]
    fn records_are_rendered_with_their_status_always() {
        let key = CollectionKey::new("s", "g", "jc").job("j");
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let record = Record {
            job: JobId(1),
            generation: 1,
            nominal_at: at("2016-03-30T20:39:52.6597062Z"),
            cause: Cause::Schedule,
            step: 0,
            attempt: 2,
            ordinal: 135,
            started_at: at("2016-03-30T20:39:53.8021951Z"),
            ended_at: at("2016-03-30T20:39:53.8646988Z"),
            status: RecordStatus::Completed,
            message: "fine".into(),
        };
        let rendered = answer(&key, &record, 194_994).to_value();
        assert_eq!(rendered["name"], "jc/j/02519429304061978048:09223372036854580813");
        assert_eq!(
            rendered["properties"],
            json!({
                "startTime": "2016-03-30T20:39:53.8021951Z", "endTime": "2016-03-30T20:39:53.8646988Z",
                "expectedExecutionTime": "2016-03-30T20:39:52.6597062Z", "status": "completed",
                "message": "fine", "retryCount": 2, "repeatCount": 135, "actionName": "MainAction",
            })
        );
        let error = Record { step: 3, status: RecordStatus::Failed, ..record };
        let rendered = answer(&key, &error, 1).to_value();
        assert_eq!(rendered["properties"]["actionName"], "ErrorAction");
        assert_eq!(rendered["properties"]["status"], "failed");
    }
}
