//! The log of a test.

use std::io::{Read, Seek};
use std::sync::Arc;

use tracing::Level;
use tracing::subscriber::DefaultGuard;

/// Captures what this thread logs from a level upwards.
pub(crate) struct Captured {
    file: std::fs::File,
    _guard: DefaultGuard,
}

impl Captured {
    pub(crate) fn from(level: Level) -> Self {
        let file = tempfile::tempfile().unwrap();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(false)
            .without_time()
            .with_writer(Arc::new(file.try_clone().unwrap()))
            .finish();
        Self { file, _guard: tracing::subscriber::set_default(subscriber) }
    }

    pub(crate) fn lines(&mut self) -> Vec<String> {
        let mut text = String::new();
        self.file.rewind().unwrap();
        self.file.read_to_string(&mut text).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}
