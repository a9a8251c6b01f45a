//! What examples/observability asks for is served.

use std::collections::BTreeSet;
use std::path::Path;

fn read(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(name)).unwrap()
}

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("punctual_") || word.starts_with("process_")).collect()
}

/// The metrics of the reference, with the samples that a histogram has.
fn served() -> BTreeSet<String> {
    let reference = read("docs/reference/metrics.md");
    let names = reference.lines().filter_map(|line| line.strip_prefix("## "));
    names.flat_map(|name| ["", "_bucket", "_sum", "_count"].map(|part| format!("{name}{part}"))).collect()
}

#[test]
fn every_metric_of_the_alerts_and_the_dashboard_is_served() {
    let served = served();
    for (file, least) in [("rules.yml", 15), ("rules.test.yml", 15), ("dashboard.json", 30)] {
        let text = read(&format!("examples/observability/{file}"));
        let named = named(&text);
        assert!(named.len() >= least, "{file} names {named:?}");
        let unknown: Vec<&&str> = named.iter().filter(|name| !served.contains(**name)).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}, which nobody serves");
    }
}

#[test]
fn every_alert_has_a_test() {
    let (rules, tests) =
        (read("examples/observability/rules.yml"), read("examples/observability/rules.test.yml"));
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() >= 10, "{alerts:?}");
    for alert in alerts {
        assert!(tests.contains(alert), "{alert} has no test");
    }
}
