//! Progress of something that takes long, on a terminal.

use std::io::{IsTerminal, Write};

/// Shows the progress on a terminal.
pub(crate) struct Progress {
    terminal: bool,
    said: String,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), said: String::new() }
    }

    pub(crate) fn tell(&mut self, what: &str) {
        if self.terminal && what != self.said {
            // If this fails nobody is watching.
            let _ = write!(std::io::stderr(), "\r{what:<40}");
            self.said = what.to_owned();
        }
    }

    pub(crate) fn end(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r{:40}\r", "");
        }
    }
}
