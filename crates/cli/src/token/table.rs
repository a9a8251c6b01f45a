//! Tokens for people.

use std::io::{self, Write};

use comfy_table::{Table, presets};
use serde_json::Value;

/// Prints a list of tokens.
pub(super) fn print(tokens: &Value, output: &mut dyn Write) -> io::Result<()> {
    let tokens = tokens.as_array().map(Vec::as_slice).unwrap_or_default();
    if tokens.is_empty() {
        return writeln!(output, "there are no tokens");
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["name", "id", "grants", "created", "expires", "last used"]);
    for token in tokens {
        let text = |name: &str, none: &str| token[name].as_str().unwrap_or(none).to_owned();
        table.add_row([
            text("name", ""),
            text("id", ""),
            grants(token),
            seconds(&text("createdAt", "")),
            seconds(&text("expiresAt", "never")),
            seconds(&text("lastUsedAt", "never")),
        ]);
    }
    writeln!(output, "{}", table.trim_fmt())
}

/// A time without the parts of a second, which nobody compares by eye.
fn seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => time.to_owned(),
    }
}

/// What a token grants, in words.
pub(super) fn grants(token: &Value) -> String {
    let grant = |grant: &Value| {
        let text = |name: &str| grant[name].as_str().unwrap_or_default().to_owned();
        format!("{} on {}", text("role"), text("scope"))
    };
    let grants = token["grants"].as_array().map(Vec::as_slice).unwrap_or_default();
    grants.iter().map(grant).collect::<Vec<_>>().join(", ")
}
