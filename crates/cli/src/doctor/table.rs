//! The checkup for people.

use std::io::{self, Write};

use comfy_table::{Table, presets};
use jiff::Timestamp;
use punctual_api::{Checkup, Connections, FindingView, Jobs, Kind, Scan};
use punctual_store::FAULTED_COUNT_MAX;

use crate::preview::distance;

/// The most findings of a kind that are shown.
const SHOWN_MAX: usize = 20;

pub(super) fn print(checkup: &Checkup, place: &str, output: &mut dyn Write) -> io::Result<()> {
    let verdict = verdict(checkup);
    writeln!(output, "{verdict}\n")?;
    print_facts(checkup, place, output)?;
    for problem in &checkup.problems {
        writeln!(output, "\nProblem: {problem}")?;
    }
    if let Some(trouble) = &checkup.scan.trouble {
        writeln!(output, "\nCould not be read: {trouble}")?;
    }
    for kind in checkup.kinds.iter().filter(|kind| kind.open > 0) {
        let findings = checkup.findings.iter().filter(|finding| finding.kind == kind.kind);
        print_kind(kind, &findings.collect::<Vec<_>>(), output)?;
    }
    Ok(())
}

/// The result in one sentence.
fn verdict(checkup: &Checkup) -> String {
    let count = |count: u64, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        count => Some(format!("{count} {noun}s")),
    };
    let finding_count: u64 = checkup.kinds.iter().map(|kind| kind.open).sum();
    let problem_count = checkup.problems.len() as u64;
    let found: Vec<String> =
        [count(problem_count, "problem"), count(finding_count, "finding")].into_iter().flatten().collect();
    if checkup.status == "off" {
        "Nobody looks whether everything is all right.".to_owned()
    } else if let Some(first) = found.first() {
        let verb = if first.starts_with("1 ") { "is" } else { "are" };
        format!("There {verb} {}.", found.join(" and "))
    } else if checkup.scan.trouble.is_some() {
        "Not everything could be looked at.".to_owned()
    } else if checkup.scan.pass_count == 0 {
        "Nothing was found so far; not every job was looked at yet.".to_owned()
    } else {
        "Everything is all right.".to_owned()
    }
}

fn print_facts(checkup: &Checkup, place: &str, output: &mut dyn Write) -> io::Result<()> {
    let now: Option<Timestamp> = checkup.time.parse().ok();
    let ago = |text: &str| {
        let told = now.zip(text.parse().ok()).map(|(now, at)| distance(now, at));
        told.map_or_else(|| text.to_owned(), |told| format!("{text} ({told})"))
    };
    let Scan { progress, pass_count, last_pass_ended_at, last_pass_seconds, .. } = &checkup.scan;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut add = |name: &str, value: String| {
        table.add_row([name, &value]);
    };
    add("looked at", place.to_owned());
    let schema = checkup.schema_version.map(|version| format!(", schema version {version}"));
    add("version", format!("{}{}", checkup.version, schema.unwrap_or_default()));
    add("time", checkup.time.clone());
    let jobs = checkup.jobs.as_ref();
    add("jobs", jobs.map_or_else(|| "could not be counted".to_owned(), |jobs| jobs.count.to_string()));
    if let Some(jobs) = jobs {
        add("faulted jobs", faulted(jobs, ago));
    }
    if let Some(Connections { open, max, refused_count }) = &checkup.connections {
        let refused = match refused_count {
            0 => String::new(),
            count => format!("; {count} were closed since the start because there were too many"),
        };
        add("connections", format!("{open} of at most {max}{refused}"));
    }
    let due = checkup.oldest_due.as_ref();
    add(
        "oldest that is due",
        due.map_or_else(
            || "none".to_owned(),
            |due| format!("job {}, since {}", due.job_id, ago(&due.due_at)),
        ),
    );
    if let (Some(ended_at), Some(seconds)) = (last_pass_ended_at, last_pass_seconds) {
        add("last look at all jobs", format!("{}, took {seconds:.1} s", ago(ended_at)));
    }
    if let Some(progress) = progress {
        let number = pass_count + 1;
        add("now looking at all jobs", format!("{:.0} % of look {number}", progress * 100.0));
    }
    let text = table.to_string();
    writeln!(output, "{}", text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
}

/// How many jobs have failed for good, and the latest of them, one per line.
fn faulted(jobs: &Jobs, ago: impl Fn(&str) -> String) -> String {
    let Jobs { faulted_count, faulted, .. } = jobs;
    let or_more = if *faulted_count >= FAULTED_COUNT_MAX as u64 { " or more" } else { "" };
    let lately = if faulted.is_empty() { "" } else { ", lately:" };
    let named = faulted.iter().map(|one| format!("\n{}, {}", one.job, ago(&one.ended_at)));
    format!("{faulted_count}{or_more}{lately}{}", named.collect::<String>())
}

fn print_kind(kind: &Kind, findings: &[&FindingView], output: &mut dyn Write) -> io::Result<()> {
    let Kind { kind: name, open, total, meaning, advice } = kind;
    writeln!(output, "\n{name}: {open} now, {total} since the start\n  {meaning}\n  What to do: {advice}")?;
    for finding in findings.iter().take(SHOWN_MAX) {
        let FindingView { detail, found_at, .. } = finding;
        writeln!(output, "  - {}\n    {detail}; found at {found_at}", subject(finding))?;
    }
    let more = usize::try_from(*open).unwrap_or(usize::MAX).saturating_sub(findings.len().min(SHOWN_MAX));
    if more > 0 {
        writeln!(output, "  and {more} more; --output json lists up to 1000 findings")?;
    }
    Ok(())
}

/// What a finding is about.
fn subject(finding: &FindingView) -> String {
    let FindingView { job_id, job, resource, record, .. } = finding;
    let number = job_id.map_or_else(|| "the server".to_owned(), |number| format!("job {number}"));
    match (job, resource, record) {
        (_, Some(resource), _) => resource.clone(),
        (_, None, Some(record)) => format!("record {record} of {number}"),
        (Some(id), None, None) => format!("{id} ({number})"),
        (None, None, None) => number,
    }
}
