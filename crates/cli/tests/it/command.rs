//! Running the binary.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// The binary under test.
pub(crate) fn punctual() -> Command {
    Command::new(env!("CARGO_BIN_EXE_punctual"))
}

/// Runs the binary with arguments and an input.
pub(crate) fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = punctual()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = input.to_owned();
    // The input is written apart, since a child that answers while it reads would fill its pipe.
    let writer = std::thread::spawn(move || {
        // A child that refuses its arguments never reads.
        let _ = stdin.write_all(text.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

/// Standard output of a run that must succeed.
pub(crate) fn stdout(arguments: &[&str], input: &str) -> String {
    let output = run(arguments, input);
    assert!(output.status.success(), "{arguments:?} with {input:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
