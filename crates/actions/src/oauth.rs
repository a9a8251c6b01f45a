//! Access tokens of Azure Active Directory, by the client credentials grant.
//!
//! Tokens are cached. Jobs that need the same token share it until shortly before it expires, or until a target
//! refuses it. The cache key contains a hash of the client secret, so that a job with a wrong secret never gets the
//! token of a job with the right one.

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

use crate::cache::Cache;
use crate::client::{Answer, Client};
use crate::failure::Failure;
use crate::permit::Permit;
use crate::redact::Redactor;

/// Tokens in the cache. The least recently used one is evicted.
const TOKENS_MAX: usize = 1024;

/// A token is not used in the last minutes before it expires: the target's clock may be ahead of ours.
const MARGIN: Duration = Duration::from_secs(120);

/// The lifetime of a token whose answer has no `expires_in`.
const LIFETIME_ASSUMED: Duration = Duration::from_secs(300);

/// The longest lifetime that is believed; Azure's tokens live for an hour or a day.
const LIFETIME_MAX: Duration = Duration::from_secs(86_400);

/// How much of the authority's answer is read. Tokens have a few kilobytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How many characters of the authority's explanation are kept.
const EXPLANATION_CHARACTERS_MAX: usize = 300;

/// Characters that are percent-encoded in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// Identifies a token: who asks for it, and for which audience.
#[derive(Clone, Copy)]
pub(crate) struct Grant<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) secret: &'a Secret,
    pub(crate) audience: &'a str,
}

/// An access token. Prints as `***`.
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
    entries: Cache<[u8; 32], Entry>,
}

/// Whoever holds the lock fetches the token; the others wait for the result.
type Entry = Mutex<Cached>;

#[derive(Default)]
struct Cached {
    /// With when to fetch the next one.
    token: Option<(Token, Instant)>,
    /// The latest failure and when it happened. It is shared with the attempts that waited for it; later ones try again.
    failed: Option<(Failure, Instant)>,
}

impl Tokens {
    pub(crate) fn new(authority: Url, user_agent: HeaderValue) -> Self {
        Self { authority, user_agent, entries: Cache::new(TOKENS_MAX) }
    }

    /// Returns the token of a grant, but never the one that a target has `refused`.
    pub(crate) async fn get(
        &self,
        client: &Client,
        grant: Grant<'_>,
        refused: Option<&Token>,
    ) -> Result<Token, Failure> {
        let asked_at = Instant::now();
        let entry = self.entries.get_or_insert_with(key(grant), Entry::default);
        let mut cached = entry.lock().await;
        match (&cached.token, refused) {
            (Some((token, good_until)), None) if Instant::now() < *good_until => return Ok(token.clone()),
            // Another attempt has replaced the refused token already.
            (Some((token, good_until)), Some(refused))
                if token.text != refused.text && Instant::now() < *good_until =>
            {
                return Ok(token.clone());
            }
            _ => {}
        }
        if let Some((failure, at)) = &cached.failed
            && *at >= asked_at
        {
            return Err(failure.clone());
        }
        cached.token = None;
        match self.fetch(client, grant).await {
            Ok((token, lifetime)) => {
                let margin = MARGIN.min(lifetime / 5);
                *cached =
                    Cached { token: Some((token.clone(), Instant::now() + lifetime - margin)), failed: None };
                Ok(token)
            }
            Err(reason) => {
                let host = self.authority.host_str().unwrap_or_default();
                let failure = Failure::unusable(format!(
                    "The token for the audience '{}' could not be had from '{host}': {reason}",
                    grant.audience
                ));
                cached.failed = Some((failure.clone(), Instant::now()));
                Err(failure)
            }
        }
    }

    async fn fetch(&self, client: &Client, grant: Grant<'_>) -> Result<(Token, Duration), String> {
        let request = self.request(grant)?;
        let sent = client.send(request, |_| ANSWER_BYTES_MAX, &Permit::always()).await;
        let answer = sent.map_err(|error| Failure::of(&error).to_string())?;
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

/// Reads the token and its lifetime from the authority's answer.
fn granted(body: &[u8]) -> Result<(Token, Duration), String> {
    let json: serde_json::Value =
        serde_json::from_slice(body).map_err(|_| "the answer is not JSON".to_owned())?;
    let text = json["access_token"].as_str().filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| "the answer holds no access_token".to_owned())?;
    let mut header = HeaderValue::try_from(format!("Bearer {text}"))
        .map_err(|_| "the token holds characters that can't be sent".to_owned())?;
    header.set_sensitive(true);
    // The v1 endpoint writes numbers as strings.
    let seconds = &json["expires_in"];
    let seconds = seconds.as_u64().or_else(|| seconds.as_str().and_then(|text| text.trim().parse().ok()));
    let lifetime = seconds.map_or(LIFETIME_ASSUMED, Duration::from_secs).min(LIFETIME_MAX);
    Ok((Token { text: text.into(), header }, lifetime))
}

/// Returns the authority's explanation of a refusal, without the client secret.
fn explanation(answer: &Answer, grant: Grant<'_>) -> String {
    let mut redactor = Redactor::default();
    redactor.add(grant.secret.expose());
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let mut text = format!("'{}'", crate::http::status::name(answer.status));
    for part in ["error", "error_description"] {
        if let Some(part) = json[part].as_str() {
            let line = part.lines().next().unwrap_or_default();
            text.push(' ');
            text.extend(
                redactor
                    .redact(line.into())
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
