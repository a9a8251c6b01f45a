//! The limit on the size of files (`ulimit -f`).

use tokio::signal::unix::{SignalKind, signal};

/// A file that would become larger than it may must not end the process: the write fails, as where there is no
/// space. Holds for as long as the process lives.
pub(crate) async fn survive_limit() -> std::io::Result<()> {
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(|_| ())
}
