//! The HTTP action: one request and its redirects.
//!
//! - A status from 200 to 299 is success. Everything else is a failed attempt with the reason.
//! - Up to ten redirects are followed. Each hop obeys the egress rules. Credentials (authentication, headers that hold
//!   credentials, client certificate, user information of the URI) are sent only to the action's scheme, host and port.
//! - User information in the action's URI is sent as Basic authentication, unless the action has another
//!   authentication or an `Authorization` header. In a redirect it is ignored.
//! - At most two kilobytes of the body are read.

pub(crate) mod answer;
mod hop;
mod request;
pub(crate) mod status;
mod target_url;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::response::Parts;
use http::{HeaderValue, Method, StatusCode};
use percent_encoding::percent_decode_str;
use punctual_model::{Authentication, Firing, HeaderText, HttpAction, Outcome, OutcomeKind};

use self::answer::BODY_BYTES_MAX;
use self::hop::Hop;
use self::target_url::UserInfo;
use crate::Actions;
use crate::client::{Answer, Client, RequestError};
use crate::failure::{Failure, find};
use crate::oauth::{Grant, Token};
use crate::permit::Permit;
use crate::redact::Redactor;

pub(crate) use self::request::expected_time;

/// How many redirects are followed (CONTRACT 17.1 #6).
const REDIRECTS_MAX: usize = 10;

/// Makes one attempt.
pub(crate) async fn fire(
    actions: &Actions,
    firing: &Firing,
    action: &HttpAction,
    permit: &Permit,
) -> Outcome {
    let (hop, user_info) = match Hop::first(action) {
        Ok(first) => first,
        Err(failure) => return failed(&hop::host_of(&action.uri), &failure),
    };
    let redactor = credentials_of(action);
    let mut attempt = Attempt { actions, firing, action, permit, hop, user_info, redactor };
    let answered = tokio::time::timeout(actions.timeout, attempt.run()).await;
    let Attempt { hop, redactor, .. } = attempt;
    match answered {
        Ok(Ok(answer)) => Outcome {
            succeeded: answer.status.is_success(),
            kind: OutcomeKind::Status(answer.status.as_u16()),
            message: answer.message(hop.url.host(), &redactor),
        },
        Ok(Err(failure)) => failed(hop.url.host(), &failure),
        Err(_) => failed(hop.url.host(), &Failure::unanswered(actions.timeout)),
    }
}

/// The credentials that are in the request itself, since a target may repeat them.
fn credentials_of(action: &HttpAction) -> Redactor {
    let mut redactor = Redactor::default();
    for (_, text) in &action.headers {
        if let HeaderText::Credential(secret) = text {
            redactor.add_header(secret.expose());
        }
    }
    if let Some(user_info) = &action.user_info {
        redactor.add_user_info(user_info.expose());
    }
    redactor
}

fn failed(host: &str, failure: &Failure) -> Outcome {
    let message = format!("Http Action - Request to host '{host}' failed: {failure}");
    Outcome { succeeded: false, kind: failure.kind(), message }
}

/// An attempt in progress.
struct Attempt<'a> {
    actions: &'a Actions,
    firing: &'a Firing,
    action: &'a HttpAction,
    permit: &'a Permit,
    /// The current request.
    hop: Hop,
    user_info: Option<UserInfo>,
    redactor: Redactor,
}

impl Attempt<'_> {
    /// Sends the request and follows redirects. Returns the last answer.
    async fn run(&mut self) -> Result<Answer, Failure> {
        let mut refused = None;
        let mut redirect_count = 0;
        loop {
            let token = self.token(refused.as_ref()).await?;
            // A cached token may have been revoked: the first refusal is answered with a new one.
            let may_renew = token.is_some() && refused.is_none();
            let answer = self.send(token.as_ref(), may_renew).await?;
            if answer.status == StatusCode::UNAUTHORIZED && may_renew {
                refused = token;
                continue;
            }
            let Some(next) = self.hop.next(answer.status, &answer.headers)? else { return Ok(answer) };
            redirect_count += 1;
            if redirect_count > REDIRECTS_MAX {
                return Err(Failure::new("ProtocolError", "Too many automatic redirections were attempted"));
            }
            self.hop = next;
        }
    }

    /// Sends the request of the current hop. If a pooled connection was closed by the target while it was idle, an
    /// idempotent request is sent once more. The body is not read if another request follows: after a redirect, or
    /// after a refused token that is renewed.
    async fn send(&mut self, token: Option<&Token>, may_renew: bool) -> Result<Answer, Failure> {
        let client = self.client().await?;
        let client = client.as_ref().unwrap_or_else(|| self.actions.clients.anonymous());
        let authorization = self.authorization(token);
        let body_limit = |head: &Parts| {
            let another_follows = hop::redirects(head.status, &head.headers)
                || (may_renew && head.status == StatusCode::UNAUTHORIZED);
            if another_follows { 0 } else { BODY_BYTES_MAX }
        };
        let mut may_repeat = idempotent(&self.hop.method);
        loop {
            let request = request::build(
                self.firing,
                self.action,
                &self.hop,
                authorization.clone(),
                &self.actions.user_agent,
            )?;
            match client.send(request, body_limit, self.permit).await {
                Ok(answer) => return Ok(answer),
                Err(error) if may_repeat && closed_while_idle(&error) => may_repeat = false,
                Err(error) => return Err(Failure::of(&error)),
            }
        }
    }

    /// Returns the client with the job's certificate, if there is one and the current hop may see it.
    async fn client(&self) -> Result<Option<Client>, Failure> {
        match &self.action.authentication {
            Some(Authentication::ClientCertificate { pfx, password, .. })
                if self.hop.credentials_allowed && self.hop.url.is_secure() =>
            {
                let client = self.actions.clients.identified(pfx, password).await;
                client.map(Some).map_err(|problem| Failure::new("SecureChannelFailure", problem))
            }
            _ => Ok(None),
        }
    }

    /// Returns the access token, if the action needs one and the current hop may see it.
    async fn token(&mut self, refused: Option<&Token>) -> Result<Option<Token>, Failure> {
        match &self.action.authentication {
            Some(Authentication::ActiveDirectoryOAuth { secret, tenant, audience, client_id })
                if self.hop.credentials_allowed =>
            {
                let grant = Grant { tenant, client_id, secret, audience };
                let token = self.actions.tokens.get(self.actions.clients.anonymous(), grant, refused).await?;
                self.redactor.add(token.expose());
                Ok(Some(token))
            }
            _ => Ok(None),
        }
    }

    /// Returns our value of the `Authorization` header, if there is one and the current hop may see it.
    fn authorization(&mut self, token: Option<&Token>) -> Option<HeaderValue> {
        if !self.hop.credentials_allowed {
            return None;
        }
        match (&self.action.authentication, &self.user_info) {
            (Some(Authentication::Basic { username, password }), _) => {
                self.redactor.add(password.expose());
                Some(self.basic(username.as_bytes(), password.expose().as_bytes()))
            }
            (Some(Authentication::ActiveDirectoryOAuth { .. }), _) => token.map(|token| token.header.clone()),
            (_, Some(user_info)) if !self.has_authorization_header() => {
                let username = percent_decode_str(&user_info.username).collect::<Vec<u8>>();
                let password = percent_decode_str(&user_info.password).collect::<Vec<u8>>();
                Some(self.basic(&username, &password))
            }
            _ => None,
        }
    }

    fn basic(&mut self, username: &[u8], password: &[u8]) -> HeaderValue {
        let pair = STANDARD.encode([username, b":", password].concat());
        self.redactor.add(&pair);
        let mut value = HeaderValue::try_from(format!("Basic {pair}")).expect("base64 is printable ASCII");
        value.set_sensitive(true);
        value
    }

    fn has_authorization_header(&self) -> bool {
        self.action.headers.iter().any(|(name, _)| name.trim().eq_ignore_ascii_case(AUTHORIZATION.as_str()))
    }
}

/// Whether sending a request twice has the effect of sending it once (RFC 9110).
fn idempotent(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::OPTIONS, Method::TRACE].contains(method)
}

/// Whether a reused connection was closed before it answered.
fn closed_while_idle(error: &RequestError) -> bool {
    let closed = find::<hyper::Error>(error)
        .is_some_and(|error| error.is_incomplete_message() || error.is_canceled())
        || find::<std::io::Error>(error).is_some_and(|error| {
            matches!(error.kind(), std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe)
        });
    closed && matches!(error, RequestError::Exchange { reused: true, .. })
}
