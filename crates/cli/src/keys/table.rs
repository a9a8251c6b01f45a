//! Keys for people.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use punctual_api::Keys;

/// Prints the keys and how far sealing anew has come.
pub(super) fn print(keys: &Keys, output: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["key", "state", "jobs", "server secrets", "made"]);
    for key in &keys.keys {
        let made_at = key.made_at.as_deref().unwrap_or("not known");
        table.add_row([
            key.id.to_string(),
            key.state.clone(),
            key.job_count.to_string(),
            key.server_secret_count.to_string(),
            made_at.split_once('.').map_or(made_at.to_owned(), |(whole, _)| format!("{whole}Z")),
        ]);
    }
    for column in [0, 2, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(output, "{}", table.trim_fmt())?;
    let resealing = &keys.resealing;
    writeln!(output)?;
    writeln!(output, "from: {}", keys.source)?;
    if resealing.done {
        writeln!(output, "sealed anew: everything, with key {}", resealing.key)
    } else {
        let (done, all) = (resealing.job_done_count, resealing.job_count);
        writeln!(output, "sealed anew: {done} of {all} jobs, with key {}", resealing.key)
    }
}
