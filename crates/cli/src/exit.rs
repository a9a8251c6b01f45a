//! How the process ends.

use std::process::ExitCode;

use punctual_runner::Failure;

/// The exit codes; docs/reference/exit-codes.md says what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Fine = 0,
    Failed = 1,
    WrongUsage = 2,
    /// A task of the server ended that must go on: it has to be started anew.
    TaskEnded = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// An error that the user has to correct; its text says what is wrong and what to do.
#[derive(Debug)]
pub(crate) struct WrongUsage(pub(crate) String);

impl WrongUsage {
    /// Unusable settings: every problem, each with its key.
    pub(crate) fn of_settings(problems: &[String]) -> Self {
        match problems {
            [problem] => Self(problem.clone()),
            several => {
                let count = several.len();
                Self(format!("the settings have {count} problems:\n  {}", several.join("\n  ")))
            }
        }
    }
}

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// Prints an error with its causes, and returns the exit code.
#[expect(clippy::needless_pass_by_value, reason = "the end of the error's life")]
pub(crate) fn report(error: anyhow::Error) -> Exit {
    // The reader of our output is gone (`punctual preview | head`), which is no failure.
    let gone = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    if gone.into_iter().any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe) {
        return Exit::Fine;
    }
    eprintln!("error: {error:#}");
    if error.is::<WrongUsage>() {
        Exit::WrongUsage
    } else if error.is::<Failure>() {
        Exit::TaskEnded
    } else {
        Exit::Failed
    }
}
