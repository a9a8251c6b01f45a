//! The error catalogue: status, code and message of every error answer.

use std::fmt;

use jiff::Timestamp;
use punctual_model::access::Token;
use punctual_model::{CollectionKey, JobKey, JobState, Name, Scope};
use punctual_recurrence::Problem;
use serde_json::{Value, json};

use crate::reader::shown;
use crate::suggestion::nearest;
use crate::{ApiVersion, Locations, id, time};

/// How long a caller above the rate limit should wait: the window of the limit.
const RETRY_AFTER_LIMIT_SECONDS: u64 = 60;

/// How long a caller should wait when the store is busy, which passes quickly.
const RETRY_AFTER_TROUBLE_SECONDS: u64 = 1;

/// The most problems that one message lists; a body can have thousands.
const LISTED_PROBLEMS_MAX: usize = 50;

/// An answer that is an error: `{"error":{"code":"…","message":"…"}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// The code, for programs.
    pub code: &'static str,
    /// The message, for people. Never contains a secret.
    pub message: String,
}

impl ApiError {
    fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// The body of the answer.
    pub fn to_json(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message}})
    }

    /// Whether the resource manager would answer this rather than the provider; such answers have the header
    /// `x-ms-failure-cause: gateway`.
    pub fn made_by_gateway(&self) -> bool {
        matches!(
            self.code,
            "ResourceNotFound"
                | "ResourceGroupNotFound"
                | "MissingApiVersionParameter"
                | "InvalidApiVersionParameter"
                | "LocationNotAvailableForResourceType"
                | "InvalidResourceLocation"
                | "InvalidResourceGroupLocation"
        )
    }

    /// How long to wait before a new try, where that is known: for the header `Retry-After`.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        match self.status {
            429 => Some(RETRY_AFTER_LIMIT_SECONDS),
            503 => Some(RETRY_AFTER_TROUBLE_SECONDS),
            _ => None,
        }
    }

    // Requests that are wrong in themselves.

    /// 400: no `api-version` in the query.
    pub fn missing_api_version() -> Self {
        let message = "The api-version query parameter (?api-version=) is required for all requests.";
        Self::new(400, "MissingApiVersionParameter", message)
    }

    /// 400: an `api-version` that is not served.
    pub fn unknown_api_version(written: &str) -> Self {
        let supported = ApiVersion::ALL.map(ApiVersion::as_str).join(", ");
        let message = format!(
            "The api-version '{}' is invalid. The supported versions are '{supported}'.",
            shown(written)
        );
        Self::new(400, "InvalidApiVersionParameter", message)
    }

    /// 400: an operation that only Punctual's own api-version has.
    pub fn operation_needs(operation: &str, given: ApiVersion) -> Self {
        let needed = ApiVersion::V2026_11;
        let message = format!(
            "The operation '{operation}' needs the api-version '{needed}'; '{given}' does not have it."
        );
        Self::new(400, "InvalidApiVersionParameter", message)
    }

    /// 400: the body is not a job.
    pub fn malformed_job(detail: impl fmt::Display) -> Self {
        Self::new(400, "BadRequest", format!("Malformed Job Object: {detail}."))
    }

    /// 400 with any message.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// Whether it says that the caller may not do what it asked for.
    pub fn is_denial(&self) -> bool {
        (self.status, self.code) == (403, "AuthorizationFailed")
    }

    /// 400: all problems of a body, each with its JSON path.
    pub fn invalid(problems: &[Problem]) -> Self {
        let mut listed: Vec<_> = problems.iter().take(LISTED_PROBLEMS_MAX).map(ToString::to_string).collect();
        if problems.len() > LISTED_PROBLEMS_MAX {
            listed.push(format!("and {} more", problems.len() - LISTED_PROBLEMS_MAX));
        }
        Self::new(400, "BadRequest", listed.join("; "))
    }

    /// 400: a region that is not known.
    pub fn unknown_location(written: &str, locations: &Locations) -> Self {
        let message = format!(
            "The provided location '{}' is not available for resource type 'Microsoft.Scheduler/jobCollections'. \
             List of available regions for the resource type is '{}'.",
            shown(written),
            locations.names().join(",")
        );
        Self::new(400, "LocationNotAvailableForResourceType", message)
    }

    /// 404: a job has no such occurrence.
    pub fn occurrence_not_found(key: &JobKey, due_at: Timestamp) -> Self {
        let message = format!(
            "Job '{}' has no occurrence that was due at '{}', or what is known of it was deleted.",
            key.name,
            time::instant(due_at)
        );
        Self::new(404, "NotFound", message)
    }

    /// 409: an occurrence has no outcome yet.
    pub fn occurrence_is_open(key: &JobKey, due_at: Timestamp, outcome: &str) -> Self {
        let message = format!(
            "The occurrence of job '{}' that is due at '{}' is {outcome}: only one that has ended can be run again.",
            key.name,
            time::instant(due_at)
        );
        Self::conflict(message)
    }

    /// 413: the body is too large.
    pub fn too_large(bytes_max: usize) -> Self {
        Self::new(
            413,
            "RequestContentTooLarge",
            format!("The request body is larger than {bytes_max} bytes."),
        )
    }

    /// 405: the path exists, the method doesn't.
    pub fn method_not_allowed(method: &str) -> Self {
        let message = format!("The method '{}' is not supported here.", shown(method));
        Self::new(405, "MethodNotAllowed", message)
    }

    /// 404: no operation has this path.
    pub fn no_operation(path: &str) -> Self {
        Self::new(404, "NotFound", format!("There is no operation at '{}'.", shown(path)))
    }

    /// 404: no operation has this path. `what` exists, such as `the job 'x'`, but has no `tail`; `known` are
    /// the tails that it has.
    pub fn no_operation_on(what: &str, tail: &str, known: &[&str]) -> Self {
        let asked = if tail.is_empty() { String::new() } else { format!(" '{}'", shown(tail)) };
        let others = match (nearest(tail, known.iter().copied()), known) {
            (Some(meant), _) => format!(" Did you mean '{meant}'?"),
            (None, []) => String::new(),
            (None, known) => format!(" There are: {}.", known.join(", ")),
        };
        Self::new(404, "NotFound", format!("There is no operation{asked} on {}.{others}", shown(what)))
    }

    /// 414: path and query are too long.
    pub fn uri_too_long(bytes_max: usize) -> Self {
        Self::new(414, "UriTooLong", format!("The path and query are longer than {bytes_max} bytes."))
    }

    /// 431: the headers are too large or too many.
    pub fn headers_too_large(bytes_max: usize, count_max: usize) -> Self {
        let message = format!(
            "The headers of the request are too large: at most {bytes_max} bytes and {count_max} headers are read."
        );
        Self::new(431, "RequestHeaderFieldsTooLarge", message)
    }

    /// 408: the body did not come in time.
    pub fn request_timeout() -> Self {
        Self::new(408, "RequestTimeout", "The request body did not arrive in time.")
    }

    // Requests that are not allowed.

    /// 401: the request does not say who calls.
    pub fn authentication_missing() -> Self {
        let message = "Authentication failed. The 'Authorization' header is missing.";
        Self::new(401, "AuthenticationFailed", message)
    }

    /// 401: what the request says of its caller can't be used; `why` is a sentence.
    pub fn invalid_token(why: &str) -> Self {
        Self::new(401, "InvalidAuthenticationToken", format!("The access token is invalid. {why}"))
    }

    /// 401: a token that was good until then.
    pub fn expired_token(expired_at: Timestamp, now: Timestamp) -> Self {
        let message = format!(
            "The access token expiry UTC time '{}' is earlier than current UTC time '{}'.",
            time::instant(expired_at),
            time::instant(now)
        );
        Self::new(401, "ExpiredAuthenticationToken", message)
    }

    /// 401: the cookie of a session that there is not, or not any more.
    pub fn no_session() -> Self {
        let message =
            "The session is unknown: it was signed out, or its token was revoked or rotated. Sign in again.";
        Self::new(401, "InvalidAuthenticationToken", message)
    }

    /// 401: a session that was good until then.
    pub fn expired_session(ended_at: Timestamp, now: Timestamp) -> Self {
        let message = format!(
            "The session ended at '{}', since it was not used or was as old as a session may be; it is '{}'. Sign in again.",
            time::instant(ended_at),
            time::instant(now)
        );
        Self::new(401, "ExpiredAuthenticationToken", message)
    }

    /// 403: a request with the cookie of a session does not come from a page of this server.
    pub fn not_our_page(header: &str) -> Self {
        let message = format!(
            "The cookie of a session counts only in requests of this server's own page: from the same origin, by \
             Sec-Fetch-Site or Origin, and with the header {header} if they change something. Programs send a token by the \
             header Authorization instead."
        );
        Self::new(403, "CrossOriginRequest", message)
    }

    /// 403: the caller may not do this there.
    pub fn authorization_failed(name: &str, client_id: &str, action: &str, scope: &Scope) -> Self {
        let message = format!(
            "The client '{name}' with object id '{client_id}' does not have authorization to perform action '{action}' \
             over scope '{}'.",
            id::scope(scope)
        );
        Self::new(403, "AuthorizationFailed", message)
    }

    /// 403: the request comes from a page of another site in a browser.
    pub fn cross_origin() -> Self {
        let message = "The request comes from a page of another site, whose requests are not served. If the page is this \
                       server's own, and a proxy is in between, set server.public_url to the address of the page.";
        Self::new(403, "CrossOriginRequest", message)
    }

    /// 421: the request is addressed to a host that is not this server.
    pub fn misdirected(host: &str) -> Self {
        let message = format!(
            "The request is addressed to the host '{}', which is none of this server's names. If it is one, whoever runs \
             the server adds it to the setting server.hosts.",
            shown(host)
        );
        Self::new(421, "MisdirectedRequest", message)
    }

    /// 429: over the rate limit. The caller adds `Retry-After`.
    pub fn too_many_requests() -> Self {
        let message = format!(
            "The number of requests has exceeded the limit. Please retry after '{RETRY_AFTER_LIMIT_SECONDS}' seconds."
        );
        Self::new(429, "TooManyRequests", message)
    }

    /// 429: a caller is above one of its limits, which is a setting. The caller adds `Retry-After`.
    pub fn over_limit(name: &str, setting: &str, seconds: u64) -> Self {
        let message = format!(
            "The client '{name}' asks for more than the setting {setting} allows. Please retry after '{seconds}' seconds."
        );
        Self::new(429, "TooManyRequests", message)
    }

    /// 429: too many failures to sign in came from there. The caller adds `Retry-After`.
    pub fn too_many_failures(seconds: u64) -> Self {
        let message = format!(
            "Too many requests with an invalid access token came from this address. Please retry after '{seconds}' \
             seconds, with a valid one."
        );
        Self::new(429, "TooManyRequests", message)
    }

    /// 429: as many people are signed in as may be.
    pub fn too_many_sessions(max: usize) -> Self {
        let message = format!(
            "There are {max} sessions, and there can't be more. Wait until some have ended, or have an owner end some \
             (DELETE /sessions)."
        );
        Self::new(429, "TooManyRequests", message)
    }

    // Things that do not exist.

    /// 404: no such session.
    pub fn session_not_found(id: &str) -> Self {
        Self::new(404, "SessionNotFound", format!("There is no session '{}'.", shown(id)))
    }

    /// 404: no such collection, for any operation on it or below it.
    pub fn collection_not_found(key: &CollectionKey) -> Self {
        let message = format!(
            "The Resource 'Microsoft.Scheduler/jobcollections/{}' under resource group '{}' was not found.",
            key.name, key.group.name
        );
        Self::new(404, "ResourceNotFound", message)
    }

    /// 404: no such job.
    pub fn job_not_found(key: &JobKey) -> Self {
        Self::new(404, "NotFound", format!("Job '{}' cannot be found.", key.name))
    }

    /// 404: no such resource group.
    pub fn group_not_found(name: &Name) -> Self {
        Self::new(404, "ResourceGroupNotFound", format!("Resource group '{name}' could not be found."))
    }

    /// 404: no such subscription.
    pub fn subscription_not_found(name: &Name) -> Self {
        let message = format!("The subscription '{}' could not be found.", shown(name.as_str()));
        Self::new(404, "SubscriptionNotFound", message)
    }

    /// 404: no such token.
    pub fn token_not_found(id: &str) -> Self {
        Self::new(404, "NotFound", format!("There is no token with the id '{}'.", shown(id)))
    }

    /// 404: no key has this number.
    pub fn key_not_found(id: &str) -> Self {
        Self::new(404, "NotFound", format!("There is no key {}.", shown(id)))
    }

    /// 404: there is no node of this name.
    pub fn node_not_found(name: &str) -> Self {
        Self::new(404, "NotFound", format!("There is no node '{}'.", shown(name)))
    }

    // Conflicts with the present state.

    /// 409: a token of this name exists.
    pub fn token_exists(name: &str) -> Self {
        Self::conflict(format!(
            "There is a token '{name}' already: revoke it, rotate it or choose another name."
        ))
    }

    /// 409: there are as many tokens as there may be.
    pub fn too_many_tokens(max: usize) -> Self {
        Self::conflict(format!(
            "There are {max} tokens, which is as many as there may be: revoke some first."
        ))
    }

    /// 409: a new secret would be refused like the old one.
    pub fn token_is_expired(token: &Token) -> Self {
        let expired_at = token.expires_at.map(time::instant).unwrap_or_default();
        Self::conflict(format!(
            "The token '{}' expired at {expired_at}: give a new expiresAt, or null for none.",
            token.name
        ))
    }

    /// 409 with any message.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(409, "Conflict", message)
    }

    /// 409: a completed or faulted job can't be changed.
    pub fn job_is_final(key: &JobKey, state: JobState) -> Self {
        let state = crate::job::state_name(state);
        Self::conflict(format!("The job '{}' is {state}, which is final: delete it first.", key.name))
    }

    /// 409: a run in a collection that is not enabled.
    pub fn collection_not_enabled(key: &CollectionKey) -> Self {
        Self::conflict(format!("The job collection '{}' is not enabled.", key.name))
    }

    /// 409: others wrote the same resource at every try of this write.
    pub fn write_contention() -> Self {
        Self::conflict("The resource was changed by others at the same time. Please try again.")
    }

    /// 409: a collection stays in its region.
    pub fn location_change(key: &CollectionKey, current: &str, asked: &str) -> Self {
        let message = format!(
            "The resource '{}' already exists in location '{current}' in resource group '{}'. A resource with \
             the same name cannot be created in location '{}'. Please select a new resource name.",
            key.name,
            key.group.name,
            shown(asked)
        );
        Self::new(409, "InvalidResourceLocation", message)
    }

    /// 409: a group stays in its region.
    pub(crate) fn group_location_change(current: &str, asked: &str) -> Self {
        let message = format!(
            "Invalid resource group location '{asked}'. The resource group already exists in location '{current}'."
        );
        Self::new(409, "InvalidResourceGroupLocation", message)
    }

    // Errors that the caller can't avoid.

    /// 500: a bug. What went wrong is in the log, not in the answer.
    pub fn internal() -> Self {
        let message =
            "The server encountered an internal error. Please try again or contact whoever runs it.";
        Self::new(500, "InternalServerError", message)
    }

    /// 500: a stored resource can't be read.
    pub fn unreadable(what: &str, detail: &str) -> Self {
        let message = format!(
            "Could not read {what} from the store ({detail}). Delete it and create it anew, or ask whoever runs the \
             server, to whom 'punctual doctor' says more."
        );
        Self::new(500, "InternalServerError", message)
    }

    /// 503: who calls can't be found out, since the issuer of the token does not give its keys.
    pub fn issuer_unavailable() -> Self {
        let message = "The keys of the token's issuer could not be fetched. Please try again.";
        Self::new(503, "ServiceUnavailable", message)
    }

    /// 503: come back later.
    pub fn unavailable() -> Self {
        Self::new(503, "ServiceUnavailable", "The server is busy. Please try again later.")
    }

    /// 503: the node can't fire, and says why.
    pub fn not_firing(problem: &str) -> Self {
        Self::new(503, "ServiceUnavailable", format!("This node fires nothing: {problem}."))
    }

    /// 503: the server stops, because one of its tasks has ended.
    pub fn stopping(failure: &str) -> Self {
        let message =
            format!("The server stops after an internal error: {failure}. It has to be started anew.");
        Self::new(503, "ServiceUnavailable", message)
    }

    /// 503: nothing can be written, for another reason than a full disk.
    pub fn unwritable() -> Self {
        let message = "The server can't write to its disk at present. Please try again later, or contact whoever \
                       runs it.";
        Self::new(503, "ServiceUnavailable", message)
    }

    /// 507: the disk is full.
    pub fn insufficient_storage() -> Self {
        let message = "The server's disk is full, so nothing was changed. Please contact whoever runs it: once \
                       there is space again, the server goes on by itself.";
        Self::new(507, "InsufficientStorage", message)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status, self.code, self.message)
    }
}

impl std::error::Error for ApiError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_are_those_of_the_service() {
        let collection = CollectionKey::new("s", "onesdk", "CreateIt");
        let check = |error: ApiError, status, code, message: &str| {
            assert_eq!((error.status, error.code, error.message.as_str()), (status, code, message));
        };
        check(
            ApiError::collection_not_found(&collection),
            404,
            "ResourceNotFound",
            "The Resource 'Microsoft.Scheduler/jobcollections/CreateIt' under resource group 'onesdk' was not found.",
        );
        check(ApiError::job_not_found(&collection.job("J")), 404, "NotFound", "Job 'J' cannot be found.");
        check(
            ApiError::missing_api_version(),
            400,
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all requests.",
        );
    }

    #[test]
    fn envelope_holds_code_and_message_alone() {
        let body = ApiError::bad_request("no").to_json();
        assert_eq!(body.to_string(), r#"{"error":{"code":"BadRequest","message":"no"}}"#);
    }

    #[test]
    fn thousands_of_problems_make_a_short_message() {
        let problems: Vec<_> = (0..5000).map(|index| Problem::new(format!("a[{index}]"), "is odd")).collect();
        let message = ApiError::invalid(&problems).message;
        assert!(message.ends_with("; and 4950 more"), "{message}");
    }
}
