//! Commands shown in the documentation are run, and what they are said to print is what they print.
//!
//! A block fenced as `sh` is run when it begins with `# runs`: each line that begins with `$ ` is a
//! command, the lines behind it are its output.

use std::path::{Path, PathBuf};
use std::process::Command;

struct Example {
    file: PathBuf,
    command: String,
    expected: String,
}

fn examples(file: &Path) -> Vec<Example> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut found: Vec<Example> = Vec::new();
    let mut in_block = false;
    let mut running = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = line == "```sh";
            running = false;
        } else if in_block && line == "# runs" {
            running = true;
        } else if let (true, Some(command)) = (running, line.strip_prefix("$ ")) {
            found.push(Example {
                file: file.to_path_buf(),
                command: command.into(),
                expected: String::new(),
            });
        } else if running && let Some(example) = found.last_mut() {
            example.expected += line;
            example.expected.push('\n');
        }
    }
    found
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut folders = vec![root.join("docs")];
    let mut files = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn commands_in_the_documentation_print_what_it_says() {
    let mut count = 0;
    let bin = Path::new(env!("CARGO_BIN_EXE_punctual")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap().into_string().unwrap();
    for example in documents().iter().flat_map(|file| examples(file)) {
        let output = Command::new("bash")
            .args(["-c", &example.command])
            .env("PATH", format!("{}:{path}", bin.display()))
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .output()
            .unwrap();
        let printed =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let place = format!("{}: {}", example.file.display(), example.command);
        assert_eq!(printed.trim_end(), example.expected.trim_end(), "{place}");
        count += 1;
    }
    assert!(count > 0, "no example was found");
}
