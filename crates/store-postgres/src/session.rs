//! What must hold for every connection: settings of the session.
//!
//! They are sent when a connection is opened. A pooler may drop them; then they have to be set for the role, and a node
//! refuses to start where they don't hold.

use crate::connection::Connection;
use crate::error::PgError;
use crate::param::params;
use crate::query;

/// Settings of a session, and their values.
pub const SETTINGS: &[(&str, &str)] = &[
    // Arrays are taken for short then, so that all plans are index lookups, also while a table is small.
    ("plan_cache_mode", "force_generic_plan"),
    // Rows are locked in the order of the plan: that of an index, never that of the table.
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    // What is joined is looked up by its key, row by row, in the order of the other side.
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    // Discouraged plans look expensive, and would be compiled.
    ("jit", "off"),
    // A node that hangs must not hold locks.
    ("idle_in_transaction_session_timeout", "10000"),
    ("statement_timeout", "30000"),
];

/// The settings as options of a connection.
pub(crate) fn options() -> String {
    let options = SETTINGS.iter().map(|(name, value)| format!("-c {name}={value}"));
    options.collect::<Vec<_>>().join(" ")
}

/// The first setting that does not hold, as a sentence; none if all do.
pub(crate) async fn problem(connection: &Connection) -> Result<Option<String>, PgError> {
    let names: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).chain(["server_encoding"]).collect();
    let rows = connection.rows(query::session_settings, params![names]).await?;
    for row in rows {
        let (name, value): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        if name == "server_encoding" && value != "UTF8" {
            return Ok(Some(format!("the database has the encoding {value}; make one with UTF8")));
        }
        let wanted = SETTINGS.iter().find(|(known, _)| *known == name);
        if let Some((name, wanted)) = wanted.filter(|(_, wanted)| *wanted != value) {
            return Ok(Some(format!(
                "{name} is {value} for connections to the database and must be {wanted}: \
                 set it with ALTER ROLE ... SET {name} = '{wanted}'"
            )));
        }
    }
    Ok(None)
}
