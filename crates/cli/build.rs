//! Keeps the binary small, and puts the web page into it.
//!
//! What a backtrace needs to name files and lines is compressed, and read as it is. The page is what `npm run build` has left in
//! `ui/dist`; it is kept there, so that cargo alone builds everything.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};

/// Where the page is, seen from here.
const PAGE: &str = "../../ui/dist";

/// What the server replaces if it is reached below a path.
const BASE: &str = "<base href=\"/\">";

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script by its environment what is built")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={PAGE}");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--compress-debug-sections=zlib");
        // The names of functions that only their own crate calls. Those of our crates are in the debug information as well.
        println!("cargo::rustc-link-arg-bins=-Wl,--discard-all");
    }
    let place = std::env::var_os("OUT_DIR").expect("cargo says where to write");
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    embed(&Path::new(&here).join(PAGE), Path::new(&place));
}

/// Writes a source file with everything that the page consists of.
fn embed(page: &Path, place: &Path) {
    let index = page.join("index.html");
    println!("cargo::rerun-if-changed={}", index.display());
    let text = fs::read_to_string(&index).unwrap_or_else(|error| panic!("{}: {error}", index.display()));
    assert!(text.contains(BASE), "{} has no {BASE}", index.display());
    let mut source = format!("const INDEX: &str = include_str!({index:?});\nconst FILES: &[PageFile] = &[\n");
    let mut files = Vec::new();
    collect(page, &mut files);
    files.sort();
    for (number, file) in files.iter().filter(|file| **file != index).enumerate() {
        let path = file.strip_prefix(page).expect("it was found there").to_str().expect("the path is text");
        let content = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let gzip = compressed(&content).map(|gzip| {
            let target = place.join(format!("page-{number}.gz"));
            fs::write(&target, gzip).unwrap_or_else(|error| panic!("{}: {error}", target.display()));
            target
        });
        let gzip = gzip.map_or("None".to_owned(), |gzip| format!("Some(include_bytes!({gzip:?}))"));
        let line = format!("PageFile {{ path: {path:?}, content: include_bytes!({file:?}), gzip: {gzip} }},");
        writeln!(source, "    {line}").expect("a text can be written to");
    }
    source += "];\n";
    fs::write(place.join("page.rs"), source)
        .expect("cargo's folder for what a build script writes can be written to");
}

/// All files of a folder and of those in it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}

/// The same by gzip, if that is much smaller. It has no name and no time in it, so that equal files stay equal.
fn compressed(content: &[u8]) -> Option<Vec<u8>> {
    let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    gzip.write_all(content).expect("memory can be written to");
    let gzip = gzip.finish().expect("memory can be written to");
    (gzip.len() < content.len() / 10 * 9).then_some(gzip)
}
