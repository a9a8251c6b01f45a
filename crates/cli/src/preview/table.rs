//! The preview for people.

use std::io::{self, Write};

use comfy_table::{Table, presets};
use punctual_arm::time;

use super::runs::{End, Runs, distance};

pub(super) fn print(runs: &Runs, output: &mut dyn Write) -> io::Result<()> {
    let mut description = runs.description.clone();
    description[..1].make_ascii_uppercase();
    writeln!(output, "{description}")?;
    if !runs.runs.is_empty() {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let zone = runs.zone.iana_name().unwrap_or("UTC");
        let with_notes = runs.runs.iter().any(|run| !run.notes.is_empty());
        let mut header = vec!["#".to_owned(), format!("time ({zone})"), "from now".to_owned()];
        if with_notes {
            header.push("note".to_owned());
        }
        table.set_header(header);
        for (index, run) in runs.runs.iter().enumerate() {
            let fraction = if run.at.subsec_nanosecond() == 0 { "" } else { "%.3f" };
            let local =
                runs.local(run.at).strftime(&format!("%a %Y-%m-%d %H:%M:%S{fraction} %:z")).to_string();
            let mut row = vec![(index + 1).to_string(), local, distance(runs.now, run.at)];
            if with_notes {
                row.push(run.notes.join("; "));
            }
            table.add_row(row);
        }
        writeln!(
            output,
            "\n{}\n",
            table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
        )?;
    }
    if let Some(reason) = &runs.never_matches {
        let begin = if runs.runs.is_empty() { "It never runs" } else { "and never again" };
        return writeln!(output, "{begin}: no instant up to the year 9999 fits the schedule ({reason})");
    }
    match runs.end {
        End::Cut => writeln!(output, "and so on"),
        End::Count(1) => writeln!(output, "then it has run once and ends"),
        End::Count(count) => writeln!(output, "then it has run {count} times and ends"),
        End::AtTime(end_at) if runs.runs.is_empty() => {
            writeln!(output, "It never runs: nothing is due until its end time {}", time::instant(end_at))
        }
        End::AtTime(end_at) => writeln!(output, "then its end time {} is past", time::instant(end_at)),
        End::Once => writeln!(output, "then it ends"),
        End::Never if runs.runs.is_empty() => {
            writeln!(output, "It never runs: no instant up to the year 9999 fits the schedule")
        }
        End::Never => writeln!(output, "and never again up to the year 9999"),
    }
}
