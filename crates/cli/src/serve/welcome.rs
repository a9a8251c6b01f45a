//! What a server says when it starts.

use std::net::SocketAddr;

use jiff::Timestamp;

use super::tls;
use crate::config::{Config, Role, TlsMode};

pub(super) fn print(config: &Config, bound: SocketAddr, now: Timestamp) {
    let secure = config.tls.mode != TlsMode::Off;
    let base = format!("{}://{bound}", if secure { "https" } else { "http" });
    println!(
        "Punctual {} listens on {base}, data in {}",
        env!("CARGO_PKG_VERSION"),
        config.data.dir.display()
    );
    if !config.clock.start.is_empty() || (config.clock.speed - 1.0).abs() > f64::EPSILON {
        println!(
            "*** VIRTUAL CLOCK: the schedule's time is {now}, {} times as fast as real time ***",
            config.clock.speed
        );
    }
    match config.server.role {
        Role::All => {}
        Role::Api => println!("Role api: nothing fires"),
        Role::Runner => println!("Role runner: only health is served"),
    }
    let trust = if config.tls.mode == TlsMode::SelfSigned {
        format!("--cacert {} ", tls::self_signed_path(&config.data.dir).display())
    } else {
        String::new()
    };
    println!("Create a first job:\n  {}", first_job(&base, &trust));
}

/// One line that makes a collection and a job in it.
fn first_job(base: &str, trust: &str) -> String {
    let collection =
        format!("{base}/subscriptions/s1/resourceGroups/g1/providers/Microsoft.Scheduler/jobCollections/c1");
    let options = format!("{trust}-sS -X PUT -H 'Content-Type: application/json'");
    let job = format!(
        r#"{{"properties": {{"action": {{"type": "Http", "request": {{"method": "GET", "uri": "{base}/healthz"}}}}, "recurrence": {{"frequency": "Minute"}}}}}}"#
    );
    format!(
        "curl {options} '{collection}?api-version=2016-03-01' -d '{{\"location\": \"West US\"}}' \
         --next {options} '{collection}/jobs/hello?api-version=2016-03-01' -d '{job}'"
    )
}
