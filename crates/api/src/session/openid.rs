//! Signing in through a provider of OpenID Connect: sends somebody there, and takes them back.

use http::{StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_arm::ApiError;
use punctual_model::Scope;
use punctual_model::audit::{AuditOutcome, Author};

use super::login::{Login, TIME_MAX};
use super::{open, page};
use crate::access::{NotSignedIn, plain};
use crate::answer::Answer;
use crate::request::Call;
use crate::state::ApiState;
use crate::{cookie, origin, prefix};

/// Where providers send people back to. They know it, so it never changes.
const CALLBACK: &str = "/session/callback";

/// Where a sign-in begins.
const BEGIN: &str = "/session/openid";

/// The longest path to return to.
const RETURN_BYTES_MAX: usize = 1_024;

/// How much of what a provider says is shown.
const DESCRIPTION_CHARS_MAX: usize = 300;

/// The link by which a sign-in through an issuer begins.
pub(super) fn begin_url(base: &str, issuer: &str) -> String {
    format!("{base}{BEGIN}?issuer={}", utf8_percent_encode(issuer, NON_ALPHANUMERIC))
}

/// `GET /session/openid`: sends somebody to a provider
pub(crate) async fn begin(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    let mut issuers = state.access.sign_in_issuers();
    let asked = call.query.get("issuer");
    let issuer = match asked {
        Some(asked) => issuers.find(|(url, _)| *url == asked),
        None => issuers.next().filter(|_| issuers.next().is_none()),
    };
    let Some((issuer, _)) = issuer else {
        let why = if asked.is_some() || state.access.sign_in_issuers().next().is_none() {
            "This server has no such provider to sign in through: auth.issuers names those that it has, each with a client_id."
        } else {
            "There are several providers: the parameter issuer says which."
        };
        return Ok(page::refusal(StatusCode::NOT_FOUND, why, None));
    };
    let return_to = match call.query.get("return") {
        None => home(&call.base(state)).to_owned(),
        Some(path) if is_local_path(path) => path.to_owned(),
        Some(_) => {
            let why = "The parameter return must be a path of this server, such as /jobs.";
            return Ok(page::refusal(StatusCode::BAD_REQUEST, why, None));
        }
    };
    if origin::from_elsewhere(call.headers()) {
        // Another site must not begin a sign-in in somebody's name. A click here does.
        let base = call.base(state);
        let again = begin_url(prefix::of_url(&base), issuer);
        let again = format!("{again}&return={}", utf8_percent_encode(&return_to, NON_ALPHANUMERIC));
        let why = "A page of another site sent you here to sign in.";
        return Ok(page::refusal(StatusCode::FORBIDDEN, why, Some((&again, "Sign in"))));
    }
    let redirect_uri = format!("{}{CALLBACK}", call.base(state));
    let login = Login::begin(issuer, redirect_uri, return_to, state.access.now(), &*state.random);
    let url = match state.access.sign_in_url(issuer, &login.attempt).await {
        Ok(url) => url,
        Err(not) => return Ok(told(&not)),
    };
    let sealed = match login.seal(state).await {
        Ok(sealed) => sealed,
        Err(error) => return Ok(page::error(&error)),
    };
    let answer = Answer::empty(StatusCode::SEE_OTHER)?
        .with_header(header::LOCATION, &url)
        .with_header(header::CACHE_CONTROL, "no-store")
        .with_header(header::REFERRER_POLICY, "no-referrer");
    Ok(answer.with_header(header::SET_COOKIE, &cookie::set_login(&sealed, TIME_MAX.as_secs())))
}

/// `GET /session/callback`: takes somebody back whom a provider sends
pub(crate) async fn finish(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    let (answer, over) = match signed_in(state, call).await {
        Ok(answer) => (answer, true),
        Err(Failure::Trouble(error)) => (page::error(&error), true),
        Err(Failure::Not(not)) => (refuse(state, call, &not).await, true),
        // The one under way may still come back.
        Err(Failure::Another) => {
            let why = "The provider answers another sign-in than the one under way. Begin again.";
            (refuse(state, call, &NotSignedIn::Refused(why.to_owned())).await, false)
        }
    };
    Ok(if over { answer.with_header(header::SET_COOKIE, cookie::LOGIN_ENDED) } else { answer })
}

/// Notes that somebody is not signed in, and says why.
async fn refuse(state: &ApiState, call: &Call<'_>, not: &NotSignedIn) -> Answer {
    note_failure(state, call, not);
    // A provider that can't be asked is nobody's guess.
    let slowed = match not {
        NotSignedIn::Refused(_) => state.limiter.sign_in_failed(call.source, state.access.now()).await,
        NotSignedIn::Unavailable | NotSignedIn::Stranger(_) => None,
    };
    slowed.unwrap_or_else(|| told(not))
}

/// Why somebody is not signed in.
enum Failure {
    Not(NotSignedIn),
    /// What comes back does not belong to the sign-in under way.
    Another,
    Trouble(ApiError),
}

impl From<NotSignedIn> for Failure {
    fn from(not: NotSignedIn) -> Self {
        Self::Not(not)
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Trouble(error)
    }
}

async fn signed_in(state: &ApiState, call: &Call<'_>) -> Result<Answer, Failure> {
    let refused = |why: &str| Failure::Not(NotSignedIn::Refused(why.to_owned()));
    let one = |name: &str| if call.query.count(name) > 1 { None } else { call.query.get(name) };
    let login = match cookie::login(call.headers()) {
        None => None,
        Some(cookie) => Login::open(cookie, state).await?,
    };
    let login = login.ok_or_else(|| {
        refused(
            "No sign-in is under way in this browser: it took longer than ten minutes, or has come back already, or began \
             at another address than the one of server.public_url. Begin again.",
        )
    })?;
    if one("state") != Some(&login.attempt.state) {
        return Err(Failure::Another);
    }
    if !state.access.spend_sign_in(&login.attempt.state, login.expires_at) {
        return Err(refused("This sign-in has come back already. Begin again."));
    }
    // Two senders are none that could be checked.
    let sender = if call.query.count("iss") > 1 { Some("") } else { call.query.get("iss") };
    state.access.check_sender(&login.issuer, sender).await?;
    if let Some(error) = call.query.get("error") {
        let said = call.query.get("error_description").unwrap_or_default();
        let said: String =
            said.chars().filter(|letter| !letter.is_control()).take(DESCRIPTION_CHARS_MAX).collect();
        let colon = if said.is_empty() { "" } else { ": " };
        return Err(refused(&format!("The provider did not sign you in ({}){colon}{said}", plain(error))));
    }
    let code = one("code").ok_or_else(|| refused("The provider sent no code."))?;
    let (caller, holder) = state.access.finish_sign_in(&login.issuer, &login.attempt, code).await?;
    let (_, secret) = open(state, call, &caller, holder).await?;
    Ok(super::with_session(page::going_on(&login.return_to), &secret))
}

fn note_failure(state: &ApiState, call: &Call<'_>, not: &NotSignedIn) {
    let entry = match not {
        // It is known who it was.
        NotSignedIn::Stranger(caller) => {
            let author = Author { caller: caller.clone(), ..call.author.clone() };
            author.entry(Scope::Everything, AuditOutcome::Denied)
        }
        NotSignedIn::Unavailable | NotSignedIn::Refused(_) => {
            call.author.entry(Scope::Everything, AuditOutcome::SignInFailed)
        }
    };
    state.auditor.note(entry);
}

fn told(not: &NotSignedIn) -> Answer {
    match not {
        NotSignedIn::Unavailable => {
            let why = "The provider can't be asked now. Please try again in a moment.";
            let answer = page::refusal(StatusCode::SERVICE_UNAVAILABLE, why, None);
            answer.with_header(header::RETRY_AFTER, "5")
        }
        NotSignedIn::Refused(why) => page::refusal(StatusCode::BAD_REQUEST, why, None),
        NotSignedIn::Stranger(caller) => {
            let why = format!(
                "You are '{}' to the provider ('sub' is '{}'), and no rule of this server grants you anything. Whoever runs \
                 it adds one to auth.issuers.rules.",
                caller.name, caller.id
            );
            page::refusal(StatusCode::FORBIDDEN, &why, None)
        }
    }
}

/// Whether a text is a path of this server, whatever browser reads it: with one slash at its front, and without what
/// browsers take for another, leave out, or read as the end of an attribute.
fn is_local_path(text: &str) -> bool {
    let mut bytes = text.bytes();
    let begins = bytes.next() == Some(b'/') && bytes.next() != Some(b'/');
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'\'' | b'<' | b'>');
    begins && text.len() <= RETURN_BYTES_MAX && text.bytes().all(plain)
}

/// The path of a base URL.
fn home(base: &str) -> &str {
    let path = base.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    path.filter(|path| is_local_path(path)).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_of_this_server_is_returned_to() {
        for path in [
            "/",
            "/jobs",
            "/jobs?state=Enabled&x=1#a",
            "/a//b",
            "/%2f%2fevil.example",
            "/@evil.example",
            "/.//x",
        ] {
            assert!(is_local_path(path), "{path}");
        }
        let long = format!("/{}", "x".repeat(RETURN_BYTES_MAX));
        for text in [
            "",
            "jobs",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\/evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil.example",
            " /jobs",
            "/a b",
            "/a\"b",
            "/a'b",
            "/<b>",
            "/jöbs",
            &long,
        ] {
            assert!(!is_local_path(text), "{text:?}");
        }
    }

    #[test]
    fn home_is_where_the_public_url_leads() {
        assert_eq!(home("https://a.example"), "/");
        assert_eq!(home("https://a.example/punctual"), "/punctual");
        assert_eq!(home("nothing"), "/");
    }
}
