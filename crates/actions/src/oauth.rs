//! Tokens of Azure Active Directory by client credentials.
//!
//! A token is fetched once for all jobs that need the same one, kept until shortly before it expires, and
//! fetched anew when a target does not accept it. What identifies a token includes a hash of the client's
//! secret, so that a job with a wrong secret never gets the token of one with the right one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use punctual_model::Secret;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::{Url, form_urlencoded};

use crate::client::{Answer, Client};
use crate::failure::Failure;
use crate::scrub::Scrub;
use crate::shelf::Shelf;

/// Tokens kept at once; the one unused for longest makes room.
const TOKENS_MAX: usize = 1024;

/// A token is not used in the last minutes of its life: the target's clock may run ahead of ours.
const MARGIN: Duration = Duration::from_secs(120);

/// What is assumed of a token that does not say how long it lives.
const LIFETIME_ASSUMED: Duration = Duration::from_secs(300);

/// No token lives longer than a day; a larger number is somebody's mistake.
const LIFETIME_MAX: Duration = Duration::from_secs(86_400);

/// How much of the authority's answer is read; tokens have a few kilobytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How much of the authority's explanation is shown.
const EXPLANATION_CHARACTERS_MAX: usize = 300;

/// What a segment of a path need not encode.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// Whose token for whom.
#[derive(Clone, Copy)]
pub(crate) struct Grant<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) secret: &'a Secret,
    pub(crate) audience: &'a str,
}

/// A token as it is sent. Prints as `***`.
#[derive(Clone)]
pub(crate) struct Token {
    text: Arc<str>,
    /// `Bearer …`, marked as sensitive.
    pub(crate) header: HeaderValue,
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Token {
    pub(crate) fn expose(&self) -> &str {
        &self.text
    }
}

/// All tokens.
pub(crate) struct Tokens {
    authority: Url,
    user_agent: HeaderValue,
    slots: Shelf<[u8; 32], Slot>,
}

/// Whoever holds the lock is fetching; the others wait for the result.
type Slot = Mutex<Held>;

#[derive(Default)]
struct Held {
    token: Option<(Token, Instant)>,
    /// The latest failure: shared with those who waited for it, tried again by those who come later.
    failed: Option<(Failure, Instant)>,
}

impl Tokens {
    pub(crate) fn new(authority: Url, user_agent: HeaderValue) -> Self {
        Self { authority, user_agent, slots: Shelf::new(TOKENS_MAX) }
    }

    /// The token of a grant; never `refused`, which a target did not accept.
    pub(crate) async fn get(
        &self,
        client: &Client,
        grant: Grant<'_>,
        refused: Option<&Token>,
    ) -> Result<Token, Failure> {
        let asked_at = Instant::now();
        let slot = self.slots.get_or_make(key(grant), Slot::default);
        let mut held = slot.lock().await;
        match (&held.token, refused) {
            (Some((token, good_until)), None) if Instant::now() < *good_until => return Ok(token.clone()),
            // Somebody else has met the refusal before us and fetched a new one.
            (Some((token, good_until)), Some(refused))
                if token.text != refused.text && Instant::now() < *good_until =>
            {
                return Ok(token.clone());
            }
            _ => {}
        }
        if let Some((failure, at)) = &held.failed
            && *at >= asked_at
        {
            return Err(failure.clone());
        }
        held.token = None;
        match self.fetch(client, grant).await {
            Ok((token, lifetime)) => {
                let margin = MARGIN.min(lifetime / 5);
                *held =
                    Held { token: Some((token.clone(), Instant::now() + lifetime - margin)), failed: None };
                Ok(token)
            }
            Err(reason) => {
                let host = self.authority.host_str().unwrap_or_default();
                let failure = Failure::unusable(format!(
                    "The token for the audience '{}' could not be had from '{host}': {reason}",
                    grant.audience
                ));
                held.failed = Some((failure.clone(), Instant::now()));
                Err(failure)
            }
        }
    }

    async fn fetch(&self, client: &Client, grant: Grant<'_>) -> Result<(Token, Duration), String> {
        let request = self.request(grant)?;
        let asked = client.ask(request, |_| ANSWER_BYTES_MAX).await;
        let answer = asked.map_err(|error| Failure::of(&error).to_string())?;
        if answer.status.is_success() { granted(&answer.body) } else { Err(explanation(&answer, grant)) }
    }

    fn request(&self, grant: Grant<'_>) -> Result<Request<Full<Bytes>>, String> {
        let tenant = utf8_percent_encode(grant.tenant, SEGMENT);
        if grant.tenant.is_empty() || grant.tenant.bytes().all(|byte| byte == b'.') {
            return Err("the tenant is not valid".to_owned());
        }
        let authority = self.authority.as_str().trim_end_matches('/');
        let uri = Uri::try_from(format!("{authority}/{tenant}/oauth2/token"))
            .map_err(|error| format!("the address of the token endpoint is not valid: {error}"))?;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "client_credentials")
            .append_pair("client_id", grant.client_id)
            .append_pair("client_secret", grant.secret.expose())
            .append_pair("resource", grant.audience)
            .finish();
        let mut request = Request::new(Full::new(Bytes::from(form)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, self.user_agent.clone());
        Ok(request)
    }
}

fn key(grant: Grant<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [grant.tenant, grant.client_id, grant.audience, grant.secret.expose()] {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// The token and its lifetime in the answer of the authority.
fn granted(body: &[u8]) -> Result<(Token, Duration), String> {
    let json: serde_json::Value =
        serde_json::from_slice(body).map_err(|_| "the answer is not JSON".to_owned())?;
    let text = json["access_token"].as_str().filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| "the answer holds no access_token".to_owned())?;
    let mut header = HeaderValue::try_from(format!("Bearer {text}"))
        .map_err(|_| "the token holds characters that can't be sent".to_owned())?;
    header.set_sensitive(true);
    // The older endpoint writes numbers as strings.
    let seconds = &json["expires_in"];
    let seconds = seconds.as_u64().or_else(|| seconds.as_str().and_then(|text| text.trim().parse().ok()));
    let lifetime = seconds.map_or(LIFETIME_ASSUMED, Duration::from_secs).min(LIFETIME_MAX);
    Ok((Token { text: text.into(), header }, lifetime))
}

/// What the authority says about a refusal, without anything that was secret in the question.
fn explanation(answer: &Answer, grant: Grant<'_>) -> String {
    let mut scrub = Scrub::default();
    scrub.note(grant.secret.expose());
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let mut text = format!("'{}'", crate::http::status::name(answer.status));
    for part in ["error", "error_description"] {
        if let Some(part) = json[part].as_str() {
            let line = part.lines().next().unwrap_or_default();
            text.push(' ');
            text.extend(
                scrub
                    .clean(line.into())
                    .chars()
                    .take(EXPLANATION_CHARACTERS_MAX)
                    .filter(|letter| *letter != '\0'),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_read_as_numbers_and_as_strings() {
        let check = |json: &str, seconds| {
            let lifetime = granted(json.as_bytes()).map(|(_, lifetime)| lifetime.as_secs());
            assert_eq!(lifetime.ok(), seconds, "{json}");
        };
        check(r#"{"access_token":"t","expires_in":"3599"}"#, Some(3599));
        check(r#"{"access_token":"t","expires_in":3599}"#, Some(3599));
        check(r#"{"access_token":"t"}"#, Some(300));
        check(r#"{"access_token":"t","expires_in":99999999999999}"#, Some(86_400));
        check(r#"{"access_token":""}"#, None);
        check(r#"{"access_token":"a\nb"}"#, None);
        check("{}", None);
        check("<html>", None);
    }

    #[test]
    fn a_tenant_stays_within_its_segment() {
        let tokens = Tokens::new("https://login.example/".parse().unwrap(), HeaderValue::from_static("x"));
        let secret = Secret::new("s&s");
        let grant = |tenant| Grant { tenant, client_id: "c", secret: &secret, audience: "https://a/" };
        let uri = |tenant| tokens.request(grant(tenant)).map(|request| request.uri().to_string());
        assert_eq!(uri("contoso.com").unwrap(), "https://login.example/contoso.com/oauth2/token");
        assert_eq!(uri("../a?b").unwrap(), "https://login.example/..%2Fa%3Fb/oauth2/token");
        assert!(uri("..").is_err());
        assert!(uri("").is_err());
    }

    #[test]
    fn a_token_does_not_show_itself() {
        let (token, _) = granted(br#"{"access_token":"topsecret"}"#).unwrap();
        assert!(!format!("{token:?} {:?}", token.header).contains("topsecret"));
    }
}
