//! The HTTP action: one request, its redirects, and what is kept of the answer.
//!
//! - Success is a status from 200 to 299. Everything else is a failed attempt with a text that says why.
//! - Up to ten redirects are followed by our own code. Each hop is dialled under the egress rules, and
//!   credentials (authentication, `Authorization` and `Cookie` headers, client certificate, user
//!   information of the URI) go to the scheme, host and port of the action only.
//! - User information in the action's URI is sent as Basic authentication, unless the action has another
//!   authentication or an `Authorization` header; in a redirect it is ignored.
//! - Two kilobytes of the body are read at most.

pub(crate) mod answer;
mod hop;
mod place;
mod request;
pub(crate) mod status;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::response::Parts;
use http::{HeaderValue, Method, StatusCode};
use percent_encoding::percent_decode_str;
use punctual_model::{Authentication, Firing, HttpAction, Outcome, OutcomeKind};

use self::answer::BODY_BYTES_MAX;
use self::hop::Hop;
use self::place::UserInfo;
use crate::Actions;
use crate::client::{Answer, AskError, Client};
use crate::failure::{Failure, find};
use crate::oauth::{Grant, Token};
use crate::scrub::Scrub;

pub(crate) use self::request::expected_time;

/// How many redirects are followed (CONTRACT 17.1 #6).
const REDIRECTS_MAX: usize = 10;

/// Makes one attempt.
pub(crate) async fn fire(actions: &Actions, firing: &Firing, action: &HttpAction) -> Outcome {
    let (hop, user_info) = match Hop::first(action) {
        Ok(first) => first,
        Err(failure) => return failed(&hop::host_of(&action.uri), &failure),
    };
    let mut exchange = Exchange { actions, firing, action, hop, user_info, scrub: Scrub::default() };
    let answered = tokio::time::timeout(actions.timeout, exchange.run()).await;
    let Exchange { hop, scrub, .. } = exchange;
    match answered {
        Ok(Ok(answer)) => Outcome {
            succeeded: answer.status.is_success(),
            kind: OutcomeKind::Status(answer.status.as_u16()),
            message: answer.message(hop.place.host(), &scrub),
        },
        Ok(Err(failure)) => failed(hop.place.host(), &failure),
        Err(_) => failed(hop.place.host(), &Failure::unanswered(actions.timeout)),
    }
}

fn failed(host: &str, failure: &Failure) -> Outcome {
    let message = format!("Http Action - Request to host '{host}' failed: {failure}");
    Outcome { succeeded: false, kind: failure.kind(), message }
}

/// One attempt on its way.
struct Exchange<'a> {
    actions: &'a Actions,
    firing: &'a Firing,
    action: &'a HttpAction,
    /// Where it is now.
    hop: Hop,
    user_info: Option<UserInfo>,
    scrub: Scrub,
}

impl Exchange<'_> {
    /// Sends the request, follows where the answer leads, and reads what is kept of the last one.
    async fn run(&mut self) -> Result<Answer, Failure> {
        let mut refused = None;
        let mut redirect_count = 0;
        loop {
            let token = self.token(refused.as_ref()).await?;
            let asked_again = token.is_some() && refused.is_none();
            let answer = self.send(token.as_ref(), asked_again).await?;
            if answer.status == StatusCode::UNAUTHORIZED && asked_again {
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

    /// Sends the request of the current hop. A pooled connection that the target closed while it was idle
    /// is no failure of the target: where repeating is harmless by the method's own meaning, the request
    /// is sent once more. The body of an answer that only leads on, by a redirect or because the token was
    /// refused, is not waited for.
    async fn send(&mut self, token: Option<&Token>, asked_again: bool) -> Result<Answer, Failure> {
        let client = self.client().await?;
        let client = client.as_ref().unwrap_or_else(|| self.actions.clients.anonymous());
        let authorization = self.authorization(token);
        let wanted = |head: &Parts| {
            let leads_on = hop::redirects(head.status, &head.headers)
                || (asked_again && head.status == StatusCode::UNAUTHORIZED);
            if leads_on { 0 } else { BODY_BYTES_MAX }
        };
        let mut again = idempotent(&self.hop.method);
        loop {
            let request = request::build(
                self.firing,
                self.action,
                &self.hop,
                authorization.clone(),
                &self.actions.user_agent,
            )?;
            match client.ask(request, wanted).await {
                Ok(answer) => return Ok(answer),
                Err(error) if again && hung_up_while_idle(&error) => again = false,
                Err(error) => return Err(Failure::of(&error)),
            }
        }
    }

    /// The client of the job's certificate, where one may be shown.
    async fn client(&self) -> Result<Option<Client>, Failure> {
        match &self.action.authentication {
            Some(Authentication::ClientCertificate { pfx, password, .. })
                if self.hop.home && self.hop.place.is_secure() =>
            {
                let client = self.actions.clients.identified(pfx, password).await;
                client.map(Some).map_err(|problem| Failure::new("SecureChannelFailure", problem))
            }
            _ => Ok(None),
        }
    }

    /// The token to send, where one may be shown.
    async fn token(&mut self, refused: Option<&Token>) -> Result<Option<Token>, Failure> {
        match &self.action.authentication {
            Some(Authentication::ActiveDirectoryOAuth { secret, tenant, audience, client_id })
                if self.hop.home =>
            {
                let grant = Grant { tenant, client_id, secret, audience };
                let token = self.actions.tokens.get(self.actions.clients.anonymous(), grant, refused).await?;
                self.scrub.note(token.expose());
                Ok(Some(token))
            }
            _ => Ok(None),
        }
    }

    /// The value of the `Authorization` header, where we have one to give.
    fn authorization(&mut self, token: Option<&Token>) -> Option<HeaderValue> {
        if !self.hop.home {
            return None;
        }
        match (&self.action.authentication, &self.user_info) {
            (Some(Authentication::Basic { username, password }), _) => {
                self.scrub.note(password.expose());
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
        self.scrub.note(&pair);
        let mut value = HeaderValue::try_from(format!("Basic {pair}")).expect("base64 is printable ASCII");
        value.set_sensitive(true);
        value
    }

    fn has_authorization_header(&self) -> bool {
        self.action.headers.iter().any(|(name, _)| name.trim().eq_ignore_ascii_case(AUTHORIZATION.as_str()))
    }
}

/// By RFC 9110 sending it twice means the same as sending it once.
fn idempotent(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::OPTIONS, Method::TRACE].contains(method)
}

/// The connection had answered before and was closed before it answered again.
fn hung_up_while_idle(error: &AskError) -> bool {
    let closed = find::<hyper::Error>(error)
        .is_some_and(|error| error.is_incomplete_message() || error.is_canceled())
        || find::<std::io::Error>(error).is_some_and(|error| {
            matches!(error.kind(), std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe)
        });
    closed && matches!(error, AskError::Exchange { stale: true, .. })
}
