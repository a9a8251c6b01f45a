//! The machine, in words that say what matters and not whose it is.

use std::path::Path;
use std::time::Duration;

use crate::limit::disk;
use crate::process::kibibytes;

pub(crate) struct Machine {
    cores: usize,
    memory_gb: f64,
    durable_writes: f64,
}

impl Machine {
    pub(crate) fn look(dir: &Path) -> anyhow::Result<Self> {
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Ok(Self {
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory_gb: kibibytes(&memory, "MemTotal:").unwrap_or(0.0) * 1_024.0 / 1e9,
            durable_writes: disk::durable_writes(dir, Duration::from_secs(1))?,
        })
    }

    pub(crate) fn text(&self) -> String {
        let Self { cores, memory_gb, durable_writes } = self;
        format!("{cores} cores, {memory_gb:.0} GB, a disk with {durable_writes:.0} fdatasync/s")
    }
}
