//! How long does it take to read a typical job, and to answer it?

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::Timestamp;
use punctual_arm::{ApiVersion, Dialect, JobContext, job};
use punctual_model::{
    CollectionKey, Counters, CredentialHeaders, Job, JobId, JobState, Limits, Progress, Sku,
};

const BODY: &[u8] = br#"{
  "properties": {
    "startTime": "2026-11-15T00:00:00Z",
    "action": {
      "type": "Http",
      "request": {
        "uri": "https://example.com/api/jobs?x=1", "method": "POST", "body": "{\"hello\":\"world\"}",
        "headers": {"Content-Type": "application/json", "X-Tenant": "42"},
        "authentication": {"type": "Basic", "username": "user", "password": "password"}
      },
      "retryPolicy": {"retryType": "Fixed", "retryInterval": "00:01:00", "retryCount": 2},
      "errorAction": {"type": "StorageQueue", "queueMessage":
        {"storageAccount": "acc", "queueName": "queue1", "sasToken": "sv=2016", "message": "some message"}}
    },
    "recurrence": {"frequency": "Month", "interval": 1, "count": 10000, "endTime": "2030-10-10T10:10:10Z",
      "schedule": {"hours": [5, 10, 15, 20], "minutes": [0, 10, 20, 30, 40, 50],
        "monthlyOccurrences": [{"day": "Monday", "Occurrence": 1}, {"day": "Friday", "Occurrence": 1}]}},
    "state": "Enabled"
  }
}"#;

fn bench(criterion: &mut Criterion) {
    let now: Timestamp = "2026-11-15T12:00:00Z".parse().expect("it is a time");
    let key = CollectionKey::new("623d50f1-4fa8-4e46-a967-a9214aed43ab", "group", "collection").job("job");
    let context = JobContext {
        version: ApiVersion::V2016_03,
        sku: Sku::Standard,
        limits: Limits::default(),
        now,
        put_at: now,
        credential_headers: CredentialHeaders::default(),
    };
    let spec = job::read_put(BODY, &key, None, &context).expect("it is a job");
    let stored = Job {
        id: JobId(1),
        key: key.clone(),
        spec: spec.clone().into(),
        state: JobState::Enabled,
        generation: 1,
        put_at: now,
        counters: Counters::default(),
        last_started_at: None,
        progress: Progress::default(),
        revision: 1,
    };
    criterion.bench_function("read a PUT", |bencher| {
        bencher.iter(|| job::read_put(black_box(BODY), &key, None, &context));
    });
    let patch = br#"{"properties":{"state":"disabled"}}"#;
    criterion.bench_function("read a PATCH", |bencher| {
        bencher.iter(|| job::read_patch(black_box(patch), &key, &spec, &context));
    });
    criterion.bench_function("answer as bytes", |bencher| {
        bencher.iter(|| {
            job::answer(black_box(&stored), Some(now), ApiVersion::V2016_03, Dialect::default()).to_bytes()
        });
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
