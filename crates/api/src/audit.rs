//! The operations of the audit log.

use punctual_arm::{ApiError, AuditQuery, audit, page};
use punctual_model::access::Role;
use punctual_store::AuditAsk;
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, trouble};
use crate::request::Call;
use crate::state::ApiState;

/// How many entries one call of the verification checks, about.
const VERIFIED_MAX: usize = 5_000;

/// `GET /audit`: the latest first. An owner sees what concerns the scopes that are its own.
pub(crate) async fn list(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("audit")?;
    let AuditQuery { caller, scope, from, to, before, limit } = AuditQuery::read(&call.query)?;
    // What others did must not even show in where a page ends.
    let scopes = Some(call.caller.parts(Role::Owner, &scope));
    let ask = AuditAsk { scopes, caller, from, to, before, limit };
    let log = state.auditor.log();
    let found = log.audit(&ask).await.map_err(|error| trouble(&error))?;
    let values = found.entries.iter().map(|stored| audit::answer(stored.number, &stored.entry)).collect();
    for number in &found.unreadable {
        tracing::error!(number, "an entry of the audit log can't be read");
    }
    let next = found.next.map(|number| call.next_link(state, "$skiptoken", &AuditQuery::token(number)));
    Answer::ok(&page::answer(values, next))
}

/// What a part of the chain shows, as JSON.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// How many entries were checked.
    pub checked: usize,
    /// A sentence for each thing that does not fit.
    pub problems: Vec<String>,
    /// Where to go on, as the parameter `after`; none at the end.
    pub next: Option<i64>,
    /// How many entries are not sealed yet; told at the end.
    pub unsealed: usize,
    /// The end of the chain; told at the end.
    pub head: Option<Head>,
}

/// The end of the chain. Kept elsewhere, it shows later whether the end was cut off.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Head {
    /// The number of the last piece.
    pub piece: i64,
    /// Its code.
    pub code: String,
}

/// `GET /audit/verification`: checks the next part of the chain, or tells the code of one piece
pub(crate) async fn verify(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("audit")?;
    let after = audit::read_piece(&call.query, "after")?;
    let piece = audit::read_piece(&call.query, "piece")?;
    let log = state.auditor.log();
    if let Some(piece) = piece {
        let code = log.audit_piece_code(piece).await.map_err(|error| trouble(&error))?;
        let head = code.map(|code| Head { piece, code });
        return Answer::ok(&Verification { head, ..Verification::default() });
    }
    let found = log.verify_audit(after, VERIFIED_MAX).await.map_err(|error| trouble(&error))?;
    let answer = Verification {
        checked: found.checked,
        problems: found.problems.iter().map(ToString::to_string).collect(),
        next: found.next,
        unsealed: found.unsealed,
        head: found.head.map(|(piece, code)| Head { piece, code }),
    };
    Answer::ok(&answer)
}
