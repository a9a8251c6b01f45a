//! What a server says when it starts.

use std::io::{self, Write};
use std::net::SocketAddr;

use jiff::Timestamp;

use super::tls;
use crate::config::{Config, Role, TlsMode};

/// Says it. Nobody may be there to read it any more, and that stops no server.
pub(super) fn print(config: &Config, bound: SocketAddr, now: Timestamp) {
    let _ = write(&mut std::io::stdout().lock(), config, bound, now);
}

fn write(output: &mut impl Write, config: &Config, bound: SocketAddr, now: Timestamp) -> io::Result<()> {
    let secure = config.tls.mode != TlsMode::Off;
    let base = format!("{}://{bound}", if secure { "https" } else { "http" });
    writeln!(
        output,
        "Punctual {} listens on {base}, data in {}",
        env!("CARGO_PKG_VERSION"),
        config.data.dir.display()
    )?;
    if config.clock.start.is_some() || (config.clock.speed - 1.0).abs() > f64::EPSILON {
        writeln!(
            output,
            "*** VIRTUAL CLOCK: the schedule's time is {now}, {} times as fast as real time ***",
            config.clock.speed
        )?;
    }
    match config.server.role {
        Role::All => {}
        Role::Api => writeln!(output, "Role api: nothing fires")?,
        Role::Runner => writeln!(output, "Role runner: only health is served")?,
    }
    let trust = if config.tls.mode == TlsMode::SelfSigned {
        format!("--cacert {} ", tls::self_signed_path(&config.data.dir).display())
    } else {
        String::new()
    };
    writeln!(output, "Create a first job:\n  {}", first_job(&base, &trust))?;
    output.flush()
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
