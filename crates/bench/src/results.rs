//! The results file: each workload has a section between two marks, which a run rewrites.

use std::path::Path;

use anyhow::{Context, bail};

use crate::clock;
use crate::machine::Machine;
use crate::workload::Workload;

/// New sections go before this.
const END: &str = "<!-- bench: end -->";

pub(crate) fn write(
    file: &Path,
    workload: Workload,
    table: &str,
    machine: &Machine,
    commit: &str,
) -> anyhow::Result<()> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("could not read {shown}"))?;
    let (name, question) = (workload.to_string(), workload.question());
    let section = format!(
        "### `{name}`: {question}\n\n{}, {commit}. {}.\n\n{table}",
        clock::date(),
        capital(&machine.text())
    );
    let text = replace(&text, &name, &section).with_context(|| format!("could not change {shown}"))?;
    std::fs::write(file, text).with_context(|| format!("could not write {shown}"))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The text with the section of this name replaced, or added.
fn replace(text: &str, name: &str, section: &str) -> anyhow::Result<String> {
    let (begin, end) = (format!("<!-- bench: {name} -->\n"), format!("<!-- /bench: {name} -->\n"));
    let section = format!("{begin}{section}{end}");
    if let Some((before, rest)) = text.split_once(&begin) {
        let Some((_, after)) = rest.split_once(&end) else { bail!("the section {name} has no end") };
        return Ok(format!("{before}{section}{after}"));
    }
    let Some((before, after)) = text.split_once(END) else { bail!("it has no line '{END}'") };
    Ok(format!("{before}{section}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_added_once_and_then_replaced() {
        let text = format!("# Title\n\n{END}\ntail\n");
        let once = replace(&text, "get", "old\n").unwrap();
        let other = replace(&once, "herd=10", "other\n").unwrap();
        let twice = replace(&other, "get", "new\n").unwrap();
        let expected = "# Title\n\n<!-- bench: get -->\nnew\n<!-- /bench: get -->\n\n\
                        <!-- bench: herd=10 -->\nother\n<!-- /bench: herd=10 -->\n\n<!-- bench: end -->\ntail\n";
        assert_eq!(twice, expected);
        assert!(replace("nothing here", "get", "new\n").is_err());
    }
}
