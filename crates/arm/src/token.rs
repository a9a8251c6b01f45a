//! Tokens of callers: what one shall be, read from a body, and one as it is shown.

use jiff::Timestamp;
use punctual_model::access::{Grant, Role, Token, TokenSecret};

use crate::json::{Json, Members};
use crate::reader::{Object, Path, Problems, parse_object, shown};
use crate::shape::{self, Unknown};
use crate::{ApiError, ApiVersion, id, read_scope, time};

/// The longest name of a token.
const NAME_CHARS_MAX: usize = 100;

/// The most grants of a token: each is looked at with every request.
const GRANTS_MAX: usize = 50;

/// What a new token shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// What the caller is called.
    pub name: String,
    /// What it may do; one grant at least.
    pub grants: Vec<Grant>,
    /// From when on it is not taken any more.
    pub expires_at: Option<Timestamp>,
}

/// Until when a token with a new secret is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewExpiry {
    /// As long as before.
    Kept,
    /// Until then; for ever if none.
    Until(Option<Timestamp>),
}

/// Reads the body of a creation, or says everything that is wrong with it.
pub fn read_create(body: &[u8], now: Timestamp) -> Result<NewToken, ApiError> {
    let document = parse(body)?;
    let mut problems = Problems::default();
    Unknown::of(&document, shape::TOKEN, ApiVersion::V2026_11).add_to(&mut problems);
    let read = Object::of(&document, Path::Root, &mut problems).map(|document| {
        let name = document.required_text("name", &mut problems).unwrap_or_default();
        if !name.is_empty() || document.get("name").is_some_and(|name| name.as_str().is_some()) {
            check_name(name, &document, &mut problems);
        }
        let grants = read_grants(&document, &mut problems);
        NewToken { name: name.to_owned(), grants, expires_at: read_expiry(&document, now, &mut problems) }
    });
    match read {
        Some(token) if problems.is_empty() => Ok(token),
        _ => Err(ApiError::invalid(&problems.into_vec())),
    }
}

/// Reads the body of a rotation, which may be empty.
pub fn read_rotate(body: &[u8], now: Timestamp) -> Result<NewExpiry, ApiError> {
    if body.trim_ascii().is_empty() {
        return Ok(NewExpiry::Kept);
    }
    let document = parse(body)?;
    let mut problems = Problems::default();
    Unknown::of(&document, shape::TOKEN_ROTATION, ApiVersion::V2026_11).add_to(&mut problems);
    let read = Object::of(&document, Path::Root, &mut problems).map(|document| {
        match read_expiry(&document, now, &mut problems) {
            None if !document.nulled("expiresAt") => NewExpiry::Kept,
            until => NewExpiry::Until(until),
        }
    });
    match read {
        Some(expiry) if problems.is_empty() => Ok(expiry),
        _ => Err(ApiError::invalid(&problems.into_vec())),
    }
}

/// A token as it is shown, without its secret.
pub fn answer(token: &Token) -> Json<'_> {
    members(token, None).into()
}

/// A token with its secret, which is shown this once.
pub fn answer_with_secret<'a>(token: &'a Token, secret: &'a TokenSecret) -> Json<'a> {
    members(token, Some(secret)).into()
}

fn members<'a>(token: &'a Token, secret: Option<&'a TokenSecret>) -> Members<'a> {
    let instant = |at: Option<Timestamp>| at.map_or(Json::Null, |at| time::instant(at).into());
    let grant = |grant: &Grant| {
        let mut members = Members::new();
        members.insert("role", grant.role.name().into());
        members.insert("scope", id::scope(&grant.scope).into());
        Json::from(members)
    };
    let mut members = Members::new();
    members.insert("id", token.id.0.as_str().into());
    members.insert("name", token.name.as_str().into());
    if let Some(secret) = secret {
        members.insert("token", secret.expose().into());
    }
    members.insert("grants", token.grants.iter().map(grant).collect::<Vec<_>>().into());
    members.insert("createdAt", time::instant(token.created_at).into());
    members.insert("expiresAt", instant(token.expires_at));
    members.insert("lastUsedAt", instant(token.last_used_at));
    members
}

fn parse(body: &[u8]) -> Result<Json<'_>, ApiError> {
    parse_object(body).map_err(|why| ApiError::bad_request(format!("Malformed Token Object: {why}.")))
}

fn check_name(name: &str, document: &Object<'_>, problems: &mut Problems) {
    let fits = (1..=NAME_CHARS_MAX).contains(&name.chars().count())
        && name.trim() == name
        && !name.chars().any(|one| one.is_control() || one == '\'' || one == '/');
    if !fits {
        let rule = format!(
            "'{}' is no name of a token: it must be 1 to {NAME_CHARS_MAX} characters, none of them / ' or a control \
             character, without blanks around it",
            shown(name)
        );
        document.note("name", rule, problems);
    }
}

fn read_grants(document: &Object<'_>, problems: &mut Problems) -> Vec<Grant> {
    let items = document.items("grants");
    if items.is_empty() {
        let message = r#"is required: a list of {"role": …, "scope": …}"#;
        document.note("grants", message, problems);
    }
    if items.len() > GRANTS_MAX {
        let message = format!("must have at most {GRANTS_MAX} grants, not {}", items.len());
        document.note("grants", message, problems);
        return Vec::new();
    }
    let roles = Role::ALL.map(|role| (role.name(), role));
    let list = document.at("grants");
    let mut grants = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let Some(grant) = Object::of(item, Path::Item(&list, index), problems) else { continue };
        if grant.get("role").is_none() {
            grant.note("role", "is required", problems);
        }
        let role = grant.name_of("role", &roles, problems);
        let scope = grant.required_text("scope", problems);
        let scope =
            scope.and_then(|scope| read_scope(scope).map_err(|why| grant.note("scope", why, problems)).ok());
        if let (Some(role), Some(scope)) = (role, scope) {
            grants.push(Grant { role, scope });
        }
    }
    grants
}

fn read_expiry(document: &Object<'_>, now: Timestamp, problems: &mut Problems) -> Option<Timestamp> {
    let expires_at = document.instant("expiresAt", problems)?;
    if expires_at <= now {
        let message = format!("must be later than now, {}", time::instant(now));
        document.note("expiresAt", message, problems);
    }
    Some(expires_at)
}

#[cfg(test)]
mod tests {
    use punctual_model::Scope;

    use super::*;

    const NOW: &str = "2026-11-15T12:00:00Z";

    fn read(body: &str) -> Result<NewToken, String> {
        read_create(body.as_bytes(), NOW.parse().unwrap()).map_err(|error| error.message)
    }

    #[test]
    fn a_token_is_read() {
        let body = r#"{"name": "ci", "grants": [{"role": "Contributor", "scope": "/subscriptions/s1"}],
            "expiresAt": "2027-01-01"}"#;
        let grant = Grant { role: Role::Contributor, scope: Scope::Subscription("s1".into()) };
        let expires_at = Some("2027-01-01T00:00:00Z".parse().unwrap());
        assert_eq!(read(body), Ok(NewToken { name: "ci".to_owned(), grants: vec![grant], expires_at }));
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let check = |body: &str, expected: &str| assert_eq!(read(body).unwrap_err(), expected, "{body}");
        check("{}", r#"name: is required; grants: is required: a list of {"role": …, "scope": …}"#);
        check(
            r#"{"name": " x", "grants": [{"role": "admin"}, 5, {"scope": "/x"}], "expiresAt": "2020-01-01", "role": 1}"#,
            "role: unknown member, did you mean grants.role?; \
             name: ' x' is no name of a token: it must be 1 to 100 characters, none of them / ' or a control character, \
             without blanks around it; \
             grants[0].role: 'admin' is not one of reader, operator, contributor, owner; \
             grants[0].scope: is required; grants[1]: must be an object, not a number; grants[2].role: is required; \
             grants[2].scope: '/x' is no scope: use /, /subscriptions/{s}, /subscriptions/{s}/resourceGroups/{g} or the \
             id of a job collection; \
             expiresAt: must be later than now, 2026-11-15T12:00:00Z",
        );
        check("[]", "Malformed Token Object: the body must be an object, not an array.");
    }

    #[test]
    fn a_rotation_keeps_the_expiry_unless_it_says_another() {
        let check = |body: &str, expected: NewExpiry| {
            assert_eq!(read_rotate(body.as_bytes(), NOW.parse().unwrap()), Ok(expected), "{body}");
        };
        check("", NewExpiry::Kept);
        check("{}", NewExpiry::Kept);
        check(r#"{"expiresAt": null}"#, NewExpiry::Until(None));
        let then = "2026-12-01T00:00:00Z".parse().unwrap();
        check(r#"{"expiresAt": "2026-12-01"}"#, NewExpiry::Until(Some(then)));
        assert!(read_rotate(br#"{"expiresAt": "2026-11-15T12:00:00Z"}"#, NOW.parse().unwrap()).is_err());
    }
}
