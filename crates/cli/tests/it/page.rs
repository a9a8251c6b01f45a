//! The web page that is part of the binary.

use std::path::Path;
use std::process::Stdio;

use crate::command::{punctual, run};
use crate::raw::{self, RawAnswer};
use crate::server::Server;

const BROWSER: &str = "Accept: text/html,*/*;q=0.8\r\nSec-Fetch-Dest: document\r\n";

fn ask(server: &Server, method: &str, path: &str, headers: &str) -> RawAnswer {
    raw::exchange(&server.address, raw::request(method, &server.address, path, headers, "").as_bytes())
}

/// The files that the repository has of the page, by their paths.
fn files() -> Vec<String> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/dist");
    let mut found = Vec::new();
    let mut folders = vec![dist.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(&dist).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

#[test]
fn the_binary_serves_every_file_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let line = server.wait_for_line("The web page is at ");
    assert_eq!(line, format!("The web page is at http://{}/", server.address));
    let index = ask(&server, "GET", "/", BROWSER);
    assert_eq!(index.status, 200, "{}", index.head);
    let expected = include_str!("../../../../ui/dist/index.html");
    assert_eq!(index.text, expected);
    assert_eq!(ask(&server, "GET", "/jobs/s/g/c/j", BROWSER).text, expected);
    for file in files().iter().filter(|file| *file != "index.html") {
        let answer = ask(&server, "HEAD", &format!("/{file}"), "Accept-Encoding: gzip\r\n");
        let head = answer.head.to_lowercase();
        assert_eq!(answer.status, 200, "{file}");
        assert!(!head.contains("application/octet-stream"), "{file} has no content type: {head}");
        assert!(!file.ends_with(".js") || head.contains("content-encoding: gzip"), "{file}: {head}");
    }
}

#[test]
fn the_page_has_nothing_inline_and_nothing_from_elsewhere() {
    let index = include_str!("../../../../ui/dist/index.html");
    assert_eq!(index.matches("<base href=\"/\">").count(), 1);
    assert!(!index.contains("<style"), "{index}");
    assert!(!index.contains(" style="), "{index}");
    for script in index.split("<script").skip(1) {
        let (tag, rest) = script.split_once('>').unwrap();
        assert!(tag.contains(" src=\"") && rest.trim_start().starts_with("</script>"), "<script{tag}>");
    }
    for attribute in ["src=\"", "href=\""] {
        for target in index.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(!target.contains("//"), "{target} leads elsewhere");
        }
    }
}

#[test]
fn a_server_without_the_page_serves_the_api_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = punctual();
    command.env("PUNCTUAL_SERVER__PAGE", "false").stderr(Stdio::inherit());
    let server = Server::start_as(&mut command, folder.path(), &[]);
    let answer = ask(&server, "GET", "/", BROWSER);
    assert_eq!((answer.status, &answer.json()["name"]), (200, &"punctual".into()));
    assert_eq!(ask(&server, "GET", "/timetable", BROWSER).status, 404);
    assert!(!server.stop().iter().any(|line| line.contains("web page")));
}

#[test]
fn a_process_that_only_runs_jobs_has_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--role", "runner"]);
    assert_eq!(ask(&server, "GET", "/", BROWSER).json()["name"], "punctual");
    assert_eq!(ask(&server, "GET", "/jobs", BROWSER).status, 404);
    assert!(!server.stop().iter().any(|line| line.contains("web page")));
}

#[test]
fn behind_a_path_the_page_knows_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = punctual();
    command.env("PUNCTUAL_SERVER__PUBLIC_URL", "https://tools.example.com/punctual").stderr(Stdio::null());
    let mut server = Server::start_as(&mut command, folder.path(), &[]);
    server.wait_for_line("The web page is at https://tools.example.com/punctual/");
    for path in ["/", "/punctual", "/punctual/jobs"] {
        let page = ask(&server, "GET", path, BROWSER);
        assert!(page.text.contains("<base href=\"/punctual/\">"), "{path}: {}", page.text);
    }
}

#[test]
fn a_path_that_could_be_one_of_the_server_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("punctual.toml");
    std::fs::write(&file, "[server]\npublic_url = \"https://tools.example.com/jobs\"\n").unwrap();
    let data = folder.path().join("data");
    let refused = run(&["serve", "--config", file.to_str().unwrap(), "--data", data.to_str().unwrap()], "");
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(
        error.contains("server.public_url: '/jobs' is also the beginning of paths of this server"),
        "{error}"
    );
    assert!(!data.exists());
}
