//! docs/reference/metrics.md lists exactly what is served.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use punctual_metrics::{
    BacklogSample, DiskSample, Format, JobsSample, Metrics, ProcessSample, RunnerSample, Sample,
};

/// A sample with everything that there can be.
pub(crate) fn full_sample() -> Sample {
    let now = Timestamp::from_second(1_800_000_000).unwrap();
    let mut sample = Sample {
        version: "0.0.0",
        clock: Some(now),
        runner: Some(RunnerSample::default()),
        backlog: Some(BacklogSample { count: 0, oldest_age: SignedDuration::ZERO }),
        jobs: Some(JobsSample::default()),
        disk: Some(DiskSample::default()),
        certificate_expires_at: Some(now),
        process: Some(ProcessSample {
            descriptor_count_max: Some(1),
            started_at: Some(now),
            ..ProcessSample::default()
        }),
        ..Sample::default()
    };
    sample.inspection.looked_at = Some(now);
    sample
}

struct Family {
    name: String,
    kind: String,
    help: String,
    /// The values of each label, in the order of the text.
    labels: BTreeMap<String, Vec<String>>,
}

/// What a text of the classic format describes.
fn families(text: &str) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    let mut help = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').unwrap().1;
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            let (name, kind, help) = (name.to_owned(), kind.to_owned(), help.to_owned());
            families.push(Family { name, kind, help, labels: BTreeMap::new() });
        } else if let Some((_, rest)) = line.split_once('{') {
            let family = families.last_mut().unwrap();
            for label in rest.rsplit_once('}').unwrap().0.split(',') {
                let (name, value) = label.split_once('=').unwrap();
                let values = family.labels.entry(name.to_owned()).or_default();
                let value = value.trim_matches('"').to_owned();
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
    }
    families
}

fn reference() -> String {
    let text = Metrics::new(["operation"]).encode(&full_sample(), Format::Classic);
    let mut page = String::from(
        "# Metrics\n\n`GET /metrics` has these figures, for Prometheus and whatever reads its formats: OpenMetrics for \
         whoever prefers\nit in the `Accept` header, else the classic text format. It takes a token with reader on `/`, or \
         `server.monitoring_listen`.\nAll figures are of one process and begin at 0 when it starts. A figure that is \
         not known is left out: a process that does\nnot fire has no slots, and one without TLS no certificate. \
         [Operations](../operations.md) says what to watch, and\n[examples/observability](../../examples/observability) has alert rules and a \
         dashboard.\n\nNo label has a value that a user or a caller chose. All values are there from the \
         start, at 0.\n\nThis page is made from the code by a test.\n",
    );
    for Family { name, kind, help, labels } in families(&text) {
        write!(page, "\n## {name}\n\nA {kind}. {help}\n").unwrap();
        for (label, values) in labels {
            let values: Vec<String> = match label.as_str() {
                "operation" => vec![
                    "the name of each operation, as in the [API reference](api.md)".into(),
                    "`none`".into(),
                ],
                "version" => vec!["of the program".into()],
                _ => values.iter().map(|value| format!("`{value}`")).collect(),
            };
            let what = if label == "le" { "buckets up to" } else { "label" };
            let label = if label == "le" { String::new() } else { format!(" `{label}`") };
            write!(page, "\n- {what}{label}: {}", values.join(", ")).unwrap();
        }
        if page.ends_with('\n') {
            continue;
        }
        page.push('\n');
    }
    page
}

#[test]
fn the_reference_lists_what_is_served() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/metrics.md");
    let reference = reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == reference, "{} is not what the code serves; run with UPDATE_GOLDEN=1", path.display());
}
