//! How many durable writes the disk makes a second.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::clock;

const PAGE: usize = 4_096;
/// The file is overwritten in a cycle, like a write-ahead log, so it does not grow.
const PAGES: u64 = 1_024;

/// Durable writes of a page a second.
pub(crate) fn durable_writes(dir: &Path, time: Duration) -> anyhow::Result<f64> {
    let file = tempfile::tempfile_in(dir).context("could not make a file")?;
    for page in 0..PAGES {
        write(&file, page)?;
    }
    file.sync_all().context("could not sync a file")?;
    let since = clock::now();
    let mut count = 0;
    while since.elapsed() < time {
        write(&file, count % PAGES)?;
        file.sync_data().context("could not sync a file")?;
        count += 1;
    }
    Ok(count as f64 / since.elapsed().as_secs_f64())
}

fn write(file: &File, page: u64) -> anyhow::Result<()> {
    file.write_all_at(&[7; PAGE], page * PAGE as u64).context("could not write a page")
}
