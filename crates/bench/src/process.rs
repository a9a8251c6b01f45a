//! What the kernel says about a process.

use std::fs;
use std::time::Duration;

use anyhow::Context;

/// Memory of a process, in megabytes of 1,000,000 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub(crate) resident: f64,
    pub(crate) peak: f64,
}

pub(crate) fn memory(pid: u32) -> anyhow::Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("could not ask for the memory of process {pid}"))?;
    let read = |name: &str| kibibytes(&status, name).map(|kib| kib * 1_024.0 / 1e6);
    let resident = read("VmRSS:").context("the kernel did not say VmRSS")?;
    let peak = read("VmHWM:").context("the kernel did not say VmHWM")?;
    Ok(Memory { resident, peak })
}

/// The number of a line such as `VmRSS:     1234 kB`.
pub(crate) fn kibibytes(text: &str, name: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The processor time that the threads of a process have used so far.
pub(crate) fn processor_time(pid: u32) -> anyhow::Result<Duration> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .with_context(|| format!("could not list the threads of process {pid}"))?;
    let mut nanos = 0;
    for task in tasks {
        // A thread may end in between.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        nanos += text.split_whitespace().next().and_then(|first| first.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanos))
}

/// The processor time of a process and of those that it has started, also of those that have ended.
pub(crate) fn processor_time_of_tree(pid: u32) -> anyhow::Result<Duration> {
    let mut count = times(pid, 4).with_context(|| format!("could not ask for the time of process {pid}"))?;
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
        // One that has ended in between is counted by its parent the next time.
        count += times(child, 2).unwrap_or(0);
    }
    Ok(ticks(count))
}

/// The first of utime, stime, cutime and cstime of a process, added up.
fn times(pid: u32, fields: usize) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything; these are the 12th to 15th field after it.
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().skip(11).take(fields).filter_map(|number| number.parse::<u64>().ok()).sum())
}

/// The processor time that all of the machine has used so far.
pub(crate) fn processor_time_of_all() -> anyhow::Result<Duration> {
    let text = fs::read_to_string("/proc/stat").context("could not ask for the load of the machine")?;
    // cpu user nice system idle iowait irq softirq steal
    let line = text.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let numbers: Vec<u64> = line.map_while(|number| number.parse().ok()).collect();
    let busy = [0, 1, 2, 5, 6, 7].iter().filter_map(|&place| numbers.get(place)).sum();
    Ok(ticks(busy))
}

/// The processor time of this process and of its children that have ended.
pub(crate) fn processor_time_of_family() -> anyhow::Result<Duration> {
    let count = times(std::process::id(), 4).context("could not ask for the time of this process")?;
    Ok(ticks(count))
}

/// The kernel reports these times in hundredths of a second.
fn ticks(count: u64) -> Duration {
    Duration::from_millis(count * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_uses_time() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.resident > 0.1 && memory.peak >= memory.resident, "{memory:?}");
        assert!(processor_time(std::process::id()).unwrap() > Duration::ZERO);
    }
}
