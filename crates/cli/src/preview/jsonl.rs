//! The batch form: one object per line in, one line out for each, in constant memory.

use std::io::{self, BufRead, BufWriter, Read, Write};

use anyhow::Context;
use punctual_arm::{Problem, read_preview, time};
use punctual_recurrence::Timetable;
use serde_json::json;

use super::{Input, count, timetable};
use crate::clock::real_now;
use crate::options::PreviewOptions;

/// A longer line is no job; it is answered with an error and skipped without being kept in memory.
const LINE_BYTES_MAX: u64 = 1 << 20;

pub(super) fn answer(
    mut input: Input,
    output: &mut dyn Write,
    options: &PreviewOptions,
) -> anyhow::Result<()> {
    let mut output = BufWriter::with_capacity(1 << 16, output);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read =
            (&mut input).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).context("could not read")?;
        if read == 0 {
            break;
        }
        let answered = if read as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
            input.skip_until(b'\n').context("could not read")?;
            let problem = Problem::new("", format!("the line is longer than {LINE_BYTES_MAX} bytes"));
            write_error(&mut output, &[problem])
        } else {
            answer_line(&line, &mut output, options)
        };
        answered.context("could not write")?;
        // Flushes for a caller that writes a line and waits for its answer; the answers to a file are written
        // in large blocks.
        if input.buffer().is_empty() {
            output.flush().context("could not write")?;
        }
    }
    output.flush().context("could not write")
}

fn answer_line(line: &[u8], output: &mut impl Write, options: &PreviewOptions) -> io::Result<()> {
    match read_line(line, options) {
        Ok((timetable, count)) => write_occurrences(output, &timetable, count),
        Err(problems) => write_error(output, &problems),
    }
}

fn read_line(line: &[u8], options: &PreviewOptions) -> Result<(Timetable, u64), Vec<Problem>> {
    let value = serde_json::from_slice(line)
        .map_err(|error| vec![Problem::new("", format!("the line is no JSON: {error}"))])?;
    let job = read_preview(&value)?;
    let count = count(&job, options).map_err(|problem| vec![problem])?;
    let now = job.now.or(options.now).unwrap_or_else(real_now);
    let below = if value.get("properties").is_some() { "properties" } else { "" };
    let timetable = timetable(&job, now)
        .map_err(|problems| problems.into_iter().map(|problem| problem.below(below)).collect::<Vec<_>>())?;
    Ok((timetable, count))
}

/// Writes occurrences as they are found: a line may ask for many.
fn write_occurrences(output: &mut impl Write, timetable: &Timetable, count: u64) -> io::Result<()> {
    output.write_all(br#"{"occurrences": ["#)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    for (index, at) in timetable.occurrences().take(count).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(output, r#"{comma}"{}""#, time::instant(at))?;
    }
    output.write_all(b"]}\n")
}

fn write_error(output: &mut impl Write, problems: &[Problem]) -> io::Result<()> {
    let list: Vec<String> = problems.iter().map(Problem::to_string).collect();
    writeln!(output, "{}", json!({"error": {"code": "BadRequest", "message": list.join("; ")}}))
}
