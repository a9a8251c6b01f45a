//! Keeps the binary small: what a backtrace needs to name files and lines is compressed, and read as it is.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo tells a build script by its environment what is built"
    )]
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--compress-debug-sections=zlib");
        // The names of functions that only their own crate calls. Those of our crates are in the debug information as well.
        println!("cargo::rustc-link-arg-bins=-Wl,--discard-all");
    }
}
