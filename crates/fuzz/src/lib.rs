//! What must hold whatever bytes somebody sends.
//!
//! Each [`Target`] takes bytes that come from outside, has them read as the server reads them, and panics if something
//! does not hold: that what was read is shown as what reads back the same, that nobody gets in who should not, that no text
//! shows a secret. A fuzzer calls them with bytes that it makes up (`scripts/fuzz`, on top of libFuzzer), and the tests of
//! this crate with those that it has found and kept (`fuzz/corpus`). Time is bounded by whoever calls.

mod access;
mod collection;
mod host;
mod job;
mod jwt;
mod peer;
mod pfx;
mod query;
mod recurrence;
mod scope;
mod server;
mod sign_in;
mod stored;
mod time;

/// Something that reads bytes from outside.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its program in `fuzz/` and of its folder in `fuzz/corpus`.
    pub name: &'static str,
    /// Reads bytes, and panics if something does not hold.
    pub run: fn(&[u8]),
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "access", run: access::run },
    Target { name: "amqp", run: peer::amqp },
    Target { name: "collection", run: collection::run },
    Target { name: "host", run: host::run },
    Target { name: "http_answer", run: peer::http_answer },
    Target { name: "job", run: job::run },
    Target { name: "jwt", run: jwt::run },
    Target { name: "pfx", run: pfx::run },
    Target { name: "query", run: query::run },
    Target { name: "recurrence", run: recurrence::run },
    Target { name: "scope", run: scope::run },
    Target { name: "sign_in", run: sign_in::run },
    Target { name: "stored", run: stored::run },
    Target { name: "time", run: time::run },
];

/// The target of a name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}

/// Runs the target of a name.
pub fn run(name: &str, bytes: &[u8]) {
    let target = target(name).unwrap_or_else(|| panic!("there is no target {name}"));
    (target.run)(bytes);
}
