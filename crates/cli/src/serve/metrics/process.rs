//! What Linux says of this process, in `/proc/self`.

use std::fs;

use punctual_metrics::ProcessSample;
use rustix::process::{Resource, getrlimit};

/// The figures of this process; none where there is no `/proc`.
pub(super) fn read() -> Option<ProcessSample> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let ticks = rustix::param::clock_ticks_per_second();
    let process = of_stat(&stat, ticks, rustix::param::page_size() as u64)?;
    // One of them is that of the listing itself.
    let open = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    Some(ProcessSample {
        descriptor_count: open as u64,
        descriptor_count_max: getrlimit(Resource::Nofile).current,
        ..process
    })
}

/// Reads the line of `/proc/self/stat`, whose second field is the name of the program in parentheses and may contain
/// anything.
#[expect(clippy::cast_precision_loss, reason = "2^52 ticks are a million years")]
fn of_stat(stat: &str, ticks_per_second: u64, page_bytes: u64) -> Option<ProcessSample> {
    let rest = stat.rsplit_once(')')?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // proc(5) counts from 1, and two fields were left out.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(ProcessSample {
        cpu_seconds: (field(14)? + field(15)?) as f64 / ticks_per_second.max(1) as f64,
        thread_count: field(20)?,
        virtual_bytes: field(23)?,
        resident_bytes: field(24)?.saturating_mul(page_bytes),
        ..ProcessSample::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_read_whatever_the_program_is_called() {
        let line = "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 100 0 5 0 250 50 0 0 20 0 7 0 99 1000000 300 18446744073709551615 1";
        let process = of_stat(line, 100, 4096).unwrap();
        assert!((process.cpu_seconds - 3.0).abs() < f64::EPSILON);
        assert_eq!((process.thread_count, process.virtual_bytes), (7, 1_000_000));
        assert_eq!(process.resident_bytes, 300 * 4096);
        assert!(of_stat("4711 (x) S 1", 100, 4096).is_none());
        assert!(of_stat("", 100, 4096).is_none());
    }

    #[test]
    fn this_process_is_found() {
        let process = read().unwrap();
        assert!(process.resident_bytes > 100_000 && process.descriptor_count > 2, "{process:?}");
    }
}
