//! The log of a test.

use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Once;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

thread_local! {
    static KEPT: RefCell<Option<(Level, Vec<u8>)>> = const { RefCell::new(None) };
}

/// Captures what this thread logs from a level upwards, until it is dropped.
pub(crate) struct Captured;

impl Captured {
    pub(crate) fn from(level: Level) -> Self {
        // One subscriber for all tests: with several, which call sites are heard is decided for all of them.
        static STARTED: Once = Once::new();
        STARTED.call_once(|| {
            let subscriber = tracing_subscriber::fmt().with_max_level(Level::TRACE).with_ansi(false);
            subscriber.without_time().with_writer(Keeper).init();
        });
        KEPT.set(Some((level, Vec::new())));
        Self
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        KEPT.with_borrow(|kept| {
            let text = kept.as_ref().map(|(_, text)| String::from_utf8_lossy(text).into_owned());
            text.unwrap_or_default().lines().map(str::to_owned).collect()
        })
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        KEPT.set(None);
    }
}

/// Keeps lines for the thread that logs them, if it wants them.
struct Keeper;

impl<'a> MakeWriter<'a> for Keeper {
    type Writer = Keeping;

    fn make_writer(&'a self) -> Keeping {
        Keeping(true)
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Keeping {
        let wanted =
            KEPT.with_borrow(|kept| kept.as_ref().is_some_and(|(level, _)| metadata.level() <= level));
        Keeping(wanted)
    }
}

struct Keeping(bool);

impl Write for Keeping {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 {
            KEPT.with_borrow_mut(|kept| kept.iter_mut().for_each(|(_, text)| text.extend_from_slice(bytes)));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
