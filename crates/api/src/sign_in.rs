//! Sign-in of service principals: the documents that clients look for first, and the token endpoint.
//!
//! The id of a token is a client id, its secret the client secret. What is issued for them is good for an hour, and
//! only as long as the token is: it is looked up with every request.

use http::{StatusCode, header};
use punctual_arm::ApiError;
use punctual_arm::sign_in::{self, Authority, NewAccessToken, SignInError};

use punctual_model::Scope;
use punctual_model::audit::{AuditOutcome, Author};

use crate::answer::{Answer, trouble};
use crate::request::{Call, UnreadBody};
use crate::state::ApiState;

/// `GET /metadata/endpoints`
pub(crate) fn metadata(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    Answer::ok(&sign_in::metadata(call.query.get("api-version"), &call.base(state))?)
}

/// `GET /.well-known/webfinger`
pub(crate) fn webfinger(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    Answer::ok(&sign_in::webfinger(&call.base(state)))
}

/// `GET /{tenant}/.well-known/openid-configuration`
pub(crate) fn configuration(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    let authority = Authority::of_path(&call.path());
    Answer::ok(&authority.configuration(&call.base(state), &state.settings.tenant))
}

/// `GET /{tenant}/discovery/keys`
pub(crate) async fn keys(state: &ApiState) -> Result<Answer, ApiError> {
    let key = state.access.signing_key(&*state.random).await.map_err(|error| trouble(&error))?;
    Answer::ok(&sign_in::key_set(&[key.jwk()]))
}

/// `POST /{tenant}/oauth2/token`
pub(crate) async fn token(state: &ApiState, call: &Call<'_>, body: UnreadBody) -> Result<Answer, ApiError> {
    let form = match body.into_bytes().await {
        Ok(form) => form,
        Err(error) => return Ok(refused(&SignInError::unreadable(&error))),
    };
    let authorization = call.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let signed_in =
        sign_in::read_token_request(&form, authorization).and_then(|asked| state.access.sign_in(&asked));
    let principal = match signed_in {
        Ok(principal) => principal,
        Err(error) => {
            state.auditor.note(call.author.entry(Scope::Everything, AuditOutcome::SignInFailed));
            // What can't be read was no guess.
            if error.status == StatusCode::UNAUTHORIZED.as_u16()
                && let Some(slowed) = state.limiter.sign_in_failed(call.source, state.access.now()).await
            {
                return Ok(slowed);
            }
            return Ok(refused(&error));
        }
    };
    let author = Author { caller: principal.caller, ..call.author.clone() };
    state.auditor.note(author.entry(Scope::Everything, AuditOutcome::SignedIn));
    let key = state.access.signing_key(&*state.random).await.map_err(|error| trouble(&error))?;
    let (issued_at, expires_at) = (principal.issued_at, principal.expires_at);
    let claims = sign_in::claims(&NewAccessToken {
        base: &call.base(state),
        authority: &Authority::of_path(&call.path()),
        tenant: &state.settings.tenant,
        client_id: &principal.id,
        secret_fingerprint: &principal.secret_fingerprint,
        issued_at,
        expires_at,
    });
    tracing::debug!(client = %principal.id, "a service principal signed in");
    let answer = Answer::ok(&sign_in::token_answer(&key.sign(&claims), issued_at, expires_at))?;
    Ok(answer.with_header(header::CACHE_CONTROL, "no-store"))
}

fn refused(error: &SignInError) -> Answer {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    let answer = Answer::with(status, &error.to_json()).with_header(header::CACHE_CONTROL, "no-store");
    if status == StatusCode::UNAUTHORIZED {
        answer.with_header(header::WWW_AUTHENTICATE, "Basic realm=\"Punctual\"")
    } else {
        answer
    }
}
