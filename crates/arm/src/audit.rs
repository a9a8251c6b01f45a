//! The audit log: which entries are asked for, and an entry as it is shown.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use punctual_model::Scope;
use punctual_model::audit::{AuditEntry, Digest};

use crate::json::{Json, Members};
use crate::occurrence::read_instant;
use crate::{ApiError, Query, id, page, read_scope, time};

/// The page size of entries without `$top`.
const ENTRIES_LIMIT: usize = 100;

/// Which entries of the audit log to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only those of this caller, by id or name.
    pub caller: Option<String>,
    /// Only those about this scope or something in it.
    pub scope: Scope,
    /// Only those at this time or later.
    pub from: Option<Timestamp>,
    /// Only those before this time.
    pub to: Option<Timestamp>,
    /// Only those before this one.
    pub before: Option<i64>,
    /// The most entries of the page.
    pub limit: usize,
}

impl AuditQuery {
    /// Reads the query of a list of entries.
    pub fn read(query: &Query) -> Result<Self, ApiError> {
        let (_, top) = page::read_numbers(query)?;
        let scope = query.get("scope").map(read_scope).transpose();
        let scope = scope.map_err(|why| ApiError::bad_request(format!("scope: {why}.")))?;
        let before = query.get("$skiptoken").map(|token| {
            let text = page::read_token(token)?;
            let number = text.strip_prefix("a1 ").and_then(|number| number.parse().ok());
            number.ok_or_else(page::unknown_token)
        });
        Ok(Self {
            caller: query.get("caller").map(str::to_owned),
            scope: scope.unwrap_or(Scope::Everything),
            from: read_instant(query, "from")?,
            to: read_instant(query, "to")?,
            before: before.transpose()?,
            limit: top.unwrap_or(ENTRIES_LIMIT),
        })
    }

    /// The `$skiptoken` of the page behind an entry.
    pub fn token(number: i64) -> String {
        URL_SAFE_NO_PAD.encode(format!("a1 {number}"))
    }
}

/// Reads the number of a piece of the chain: the parameter of this name.
pub fn read_piece(query: &Query, name: &str) -> Result<Option<i64>, ApiError> {
    let wrong = || ApiError::bad_request(format!("{name}: it must be the number of a piece of the chain."));
    query.get(name).map(|text| text.parse().map_err(|_| wrong())).transpose()
}

/// An entry as it is shown.
pub fn answer(number: i64, entry: &AuditEntry) -> Json<'_> {
    let digest = |digest: Option<Digest>| digest.map_or(Json::Null, |digest| digest.text().into());
    let mut caller = Members::new();
    caller.insert("id", (&*entry.caller_id).into());
    caller.insert("name", (&*entry.caller_name).into());
    caller.insert("kind", entry.kind.name().into());
    let mut members = Members::new();
    members.insert("number", number.into());
    members.insert("time", time::instant(entry.at).into());
    members.insert("caller", caller.into());
    members.insert("source", (&*entry.source).into());
    members.insert("action", (&*entry.action).into());
    members.insert("scope", id::scope(&entry.scope).into());
    if !entry.subject.is_empty() {
        members.insert("subject", (&*entry.subject).into());
    }
    members.insert("outcome", entry.outcome.name().into());
    members.insert("requestId", (&*entry.request_id).into());
    members.insert("count", i64::from(entry.count).into());
    members.insert("before", digest(entry.before));
    members.insert("after", digest(entry.after));
    members.into()
}
