//! Describes the machine by what matters for the figures, without identifying it.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::clock;
use crate::limit::disk;
use crate::process::{self, kibibytes};

/// With less than this used by others the machine counts as quiet.
const QUIET_PERCENT: f64 = 10.0;
/// The machine must be quiet for this long.
const QUIET_TIME: Duration = Duration::from_secs(2);

pub(crate) struct Machine {
    cores: usize,
    memory_gb: f64,
    durable_writes: f64,
}

impl Machine {
    pub(crate) fn look(dir: &Path) -> anyhow::Result<Self> {
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Ok(Self {
            cores: cores(),
            memory_gb: kibibytes(&memory, "MemTotal:").unwrap_or(0.0) * 1_024.0 / 1e9,
            durable_writes: disk::durable_writes(dir, Duration::from_secs(1))?,
        })
    }

    pub(crate) fn text(&self) -> String {
        let Self { cores, memory_gb, durable_writes } = self;
        format!("{cores} cores, {memory_gb:.0} GB, a disk with {durable_writes:.0} fdatasync/s")
    }
}

/// Measures what other processes use of the machine from now on.
pub(crate) struct Others {
    since: Instant,
    all: Duration,
    family: Duration,
}

impl Others {
    pub(crate) fn watch() -> anyhow::Result<Self> {
        Ok(Self {
            since: clock::now(),
            all: process::processor_time_of_all()?,
            family: process::processor_time_of_family()?,
        })
    }

    /// The share of all processors that they have used. Children of this process must have ended.
    pub(crate) fn percent(&self) -> anyhow::Result<f64> {
        let all = process::processor_time_of_all()?.saturating_sub(self.all);
        let family = process::processor_time_of_family()?.saturating_sub(self.family);
        let time = self.since.elapsed().as_secs_f64() * cores() as f64;
        Ok(all.saturating_sub(family).as_secs_f64() / time * 100.0)
    }
}

/// Waits until others leave the machine alone, at most for `patience`.
pub(crate) fn await_quiet(patience: Duration) -> anyhow::Result<()> {
    let since = clock::now();
    while since.elapsed() < patience {
        let others = Others::watch()?;
        clock::pause(QUIET_TIME);
        if others.percent()? < QUIET_PERCENT {
            break;
        }
    }
    Ok(())
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
