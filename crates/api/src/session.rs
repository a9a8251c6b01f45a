//! Sessions of the web page: signing in with a token, signing out, and what owners see and end.

mod login;
mod openid;
mod page;

use http::{HeaderName, Method, StatusCode, header};
use percent_encoding::percent_decode_str;
use punctual_arm::{ApiError, SessionsPage, page as list_page, session};
use punctual_model::Scope;
use punctual_model::access::{Caller, Session, SessionHolder, SessionId, SessionSecret};
use punctual_model::audit::{AuditEntry, AuditOutcome, Author};
use punctual_store::{Refusal, WriteError};

pub(crate) use self::openid::{begin, finish};
use crate::access::Unidentified;
use crate::answer::{Answer, trouble};
use crate::host::{Authority, Host};
use crate::origin::X_PUNCTUAL_PAGE;
use crate::request::{Call, UnreadBody};
use crate::state::ApiState;
use crate::{cookie, me};

/// What a browser forgets of us when somebody signs out. Not cookies: those of all hosts of the domain would go.
const FORGOTTEN: &str = "\"cache\", \"storage\"";

/// `GET /session/ways`: how somebody can sign in
pub(crate) fn ways(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("session/ways")?;
    let base = call.base(state);
    let issuers: Vec<(&str, String, String)> = state
        .access
        .sign_in_issuers()
        .map(|(issuer, label)| (issuer, label.to_owned(), openid::begin_url(&base, issuer)))
        .collect();
    Answer::ok(&session::ways(state.access.required(), &issuers))
}

/// `POST /session`: signs in with a token
pub(crate) async fn sign_in(state: &ApiState, call: &Call<'_>, body: UnreadBody) -> Result<Answer, ApiError> {
    call.own_version("session")?;
    check_request(state, call)?;
    let token = session::read_sign_in(&body.into_bytes().await?)?;
    let (caller, holder) = match state.access.holder_by_token(token.expose()) {
        Ok(found) => found,
        Err(unidentified) => return Ok(failed(state, call, unidentified).await),
    };
    // Each sign-in is written, so that they count like other writes of the caller.
    let _turn = match state.limiter.begin(&caller, &Method::POST, 0, state.access.now()) {
        Ok(turn) => turn,
        Err(told) => return Ok(told),
    };
    let (session, secret) = open(state, call, &caller, holder).await?;
    end_former(state, call, &caller).await;
    let answer = Answer::with(StatusCode::CREATED, &me::document(state, &caller, Some(&session)));
    Ok(with_session(answer, &secret))
}

/// `DELETE /session`: signs out
pub(crate) async fn sign_out(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("session")?;
    let Some(session) = &call.session else {
        return Err(ApiError::bad_request(
            "There is no session to end: the request shows who sends it in another way than by a session's cookie.",
        ));
    };
    let note = note(state, &call.author, &session.id.0, AuditOutcome::Done);
    state.access.store().end_session(&session.id, note).await.map_err(|error| trouble(&error))?;
    tracing::info!(session = %session.id, caller = %call.caller.id, "somebody signed out");
    let answer = Answer::empty(StatusCode::OK)?
        .with_header(header::SET_COOKIE, cookie::SESSION_ENDED)
        .with_header(header::SET_COOKIE, cookie::LOGIN_ENDED);
    Ok(answer.with_header(HeaderName::from_static("clear-site-data"), FORGOTTEN))
}

/// `GET /sessions`: who is signed in
pub(crate) async fn list(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("sessions")?;
    let page = SessionsPage::read(&call.query)?;
    let found = state.access.store().sessions(page.after.as_ref(), page.limit).await;
    let found = found.map_err(|error| trouble(&error))?;
    let now = state.access.now();
    let alive = |session: &&Session| state.access.idle_at(session) > now;
    let shown = found.iter().filter(alive).filter_map(|one| {
        let caller = state.access.holder_of(&one.holder, now)?;
        Some(session::answer_with_caller(one, state.access.idle_at(one), &caller))
    });
    let last = found.last().filter(|_| found.len() == page.limit);
    let next = last.map(|last| call.next_link(state, "$skiptoken", &SessionsPage::token(&last.id)));
    Answer::ok(&list_page::render(shown.collect(), next))
}

/// `DELETE /sessions/{id}`: ends one
pub(crate) async fn end(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("sessions")?;
    let path = call.path();
    let segment = path.trim_matches('/').split('/').nth(1).unwrap_or_default();
    let id = SessionId(percent_decode_str(segment).decode_utf8_lossy().to_ascii_lowercase());
    let note = note(state, &call.author, &id.0, AuditOutcome::Done);
    let ended = state.access.store().end_session(&id, note).await.map_err(|error| trouble(&error))?;
    if !ended {
        return Err(ApiError::session_not_found(&id.0));
    }
    tracing::info!(session = %id, by = %call.caller.id, "a session was ended");
    Answer::empty(StatusCode::OK)
}

/// `DELETE /sessions?caller={id}`: signs somebody out everywhere
pub(crate) async fn end_all(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("sessions")?;
    let caller = session::read_caller(&call.query)?;
    let note = note(state, &call.author, &format!("all of caller {caller}"), AuditOutcome::Done);
    let ended = state.access.store().end_sessions_of(&caller, note).await;
    let count = ended.map_err(|error| trouble(&error))?;
    tracing::info!(caller, count, by = %call.caller.id, "the sessions of a caller were ended");
    Answer::ok(&session::ended(count))
}

/// Opens a session for somebody who showed who they are.
async fn open(
    state: &ApiState,
    call: &Call<'_>,
    caller: &Caller,
    holder: SessionHolder,
) -> Result<(Session, SessionSecret), ApiError> {
    let author = Author { caller: caller.clone(), ..call.author.clone() };
    let note = |session: &Session| note(state, &author, &session.id.0, AuditOutcome::SignedIn);
    let opened = state.access.open_session(holder, &*state.random, note).await;
    let (session, secret) = opened.map_err(|error| match error {
        WriteError::Trouble(error) => trouble(&error),
        WriteError::Refused(Refusal::TooManySessions { max }) => ApiError::too_many_sessions(max),
        WriteError::Refused(_) => ApiError::internal(),
    })?;
    tracing::info!(session = %session.id, caller = %caller.id, kind = caller.kind.name(), "somebody signed in");
    Ok((session, secret))
}

/// Ends the session that the browser had before, if it had one: it has another one now. That it can't be ended must
/// not keep anybody out.
async fn end_former(state: &ApiState, call: &Call<'_>, caller: &Caller) {
    let secret = cookie::session(call.headers()).and_then(SessionSecret::parse);
    let Some(secret) = secret else { return };
    let store = state.access.store();
    let ended = match store.session(&secret.hash()).await {
        Ok(Some(former)) => {
            let author = Author { caller: caller.clone(), ..call.author.clone() };
            let note = note(state, &author, &former.id.0, AuditOutcome::Done);
            store.end_session(&former.id, note).await.map(drop)
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        tracing::warn!(%error, "could not end the session that a browser had before");
    }
}

/// Notes that somebody could not sign in, and holds back whoever fails too often.
async fn failed(state: &ApiState, call: &Call<'_>, unidentified: Unidentified) -> Answer {
    state.auditor.note(call.author.entry(Scope::Everything, AuditOutcome::SignInFailed));
    let slowed = state.limiter.sign_in_failed(call.source, state.access.now()).await;
    slowed.unwrap_or_else(|| unidentified.answer())
}

fn note(state: &ApiState, author: &Author, session: &str, outcome: AuditOutcome) -> Option<AuditEntry> {
    state.auditor.key()?;
    let entry = author.entry(Scope::Everything, outcome);
    Some(AuditEntry { subject: format!("session {session}").into(), ..entry })
}

fn with_session(answer: Answer, secret: &SessionSecret) -> Answer {
    let answer = answer.with_header(header::SET_COOKIE, &cookie::set_session(secret));
    answer.with_header(header::CACHE_CONTROL, "no-store")
}

/// Refuses a sign-in that another site's page could send, and one whose cookie the browser would not keep.
fn check_request(state: &ApiState, call: &Call<'_>) -> Result<(), ApiError> {
    let headers = call.headers();
    if !headers.contains_key(X_PUNCTUAL_PAGE) {
        let message =
            format!("Signing in takes the header {X_PUNCTUAL_PAGE}, which no page of another site can send.");
        return Err(ApiError::bad_request(message));
    }
    let json = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
        value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    });
    if !json {
        return Err(ApiError::bad_request("Signing in takes a body with the Content-Type application/json."));
    }
    if keeps_cookies(state, call) {
        return Ok(());
    }
    Err(ApiError::bad_request(
        "A session needs https: a browser sends its cookie over nothing else, except to the machine itself. Call the server \
         by https or by localhost; behind a proxy that serves https, server.public_url must be its https:// address.",
    ))
}

/// Whether a browser that sent this request keeps a cookie that is for https alone. It says by `Origin` how it
/// reaches us, also through a proxy that we don't know of.
fn keeps_cookies(state: &ApiState, call: &Call<'_>) -> bool {
    let origin = call.headers().get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    let base = call.base(state);
    let reached = origin.filter(|origin| *origin != "null").unwrap_or(&base);
    Authority::of_url(reached)
        .is_some_and(|(scheme, authority)| scheme == "https" || is_local(&authority.host))
}

/// Whether browsers trust a host without https, since it is the machine itself.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Name(name) => name == "localhost",
        Host::Ip(ip) => ip.is_loopback(),
    }
}
