//! The storage queue action: one message into a queue of an Azure Storage account.
//!
//! The client and the egress rules are those of HTTP actions. Redirects are not followed, since the URI contains the
//! signature. The texts follow CONTRACT 9.1: PowerShell recognizes messages by the words `succeeded`, `does not exist`
//! and `could not be found`, so no other text may contain them.

mod envelope;
mod sas;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use punctual_model::{Firing, Outcome, OutcomeKind, QueueMessage};
use url::Url;

use crate::Actions;
use crate::explanation::{element, sanitized};
use crate::failure::Failure;
use crate::http::{answer, status};
use crate::permit::Permit;
use crate::redact::Redactor;

static CLIENT_REQUEST: HeaderName = HeaderName::from_static("x-ms-client-request-id");

/// The queue endpoint of an account.
pub(crate) struct Endpoint(String);

impl Endpoint {
    /// `{account}` in the template stands for the account's name.
    pub(crate) fn new(template: &str) -> Result<Self, String> {
        let sample = Url::parse(&template.replace("{account}", "account"))
            .map_err(|error| format!("not a URL: {error}"))?;
        match sample.scheme() {
            "http" | "https" if sample.query().is_none() && sample.fragment().is_none() => {
                Ok(Self(template.trim_end_matches('/').to_owned()))
            }
            "http" | "https" => Err("must have neither a query nor a fragment".to_owned()),
            _ => Err("must begin with https:// or http://".to_owned()),
        }
    }

    /// Returns the URI of a message's queue. The names come from users and become parts of a host name and a path,
    /// which they must not change otherwise.
    fn uri(&self, message: &QueueMessage) -> Result<Uri, Failure> {
        let plain = |name: &str| {
            (1..=63).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !plain(&message.storage_account) {
            return Err(Failure::unusable("The name of the storage account is not valid"));
        }
        if !plain(&message.queue_name) {
            return Err(Failure::unusable("The name of the queue is not valid"));
        }
        let base = self.0.replace("{account}", &message.storage_account);
        let query = sas::query(message.sas_token.expose());
        Uri::try_from(format!("{base}/{}/messages?{query}", message.queue_name))
            .map_err(|_| Failure::unusable("The address of the queue is not valid"))
    }
}

/// Makes one attempt.
pub(crate) async fn fire(
    actions: &Actions,
    firing: &Firing,
    message: &QueueMessage,
    permit: &Permit,
) -> Outcome {
    let sent = tokio::time::timeout(actions.timeout, send(actions, firing, message, permit)).await;
    let QueueMessage { storage_account: account, queue_name: queue, .. } = message;
    let (kind, text) = match sent
        .unwrap_or_else(|_| Err(Problem::NoAnswer(Failure::unanswered(actions.timeout))))
    {
        Ok(()) => {
            let message = format!(
                "StorageQueue Action - The message to storage account '{account}' queue '{queue}' succeeded."
            );
            return Outcome { succeeded: true, kind: OutcomeKind::Word("Sent"), message };
        }
        Err(Problem::NoQueue) => {
            (OutcomeKind::Word("QueueNotFound"), format!("The queue '{queue}' does not exist."))
        }
        Err(Problem::NoAccount(failure)) => {
            let mut text = format!("The storage account '{account}' could not be found.");
            if let Some(failure) = failure {
                text.push(' ');
                text.push_str(failure.text());
            }
            (OutcomeKind::Word("AccountNotFound"), text)
        }
        Err(Problem::Refused(status, text)) => (
            OutcomeKind::Status(status.as_u16()),
            format!("The message to storage account '{account}' queue '{queue}' failed: {text}"),
        ),
        Err(Problem::NoAnswer(failure)) => (
            failure.kind(),
            format!("The message to storage account '{account}' queue '{queue}' failed: {failure}"),
        ),
    };
    Outcome { succeeded: false, kind, message: format!("StorageQueue Action - {text}") }
}

/// Why a message is not in its queue.
enum Problem {
    NoQueue,
    /// With why its name has no address, if that is how we know.
    NoAccount(Option<Failure>),
    Refused(StatusCode, String),
    NoAnswer(Failure),
}

async fn send(
    actions: &Actions,
    firing: &Firing,
    message: &QueueMessage,
    permit: &Permit,
) -> Result<(), Problem> {
    let uri = actions.queues.uri(message).map_err(Problem::NoAnswer)?;
    let body = Bytes::from(envelope::body(firing, &message.message));
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    headers.insert(USER_AGENT, actions.user_agent.clone());
    if let Ok(id) = HeaderValue::from_str(&firing.client_request_id) {
        headers.insert(CLIENT_REQUEST.clone(), id);
    }
    let sent = actions.clients.anonymous().send(request, |_| answer::BODY_BYTES_MAX, permit).await;
    let answer = sent.map_err(|error| {
        let failure = Failure::of(&error);
        if failure.unresolved() { Problem::NoAccount(Some(failure)) } else { Problem::NoAnswer(failure) }
    })?;
    let code = answer.headers.get("x-ms-error-code").and_then(|value| value.to_str().ok()).map(str::to_owned);
    if answer.status.is_success() {
        return Ok(());
    }
    let mut redactor = Redactor::default();
    redactor.add(message.sas_token.expose());
    Err(refusal(answer.status, code, &answer.body, &redactor))
}

/// Returns the problem for an answer that is no success, with the service's explanation.
fn refusal(status: StatusCode, code: Option<String>, body: &[u8], redactor: &Redactor) -> Problem {
    let body = String::from_utf8_lossy(body);
    let code = code.or_else(|| element(&body, "Code").map(str::to_owned)).unwrap_or_default();
    match (status, code.as_str()) {
        (_, "QueueNotFound") => return Problem::NoQueue,
        (StatusCode::NOT_FOUND, _) => return Problem::NoAccount(None),
        _ => {}
    }
    let mut text = format!("'{}'", status::name(status));
    let known = |letter: &char| letter.is_ascii_alphanumeric();
    if !code.is_empty() {
        text.push(' ');
        text.extend(code.chars().filter(known).take(64));
    }
    if status == StatusCode::FORBIDDEN || status == StatusCode::UNAUTHORIZED {
        text.push_str(" The service did not accept the SAS token");
    } else if let Some(said) = element(&body, "Message").map(|said| sanitized(said, redactor))
        && !said.is_empty()
        && !["succeeded", "does not exist", "could not be found"].iter().any(|word| said.contains(word))
    {
        text.push(' ');
        text.push_str(&said);
    }
    Problem::Refused(status, text)
}

#[cfg(test)]
mod tests {
    use punctual_model::Secret;

    use super::*;

    fn message(account: &str, queue: &str) -> QueueMessage {
        QueueMessage {
            storage_account: account.into(),
            queue_name: queue.into(),
            sas_token: Secret::new("?sv=1&sig=a+b="),
            message: String::new(),
        }
    }

    #[test]
    fn the_endpoint_is_a_template() {
        let check = |template, expected: &str| {
            let uri = Endpoint::new(template).unwrap().uri(&message("acc", "q")).unwrap();
            assert_eq!(uri.to_string(), expected);
        };
        check(
            "https://{account}.queue.core.windows.net",
            "https://acc.queue.core.windows.net/q/messages?sv=1&sig=a%2Bb%3D",
        );
        check("http://127.0.0.1:10001/{account}/", "http://127.0.0.1:10001/acc/q/messages?sv=1&sig=a%2Bb%3D");
        for bad in ["", "ftp://x", "{account}", "https://x?y"] {
            assert!(Endpoint::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_can_not_change_the_address() {
        let endpoint = Endpoint::new("https://{account}.queue.core.windows.net").unwrap();
        for (account, queue) in [
            ("evil.example/", "q"),
            ("a@evil", "q"),
            ("", "q"),
            ("a", ".."),
            ("a", "q/../r"),
            ("a", "q?x"),
            ("a#", "q"),
        ] {
            assert!(endpoint.uri(&message(account, queue)).is_err(), "{account} {queue}");
        }
    }
}
