//! The operations of tokens. An owner of a scope sees and changes the tokens whose grants all lie within it; what
//! others have does not show, neither by what is listed nor by the difference between 403 and 404.

use http::StatusCode;
use http::header;
use percent_encoding::percent_decode_str;
use punctual_arm::{ApiError, NewExpiry, NewToken, TokensPage, page, token};
use punctual_model::access::{Caller, Role, Token, TokenSecret};
use punctual_model::audit::{AuditEntry, AuditOutcome};
use punctual_model::{Name, Scope};
use punctual_store::{Refusal, WriteError};

use crate::answer::{Answer, trouble};
use crate::operation::Operation;
use crate::request::{Call, UnreadBody};
use crate::right::denied;
use crate::state::ApiState;

/// `GET /tokens`: by name
pub(crate) async fn list(state: &ApiState, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("tokens")?;
    let page = TokensPage::read(&call.query)?;
    let tokens = state.access.tokens().await.map_err(|error| trouble(&error))?;
    let behind =
        |token: &&Token| page.after.as_ref().is_none_or(|after| Name::new(token.name.as_str()) > *after);
    let shown = tokens.iter().filter(|token| manages(&call.caller, token)).filter(behind);
    let shown: Vec<&Token> = shown.take(page.limit + 1).collect();
    let last = shown.get(page.limit.wrapping_sub(1)).filter(|_| shown.len() > page.limit);
    let next = last.map(|last| call.next_link(state, "$skiptoken", &TokensPage::token(&last.name)));
    let values = shown.iter().take(page.limit).map(|token| token::answer(token)).collect();
    Answer::ok(&page::answer(values, next))
}

/// `GET /tokens/{id}`
pub(crate) async fn get(state: &ApiState, asked: &Operation, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("tokens")?;
    Answer::ok(&token::answer(&find(state, asked, call).await?))
}

/// `POST /tokens`: answers its secret, this once
pub(crate) async fn create(
    state: &ApiState,
    asked: &Operation,
    call: &Call<'_>,
    body: UnreadBody,
) -> Result<Answer, ApiError> {
    call.own_version("tokens")?;
    let NewToken { name, grants, expires_at } =
        token::read_create(&body.into_bytes().await?, state.access.now())?;
    for grant in &grants {
        if !call.caller.may(Role::Owner, &grant.scope) {
            return Err(denied(&call.caller, &asked.route.action(), &grant.scope));
        }
    }
    let (token, secret) = Token::issue(name, grants, expires_at, state.access.now(), &*state.random);
    let note = note(state, call, None, Some(&token));
    state.access.store().create_token(&token, note).await.map_err(|error| match error {
        WriteError::Trouble(error) => trouble(&error),
        WriteError::Refused(Refusal::TooManyTokens { max }) => ApiError::too_many_tokens(max),
        WriteError::Refused(_) => ApiError::token_exists(&token.name),
    })?;
    in_force(state, call, &token, "a token was created").await?;
    Ok(with_secret(StatusCode::CREATED, &token, &secret))
}

/// `DELETE /tokens/{id}`: it is refused from the answer on
pub(crate) async fn revoke(state: &ApiState, asked: &Operation, call: &Call<'_>) -> Result<Answer, ApiError> {
    call.own_version("tokens")?;
    let token = find(state, asked, call).await?;
    let note = note(state, call, Some(&token), None);
    // If somebody else was faster, it is gone all the same.
    state.access.store().delete_token(&token.id, note).await.map_err(|error| trouble(&error))?;
    in_force(state, call, &token, "a token was revoked").await?;
    Answer::empty(StatusCode::OK)
}

/// `POST /tokens/{id}/rotate`: another secret, which is answered this once; the old one is refused from the answer on
pub(crate) async fn rotate(
    state: &ApiState,
    asked: &Operation,
    call: &Call<'_>,
    body: UnreadBody,
) -> Result<Answer, ApiError> {
    call.own_version("tokens")?;
    let old = find(state, asked, call).await?;
    let mut token = old.clone();
    let now = state.access.now();
    match token::read_rotate(&body.into_bytes().await?, now)? {
        NewExpiry::Until(expires_at) => token.expires_at = expires_at,
        NewExpiry::Kept if token.expired(now) => return Err(ApiError::token_is_expired(&token)),
        NewExpiry::Kept => {}
    }
    let secret = TokenSecret::generate(&*state.random);
    token.hash = secret.hash();
    let note = note(state, call, Some(&old), Some(&token));
    if !state.access.store().replace_token(&token, note).await.map_err(|error| trouble(&error))? {
        return Err(ApiError::token_not_found(&token.id.0));
    }
    in_force(state, call, &token, "a token was rotated").await?;
    Ok(with_secret(StatusCode::OK, &token, &secret))
}

/// What the audit log says of a change of a token. Where it is about one scope, the owners of that see it.
fn note(
    state: &ApiState,
    call: &Call<'_>,
    before: Option<&Token>,
    after: Option<&Token>,
) -> Option<AuditEntry> {
    let key = state.auditor.key()?;
    let token = after.or(before)?;
    let scope = match token.grants.as_slice() {
        [grant] => grant.scope.clone(),
        _ => Scope::Everything,
    };
    let digest = |token: &Token| key.token(token);
    let entry = call.author.entry(scope, AuditOutcome::Done);
    let entry = entry.with_digests(before.map(digest), after.map(digest));
    Some(AuditEntry { subject: format!("token {} ({})", token.name, token.id).into(), ..entry })
}

/// Whether a caller may see and change a token.
fn manages(caller: &Caller, token: &Token) -> bool {
    let within =
        !token.grants.is_empty() && token.grants.iter().all(|grant| caller.may(Role::Owner, &grant.scope));
    within || caller.may(Role::Owner, &Scope::Everything)
}

/// The token that the path names. Whoever may not see all tokens is not told whether there is one.
async fn find(state: &ApiState, asked: &Operation, call: &Call<'_>) -> Result<Token, ApiError> {
    let path = call.path();
    let segment = path.trim_matches('/').split('/').nth(1).unwrap_or_default();
    let id = percent_decode_str(segment).decode_utf8_lossy();
    let tokens = state.access.tokens().await.map_err(|error| trouble(&error))?;
    let found = tokens.into_iter().find(|token| token.id.0.eq_ignore_ascii_case(&id));
    match found {
        Some(token) if manages(&call.caller, &token) => Ok(token),
        None if call.caller.may(Role::Owner, &Scope::Everything) => Err(ApiError::token_not_found(&id)),
        Some(_) | None => Err(denied(&call.caller, &asked.route.action(), &asked.scope)),
    }
}

/// Waits until a change holds for every request.
async fn in_force(
    state: &ApiState,
    call: &Call<'_>,
    token: &Token,
    what: &'static str,
) -> Result<(), ApiError> {
    tracing::info!(token = %token.id, name = token.name, by = %call.caller.name, by_id = %call.caller.id, "{what}");
    state.access.refresh().await.map_err(|error| trouble(&error))
}

fn with_secret(status: StatusCode, token: &Token, secret: &TokenSecret) -> Answer {
    let answer = Answer::with(status, &token::answer_with_secret(token, secret));
    answer.with_header(header::CACHE_CONTROL, "no-store")
}
