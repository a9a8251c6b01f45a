//! Reads requests within bounds.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Uri, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use jiff::Timestamp;
use punctual_arm::{ApiError, ApiVersion, Dialect, Query, collapsed};
use punctual_model::access::{Caller, Session};
use punctual_model::audit::Author;

use crate::source::Source;
use crate::state::ApiState;

/// The largest body; a job is at most 16 K.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// The longest path and query: names, a filter and a token fit many times.
pub(crate) const TARGET_BYTES_MAX: usize = 8 * 1024;

/// A caller that takes longer to send its body is gone, or tries to occupy a connection.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// A request, its query decoded.
pub(crate) struct Call<'a> {
    headers: &'a HeaderMap,
    uri: &'a Uri,
    pub(crate) query: Query,
    /// Who sent it: somebody without rights until that is known.
    pub(crate) caller: Caller,
    /// The session by which that is known, if it is by one.
    pub(crate) session: Option<Session>,
    /// The caller, with what the audit log says of it.
    pub(crate) author: Author,
    /// The address that it came from, if that is known.
    pub(crate) source: Option<Source>,
}

/// A body that was not read yet. It is separate because a body can't be shared between threads.
pub(crate) struct UnreadBody(pub(crate) Body);

impl<'a> Call<'a> {
    pub(crate) fn new(parts: &'a Parts, state: &ApiState) -> Self {
        let query = parts.uri.query().filter(|query| query.len() <= TARGET_BYTES_MAX);
        let query = Query::decode(query.unwrap_or_default());
        let source = Source::of(parts, &state.settings.trusted_proxies);
        let mut author = Author::of(Caller::nobody(), Timestamp::UNIX_EPOCH);
        if let Some(source) = source {
            author.source = source.to_string().into();
        }
        let (caller, session) = (Caller::nobody(), None);
        Self { headers: &parts.headers, uri: &parts.uri, query, caller, session, source, author }
    }

    /// Its headers.
    pub(crate) fn headers(&self) -> &HeaderMap {
        self.headers
    }

    /// Its path, with each run of slashes as one.
    pub(crate) fn path(&self) -> Cow<'a, str> {
        collapsed(self.uri.path())
    }

    /// The api-version of a scheduler operation.
    pub(crate) fn version(&self) -> Result<ApiVersion, ApiError> {
        ApiVersion::read(self.query.get("api-version"))
    }

    /// Checks that the api-version is Punctual's own, for operations that no other has.
    pub(crate) fn own_version(&self, operation: &str) -> Result<ApiVersion, ApiError> {
        let version = self.version()?;
        if version.has_additions() { Ok(version) } else { Err(ApiError::operation_needs(operation, version)) }
    }

    /// Checks that there is an api-version, for operations that are equal in all of them.
    pub(crate) fn any_version(&self) -> Result<(), ApiError> {
        ApiVersion::require_any(self.query.get("api-version"))
    }

    /// The dialect of this caller.
    pub(crate) fn dialect(&self, list: bool) -> Dialect {
        let user_agent = self.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        Dialect::of(user_agent, list)
    }

    /// The absolute link to the next page of this list.
    pub(crate) fn next_link(&self, state: &ApiState, name: &str, place: &str) -> String {
        self.query.next_link(&format!("{}{}", self.base(state), self.uri.path()), name, place)
    }

    /// An absolute link to another path, with one parameter.
    pub(crate) fn link(&self, state: &ApiState, path: &str, name: &str, value: &str) -> String {
        Query::default().next_link(&format!("{}{path}", self.base(state)), name, value)
    }

    /// The base URL under which the caller reaches this server.
    pub(crate) fn base(&self, state: &ApiState) -> String {
        if let Some(url) = &state.settings.public_url {
            return url.trim_end_matches('/').to_owned();
        }
        let host = self.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or(self.uri.authority().map(http::uri::Authority::as_str)).unwrap_or("localhost");
        format!("{}://{host}", if state.settings.secure { "https" } else { "http" })
    }
}

impl UnreadBody {
    /// How many bytes of it may be read at most.
    pub(crate) fn bytes_max(&self) -> u64 {
        let most = BODY_BYTES_MAX as u64;
        if self.0.is_end_stream() {
            0
        } else {
            self.0.size_hint().upper().map_or(most, |size| size.min(most))
        }
    }

    /// Reads the whole body.
    pub(crate) async fn into_bytes(self) -> Result<Bytes, ApiError> {
        let limited = Limited::new(self.0, BODY_BYTES_MAX);
        match tokio::time::timeout(BODY_TIME_MAX, limited.collect()).await {
            Err(_elapsed) => Err(ApiError::request_timeout()),
            Ok(Ok(collected)) => Ok(collected.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(ApiError::too_large(BODY_BYTES_MAX)),
            Ok(Err(_)) => Err(ApiError::bad_request("The request body could not be read to its end.")),
        }
    }
}
