//! The authentication of HTTP requests. Secrets are read and never rendered.

use crate::json::{Json, Members};
use jiff::Timestamp;
use punctual_model::{Action, ActionKind, Authentication, Certificate, Secret};

use super::Reading;
use crate::job::JOB_BYTES_MAX;
use crate::reader::{Object, Problems};
use crate::shape::{Member, value};
use crate::time;

/// The members of every type: what was read under one may be sent back under another.
pub(super) const AUTHENTICATION: &[Member] = &[
    value("type"),
    value("username"),
    value("password"),
    value("pfx"),
    value("certificateThumbprint"),
    value("certificateExpiration"),
    value("certificateExpirationDate"),
    value("certificateSubjectName"),
    value("tenant"),
    value("audience"),
    value("clientId"),
    value("secret"),
];

#[derive(Clone, Copy)]
enum Type {
    NotSpecified,
    Basic,
    ClientCertificate,
    ActiveDirectoryOAuth,
}

const TYPES: [(&str, Type); 4] = [
    ("NotSpecified", Type::NotSpecified),
    ("Basic", Type::Basic),
    ("ClientCertificate", Type::ClientCertificate),
    ("ActiveDirectoryOAuth", Type::ActiveDirectoryOAuth),
];

/// Reads the `authentication` of a request. Where a secret is missing, that of `kept` stays if it has the same
/// type.
pub(super) fn read(
    request: &Object<'_>,
    kept: Option<&Authentication>,
    reading: Reading<'_>,
    problems: &mut Problems,
) -> Option<Authentication> {
    let value = request.get("authentication")?;
    let object = Object::of(value, request.at("authentication"), problems)?;
    if object.get("type").is_none() {
        object.note("type", "is required", problems);
    }
    match object.name_of("type", &TYPES, problems)? {
        Type::NotSpecified => None,
        Type::Basic => read_basic(&object, kept, problems),
        Type::ClientCertificate => read_certificate(&object, kept, reading, problems),
        Type::ActiveDirectoryOAuth => read_oauth(&object, kept, problems),
    }
}

fn read_basic(
    object: &Object<'_>,
    kept: Option<&Authentication>,
    problems: &mut Problems,
) -> Option<Authentication> {
    let kept = match kept {
        Some(Authentication::Basic { password, .. }) => Some(password),
        _ => None,
    };
    let username = object.text("username", problems).filter(|username| !username.is_empty());
    let password = secret(object, "password", kept, problems);
    let (Some(username), Some(password)) = (username, password) else {
        let message = "'Username' and 'Password' are required for 'Basic' type of Authentication.";
        problems.add(object.path(), message);
        return None;
    };
    Some(Authentication::Basic { username: username.to_owned(), password })
}

fn read_oauth(
    object: &Object<'_>,
    kept: Option<&Authentication>,
    problems: &mut Problems,
) -> Option<Authentication> {
    let kept = match kept {
        Some(Authentication::ActiveDirectoryOAuth { secret, .. }) => Some(secret),
        _ => None,
    };
    let tenant = object.required_text("tenant", problems);
    let audience = object.required_text("audience", problems);
    let client_id = object.required_text("clientId", problems);
    let secret = required_secret(object, "secret", kept, problems);
    // The tenant becomes part of the URL from which the token is requested.
    if let Some(tenant) = tenant
        && !super::message::is_host_part(tenant)
    {
        object.note("tenant", "must be a domain or a GUID", problems);
    }
    Some(Authentication::ActiveDirectoryOAuth {
        secret: secret?,
        tenant: tenant?.to_owned(),
        audience: audience?.to_owned(),
        client_id: client_id?.to_owned(),
    })
}

fn read_certificate(
    object: &Object<'_>,
    kept: Option<&Authentication>,
    reading: Reading<'_>,
    problems: &mut Problems,
) -> Option<Authentication> {
    let (kept_pfx, kept_password) = match kept {
        Some(Authentication::ClientCertificate { pfx, password, .. }) => (Some(pfx), Some(password)),
        _ => (None, None),
    };
    let pfx = required_secret(object, "pfx", kept_pfx, problems);
    let password = required_secret(object, "password", kept_password, problems);
    let (pfx, password) = (pfx?, password?);
    // A file that is too large for a job need not be opened.
    if pfx.expose().len() > 2 * JOB_BYTES_MAX {
        object.note("pfx", "is too large for a job", problems);
        return None;
    }
    let pfx = Secret::new(punctual_pfx::strip(pfx.expose()));
    let certificate = match opened_before(reading.opened, &pfx, &password) {
        Some(certificate) => certificate,
        None => match open(&pfx, &password) {
            Ok(certificate) => certificate,
            Err(why) => {
                object.note("pfx", why, problems);
                return None;
            }
        },
    };
    Some(Authentication::ClientCertificate { pfx, password, certificate })
}

/// The facts of a file that the stored job has as well; opening a file takes as long as reading fifty jobs.
fn opened_before(stored: Option<&Action>, pfx: &Secret, password: &Secret) -> Option<Certificate> {
    stored?.steps().find_map(|step| match &step.kind {
        ActionKind::Http(http) => match &http.authentication {
            Some(Authentication::ClientCertificate { pfx: old, password: old_password, certificate })
                if old == pfx && old_password == password =>
            {
                Some(certificate.clone())
            }
            _ => None,
        },
        _ => None,
    })
}

fn open(pfx: &Secret, password: &Secret) -> Result<Certificate, String> {
    let file = punctual_pfx::decode(pfx.expose()).map_err(|error| error.to_string())?;
    let facts = punctual_pfx::open(&file, password.expose()).map_err(|error| error.to_string())?.facts;
    let expires_at = Timestamp::from_second(facts.expires_at_unix);
    let expires_at = expires_at.map_err(|_| "has a certificate with an impossible expiry".to_owned())?;
    Ok(Certificate { thumbprint: facts.thumbprint, subject: facts.subject, expires_at })
}

/// A secret: the given one; else the kept one, unless a null removes it.
pub(super) fn secret(
    object: &Object<'_>,
    name: &str,
    kept: Option<&Secret>,
    problems: &mut Problems,
) -> Option<Secret> {
    if object.get(name).is_some() {
        return object.text(name, problems).map(Secret::new);
    }
    if object.nulled(name) { None } else { kept.cloned() }
}

pub(super) fn required_secret(
    object: &Object<'_>,
    name: &str,
    kept: Option<&Secret>,
    problems: &mut Problems,
) -> Option<Secret> {
    let secret = secret(object, name, kept, problems);
    if secret.is_none() && object.get(name).is_none() {
        object.note(name, "is required", problems);
    }
    secret
}

pub(super) fn render(authentication: &Authentication) -> Json<'_> {
    let mut members = Members::new();
    match authentication {
        Authentication::Basic { username, password: _ } => {
            members.insert("username", username.as_str().into());
            members.insert("type", "Basic".into());
        }
        Authentication::ClientCertificate { pfx: _, password: _, certificate } => {
            let expires_at = time::instant(certificate.expires_at);
            members.insert("certificateThumbprint", certificate.thumbprint.as_str().into());
            // The original service wrote the first name; its published description has the second.
            members.insert("certificateExpiration", expires_at.clone().into());
            members.insert("certificateExpirationDate", expires_at.into());
            members.insert("certificateSubjectName", certificate.subject.as_str().into());
            members.insert("type", "ClientCertificate".into());
        }
        Authentication::ActiveDirectoryOAuth { secret: _, tenant, audience, client_id } => {
            members.insert("tenant", tenant.as_str().into());
            members.insert("audience", audience.as_str().into());
            members.insert("clientId", client_id.as_str().into());
            members.insert("type", "ActiveDirectoryOAuth".into());
        }
    }
    members.into()
}

pub(super) fn secret_bytes(authentication: &Authentication) -> usize {
    match authentication {
        Authentication::Basic { password, .. } => password.expose().len(),
        Authentication::ClientCertificate { pfx, password, .. } => {
            pfx.expose().len() + password.expose().len()
        }
        Authentication::ActiveDirectoryOAuth { secret, .. } => secret.expose().len(),
    }
}
