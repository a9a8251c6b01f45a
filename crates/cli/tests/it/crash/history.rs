//! What the API shows of a job's past, as evidence.

use jiff::Timestamp;
use punctual_model::{RecordStatus, SkipReason};
use punctual_sim::evidence::{JobEvidence, SeenRecord};
use serde_json::Value;

use crate::scheduler::{instant, occurrences};
use crate::server::{Server, call_at};

/// The records of a page.
pub(crate) fn read(page: &Value) -> Vec<SeenRecord> {
    page["value"].as_array().unwrap().iter().map(record).collect()
}

fn record(value: &Value) -> SeenRecord {
    let properties = &value["properties"];
    let number = |name: &str| u32::try_from(properties[name].as_u64().unwrap()).unwrap();
    // Names sort the newest first; the second number is that of the archive, from the end.
    let rest: i64 = value["name"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
    SeenRecord {
        sequence: i64::MAX - rest,
        nominal_at: instant(&properties["expectedExecutionTime"]),
        started_at: instant(&properties["startTime"]),
        ended_at: instant(&properties["endTime"]),
        status: match properties["status"].as_str().unwrap() {
            "completed" => RecordStatus::Completed,
            "failed" => RecordStatus::Failed,
            "postponed" => RecordStatus::Postponed,
            other => panic!("{other} is no status"),
        },
        error_action: properties["actionName"] == "ErrorAction",
        attempt: number("retryCount"),
        ordinal: number("repeatCount"),
    }
}

/// Reads all that is shown of a job.
pub(crate) fn collect(address: &str, job: &mut JobEvidence, from: Timestamp, end: Timestamp) {
    let (collection, name) = (job.key.collection.name.to_string(), job.key.name.as_str().to_owned());
    let mut records: Vec<SeenRecord> = Vec::new();
    loop {
        let below = format!("/{collection}/jobs/{name}/history?$top=100&$skip={}", records.len());
        let page = call_at(address, None, "GET", &Server::path(&below), None);
        assert_eq!(page.status, 200, "{}", page.body);
        let page = read(&page.body);
        let done = page.len() < 100;
        records.extend(page);
        if done {
            break;
        }
    }
    records.sort_by_key(|record| record.sequence);
    job.records = Some(records);
    for row in occurrences(address, (&collection, &name), from, end) {
        let at = instant(&row["dueTime"]);
        match (row["outcome"].as_str().unwrap(), row["reason"].as_str()) {
            ("succeeded", None) => job.made.push((at, true)),
            ("failed", None) => job.made.push((at, false)),
            ("skipped", Some("missed")) => job.skipped.push((at, SkipReason::Missed)),
            ("skipped", Some("overlap")) => job.skipped.push((at, SkipReason::Overlap)),
            other => panic!("{name} at {at} is {other:?} when all is over"),
        }
    }
}
