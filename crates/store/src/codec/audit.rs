//! An entry of the audit log as it is stored: a version and JSON. The chain covers these bytes, so they are written
//! once and never again.

use std::borrow::Cow;

use punctual_model::access::CallerKind;
use punctual_model::audit::{AuditEntry, AuditOutcome, Digest};
use serde::{Deserialize, Serialize};

use super::grants::{names, scope};
use super::spec::Instant1;
use super::{CodecError, Number, body, damaged, versioned};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry1<'a> {
    at: Instant1,
    caller: Cow<'a, str>,
    name: Cow<'a, str>,
    kind: u8,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    source: Cow<'a, str>,
    action: Cow<'a, str>,
    scope: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    subject: Cow<'a, str>,
    outcome: u8,
    request: Cow<'a, str>,
    count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Cow<'a, str>>,
}

/// Encodes an entry.
pub fn encode_audit(entry: &AuditEntry) -> Vec<u8> {
    versioned(&Entry1 {
        at: Instant1::of(entry.at),
        caller: (&*entry.caller_id).into(),
        name: (&*entry.caller_name).into(),
        kind: entry.kind.number(),
        source: (&*entry.source).into(),
        action: (&*entry.action).into(),
        scope: names(&entry.scope).into_iter().map(Cow::from).collect(),
        subject: (&*entry.subject).into(),
        outcome: entry.outcome.number(),
        request: (&*entry.request_id).into(),
        count: entry.count,
        before: entry.before.map(|digest| digest.text().into()),
        after: entry.after.map(|digest| digest.text().into()),
    })
}

/// Decodes an entry.
pub fn decode_audit(document: &[u8]) -> Result<AuditEntry, CodecError> {
    let stored: Entry1<'_> = serde_json::from_slice(body(document)?).map_err(damaged)?;
    let names: Vec<String> = stored.scope.into_iter().map(Cow::into_owned).collect();
    Ok(AuditEntry {
        at: stored.at.into_model()?,
        caller_id: stored.caller.as_ref().into(),
        caller_name: stored.name.as_ref().into(),
        kind: CallerKind::from_number(stored.kind.into()).ok_or(CodecError::Invalid { what: "kind" })?,
        source: stored.source.as_ref().into(),
        action: stored.action.as_ref().into(),
        scope: scope(&names).ok_or(CodecError::Invalid { what: "scope" })?,
        subject: stored.subject.as_ref().into(),
        outcome: AuditOutcome::from_number(stored.outcome.into())
            .ok_or(CodecError::Invalid { what: "outcome" })?,
        request_id: stored.request.as_ref().into(),
        count: stored.count,
        before: stored.before.as_deref().map(digest).transpose()?,
        after: stored.after.as_deref().map(digest).transpose()?,
    })
}

fn digest(text: &str) -> Result<Digest, CodecError> {
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32);
    number.map(|number| Digest(number.to_be_bytes())).ok_or(CodecError::Invalid { what: "digest" })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use punctual_model::{CollectionKey, Scope};

    use super::*;

    #[test]
    fn the_stored_form_does_not_change() {
        let entry = AuditEntry {
            at: Timestamp::from_second(1).unwrap(),
            caller_id: "id".into(),
            caller_name: "ci".into(),
            kind: CallerKind::Token,
            source: "192.0.2.1".into(),
            action: "Microsoft.Scheduler/jobcollections/write".into(),
            scope: Scope::Collection(CollectionKey::new("s1", "g1", "c1")),
            subject: "".into(),
            outcome: AuditOutcome::Done,
            request_id: "r".into(),
            count: 1,
            before: None,
            after: Some(Digest([0xab; 16])),
        };
        let document = encode_audit(&entry);
        let expected = concat!(
            r#"1{"at":10000000,"caller":"id","name":"ci","kind":1,"source":"192.0.2.1","#,
            r#""action":"Microsoft.Scheduler/jobcollections/write","scope":["s1","g1","c1"],"outcome":0,"#,
            r#""request":"r","count":1,"after":"abababababababababababababababab"}"#
        );
        assert_eq!(std::str::from_utf8(&document).unwrap(), expected);
        assert_eq!(decode_audit(&document).unwrap(), entry);
    }
}
