//! The figures: names, numbers, units and targets.

use std::fmt;

/// One number of a workload.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: Unit,
    pub(crate) target: Option<Target>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    PerSecond,
    Milliseconds,
    Megabytes,
    Percent,
    /// A ratio.
    Times,
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: Unit) -> Self {
        Self { name: name.into(), value, unit, target: None }
    }

    pub(crate) fn at_least(self, bound: f64) -> Self {
        Self { target: Some(Target::AtLeast(bound)), ..self }
    }

    pub(crate) fn at_most(self, bound: f64) -> Self {
        Self { target: Some(Target::AtMost(bound)), ..self }
    }
}

impl Target {
    pub(crate) fn met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }

    pub(crate) fn text(self, unit: Unit) -> String {
        match self {
            Self::AtLeast(bound) => format!("at least {}", unit.text(bound)),
            Self::AtMost(bound) => format!("at most {}", unit.text(bound)),
        }
    }
}

impl Unit {
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{}/s", Grouped(value)),
            Self::Milliseconds if value.abs() < 0.1 => format!("{:.0} µs", value * 1_000.0),
            Self::Milliseconds if value.abs() < 10.0 => format!("{} ms", (value * 100.0).round() / 100.0),
            Self::Milliseconds => format!("{} ms", Grouped(value)),
            Self::Megabytes => format!("{} MB", Grouped(value)),
            Self::Percent => format!("{} %", (value * 100.0).round() / 100.0),
            Self::Times if value < 10.0 => format!("{} ×", (value * 100.0).round() / 100.0),
            Self::Times => format!("{} ×", Grouped(value)),
            Self::Count => Grouped(value).to_string(),
        }
    }
}

/// A whole number with a comma between thousands.
struct Grouped(f64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:.0}", self.0.abs());
        if self.0.round() < 0.0 {
            f.write_str("-")?;
        }
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// The figures of one workload over several runs, as a Markdown table.
pub(crate) fn table(runs: &[Vec<Figure>]) -> String {
    let mut rows = vec![["".into(), "measured".into(), "target".into(), "".into()]];
    for figure in runs.first().into_iter().flatten() {
        let same = runs.iter().flatten().filter(|other| other.name == figure.name);
        let mut values: Vec<f64> = same.map(|other| other.value).collect();
        values.sort_by(f64::total_cmp);
        rows.push(row(figure, &values));
    }
    let widths: Vec<usize> = (0..4).map(|column| width(&rows, column)).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!(" {cell:<width$} |"));
        text.extend(std::iter::once("|".to_owned()).chain(cells));
        text.push('\n');
        if number == 0 {
            let lines = widths.iter().map(|&width| format!("{:-<width$}|", "", width = width + 2));
            text.extend(std::iter::once("|".to_owned()).chain(lines));
            text.push('\n');
        }
    }
    text
}

fn row(figure: &Figure, sorted: &[f64]) -> [String; 4] {
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(figure.value);
    let (first, last) = (sorted.first().copied(), sorted.last().copied());
    let range = match (first, last) {
        (Some(first), Some(last)) if sorted.len() > 1 => {
            format!(" ({} to {})", figure.unit.text(first), figure.unit.text(last))
        }
        _ => String::new(),
    };
    let verdict = figure.target.map_or("", |target| if target.met(median) { "met" } else { "missed" });
    let target = figure.target.map_or(String::new(), |target| target.text(figure.unit));
    [figure.name.clone(), figure.unit.text(median) + &range, target, verdict.to_owned()]
}

fn width(rows: &[[String; 4]], column: usize) -> usize {
    rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        let check = |value: f64, unit: Unit, expected: &str| assert_eq!(unit.text(value), expected);
        check(1_234_567.4, Unit::PerSecond, "1,234,567/s");
        check(999.0, Unit::Count, "999");
        check(-1_000.0, Unit::Count, "-1,000");
        check(0.05, Unit::Milliseconds, "50 µs");
        check(1.234, Unit::Milliseconds, "1.23 ms");
        check(20.4, Unit::Milliseconds, "20 ms");
        check(0.755, Unit::Times, "0.76 ×");
    }

    #[test]
    fn several_runs_give_a_median_a_range_and_a_verdict() {
        let run = |value| vec![Figure::new("speed", value, Unit::PerSecond).at_least(10.0)];
        let text = table(&[run(30.0), run(9.0), run(12.0)]);
        assert!(text.contains("| speed | 12/s (9/s to 30/s) | at least 10/s | met |"), "{text}");
    }
}
