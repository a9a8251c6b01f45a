//! The preview for people.

use std::io::{self, Write};

use comfy_table::{Table, presets};
use punctual_arm::preview;

use super::runs::{Runs, distance};

pub(super) fn print(runs: &Runs, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "{}", preview::sentence(runs.description.clone()))?;
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
    let end = preview::end_words(runs.end, runs.runs.is_empty(), runs.never_matches.as_deref());
    writeln!(output, "{}", end.as_deref().unwrap_or("and so on"))
}
