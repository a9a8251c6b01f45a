//! The authentication of HTTP requests. Secrets are read and never rendered.

use crate::json::{Json, Members};
use jiff::Timestamp;
use punctual_model::{Action, ActionKind, Authentication, Certificate, Secret};

use super::{Certificates, Reading};
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

/// A stored secret that stays where none is given, unless it would be sent to another address then.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    secret: Option<&'a Secret>,
    /// The member that has another address than the stored one.
    moved: Option<&'static str>,
}

impl<'a> Kept<'a> {
    pub(super) const NOTHING: Self = Self { secret: None, moved: None };

    /// Nothing yet, of something stored whose address was `old`; `member` has the new one.
    pub(super) fn at(old: &str, new: Option<&str>, member: &'static str) -> Self {
        let moved = new.is_some_and(|new| !new.eq_ignore_ascii_case(old));
        Self { secret: None, moved: moved.then_some(member) }
    }

    /// The same for an HTTP request, whose address is scheme, host and port.
    pub(super) fn at_uri(moved: bool) -> Self {
        Self { secret: None, moved: moved.then_some("uri") }
    }

    pub(super) fn of(self, secret: Option<&'a Secret>) -> Self {
        Self { secret, ..self }
    }

    /// The secret, or a problem if it would be sent to another address.
    fn take(self, object: &Object<'_>, name: &str, problems: &mut Problems) -> Option<Secret> {
        let secret = self.secret?;
        match self.moved {
            None => Some(secret.clone()),
            Some(member) => {
                object.note(name, sent_again(member), problems);
                None
            }
        }
    }

    /// Whether the secret must be sent again.
    fn is_moved(self) -> bool {
        self.secret.is_some() && self.moved.is_some()
    }
}

/// Why a secret must be sent again; `member` has another address.
pub(super) fn sent_again(member: &str) -> String {
    let what =
        if member == "uri" { "scheme, host or port of 'uri'".to_owned() } else { format!("'{member}'") };
    format!(
        "must be sent again, because {what} has changed, and a stored secret does not follow to another address"
    )
}

/// Reads the `authentication` of a request. Where a secret is missing, that of `kept` stays if it has the same
/// type, and if the request goes where it went: else it has `moved`.
pub(super) fn read(
    request: &Object<'_>,
    kept: Option<&Authentication>,
    moved: bool,
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
        Type::Basic => read_basic(&object, kept, moved, problems),
        Type::ClientCertificate => read_certificate(&object, kept, moved, reading.certificates, problems),
        Type::ActiveDirectoryOAuth => read_oauth(&object, kept, moved, problems),
    }
}

fn read_basic(
    object: &Object<'_>,
    kept: Option<&Authentication>,
    moved: bool,
    problems: &mut Problems,
) -> Option<Authentication> {
    let kept = Kept::at_uri(moved).of(match kept {
        Some(Authentication::Basic { password, .. }) => Some(password),
        _ => None,
    });
    let username = object.text("username", problems).filter(|username| !username.is_empty());
    let password = secret(object, "password", kept, problems);
    if password.is_none() && username.is_some() && kept.is_moved() && absent(object, "password") {
        return None;
    }
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
    moved: bool,
    problems: &mut Problems,
) -> Option<Authentication> {
    let kept = Kept::at_uri(moved).of(match kept {
        Some(Authentication::ActiveDirectoryOAuth { secret, .. }) => Some(secret),
        _ => None,
    });
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
    moved: bool,
    certificates: Certificates<'_>,
    problems: &mut Problems,
) -> Option<Authentication> {
    let at = Kept::at_uri(moved);
    let (kept_pfx, kept_password, kept_facts) = match kept {
        Some(Authentication::ClientCertificate { pfx, password, certificate }) => {
            (Some(pfx), Some(password), Some(certificate))
        }
        _ => (None, None, None),
    };
    let pfx = required_secret(object, "pfx", at.of(kept_pfx), problems);
    let password = required_secret(object, "password", at.of(kept_password), problems);
    let (pfx, password) = (pfx?, password?);
    // A file that is too large for a job need not be opened.
    if pfx.expose().len() > 2 * JOB_BYTES_MAX {
        object.note("pfx", "is too large for a job", problems);
        return None;
    }
    let pfx = Secret::new(punctual_pfx::strip(pfx.expose()));
    let given = object.get("pfx").is_some() && object.get("password").is_some();
    let untouched = kept_facts.filter(|_| certificates.only_given && !given).cloned();
    let certificate = match untouched.or_else(|| opened_before(certificates.opened, &pfx, &password)) {
        Some(certificate) => certificate,
        None if !certificates.may_open => {
            certificates.must_open.set(true);
            return None;
        }
        None => match open(&pfx, &password, certificates) {
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

fn open(pfx: &Secret, password: &Secret, certificates: Certificates<'_>) -> Result<Certificate, String> {
    let file = punctual_pfx::decode(pfx.expose()).map_err(|error| error.to_string())?;
    let rounds = punctual_pfx::rounds(&file).map_err(|error| error.to_string())?;
    let rounds = certificates.rounds.get().saturating_add(rounds);
    if rounds > punctual_pfx::ROUNDS_MAX {
        return Err(
            "asks, with the other certificates of the job, for too many key derivation rounds".to_owned()
        );
    }
    certificates.rounds.set(rounds);
    let facts = punctual_pfx::open(&file, password.expose()).map_err(|error| error.to_string())?.facts;
    let expires_at = Timestamp::from_second(facts.expires_at_unix);
    let expires_at = expires_at.map_err(|_| "has a certificate with an impossible expiry".to_owned())?;
    Ok(Certificate { thumbprint: facts.thumbprint, subject: facts.subject, expires_at })
}

/// A secret: the given one; else the kept one, unless a null removes it.
pub(super) fn secret(
    object: &Object<'_>,
    name: &str,
    kept: Kept<'_>,
    problems: &mut Problems,
) -> Option<Secret> {
    if object.get(name).is_some() {
        return object.text(name, problems).map(Secret::new);
    }
    if object.nulled(name) { None } else { kept.take(object, name, problems) }
}

/// Whether a member is neither given nor taken away.
fn absent(object: &Object<'_>, name: &str) -> bool {
    object.get(name).is_none() && !object.nulled(name)
}

pub(super) fn required_secret(
    object: &Object<'_>,
    name: &str,
    kept: Kept<'_>,
    problems: &mut Problems,
) -> Option<Secret> {
    let secret = secret(object, name, kept, problems);
    let told = kept.is_moved() && absent(object, name);
    if secret.is_none() && object.get(name).is_none() && !told {
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
