//! `punctual preview`: when will a job run?

mod jsonl;
mod runs;
mod table;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use punctual_arm::{Preview, Problem, read_preview};
use punctual_model::Limits;
use punctual_recurrence::{Start, Timetable};

use self::runs::Runs;
pub(crate) use self::runs::distance;
use crate::clock::real_now;
use crate::exit::{Exit, WrongUsage};
use crate::options::{Output, PreviewOptions};

/// A job is at most 16 KiB; anything larger than this is no job.
const JOB_BYTES_MAX: u64 = 1 << 20;

/// The largest number of occurrences that may be asked for.
const COUNT_MAX: u64 = 100_000;

pub(crate) fn preview(options: &PreviewOptions) -> anyhow::Result<Exit> {
    let input = open(options.file.as_deref())?;
    let mut output = io::stdout().lock();
    if options.jsonl {
        jsonl::answer(input, &mut output, options)?;
        return Ok(Exit::Fine);
    }
    let now = options.now.unwrap_or_else(real_now);
    let job = read_one(input)?;
    let timetable = timetable(&job, job.now.unwrap_or(now)).map_err(|problems| wrong(&problems))?;
    let shown_in = options.zone.as_deref().or(job.rule.as_ref().and_then(|rule| rule.time_zone.as_deref()));
    let count = count(&job, options).map_err(|problem| wrong(&[problem]))?;
    let runs = Runs::of(&timetable, &job, job.now.unwrap_or(now), count, shown_in)?;
    match options.output {
        Output::Table => table::print(&runs, &mut output)?,
        Output::Json => writeln!(output, "{}", runs.to_json())?,
    }
    Ok(Exit::Fine)
}

/// The number of occurrences to show: that of the document, else that of the options.
fn count(job: &Preview, options: &PreviewOptions) -> Result<u64, Problem> {
    let count = job.count.unwrap_or(options.count);
    if count > COUNT_MAX {
        return Err(Problem::new("count", format!("must be at most {COUNT_MAX}, not {count}")));
    }
    Ok(count)
}

/// The timetable of a job that is put at `now`, or all its problems.
fn timetable(job: &Preview, now: Timestamp) -> Result<Timetable, Vec<Problem>> {
    let start = Start { start_at: job.start_at, put_at: now };
    let mut problems: Vec<Problem> =
        start.check(Limits::default().start_ahead_months_max).err().into_iter().collect();
    let timetable = match &job.rule {
        None => Some(Timetable::once(start)),
        Some(rule) => match rule.check() {
            Ok(checked) => Some(checked.timetable(start)),
            Err(more) => {
                problems.extend(more.into_iter().map(|problem| problem.below("recurrence")));
                None
            }
        },
    };
    timetable.filter(|_| problems.is_empty()).ok_or(problems)
}

/// The type of the buffer is concrete, because the batch form must know whether it is empty.
type Input = BufReader<Box<dyn Read>>;

fn open(file: Option<&Path>) -> Result<Input, WrongUsage> {
    let input: Box<dyn Read> = match file.filter(|path| *path != Path::new("-")) {
        None => Box::new(io::stdin().lock()),
        Some(path) => {
            let opened = File::open(path);
            Box::new(
                opened.map_err(|error| WrongUsage(format!("could not open {}: {error}", path.display())))?,
            )
        }
    };
    Ok(BufReader::with_capacity(1 << 16, input))
}

fn read_one(input: Input) -> anyhow::Result<Preview> {
    let mut text = Vec::new();
    input.take(JOB_BYTES_MAX + 1).read_to_end(&mut text).context("could not read the job")?;
    if text.len() as u64 > JOB_BYTES_MAX {
        return Err(
            WrongUsage(format!("the input is larger than {JOB_BYTES_MAX} bytes: is it a job?")).into()
        );
    }
    let value = serde_json::from_slice(&text)
        .map_err(|error| WrongUsage(format!("the input is no JSON: {error}")))?;
    read_preview(&value).map_err(|problems| wrong(&problems).into())
}

fn wrong(problems: &[Problem]) -> WrongUsage {
    match problems {
        [one] => WrongUsage(format!("the job has a problem: {one}")),
        many => {
            let list: String = many.iter().map(|problem| format!("\n  {problem}")).collect();
            WrongUsage(format!("the job has {} problems:{list}", many.len()))
        }
    }
}
