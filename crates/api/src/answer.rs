//! Answers: status, body, and the headers that every answer has.

use std::sync::Arc;

use axum::body::Body;
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Response, StatusCode};
use jiff::tz::Offset;
use punctual_arm::ApiError;
use punctual_model::{Chain, guid};
use punctual_store::Trouble;
use serde::Serialize;

use crate::state::ApiState;

/// The content type of JSON answers.
pub(crate) const JSON: &str = "application/json; charset=utf-8";

/// That this host is to be reached over https alone, once it was.
pub(crate) const STRICT_TRANSPORT: &str = "max-age=31536000; includeSubDomains";

/// An answer without the headers that every answer has.
pub(crate) struct Answer {
    status: StatusCode,
    content: Option<(&'static str, Body)>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Answer {
    /// 200 with a body.
    pub(crate) fn ok(body: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::with(StatusCode::OK, body))
    }

    /// 201 with a body.
    pub(crate) fn created(body: &impl Serialize) -> Result<Self, ApiError> {
        Ok(Self::with(StatusCode::CREATED, body))
    }

    /// 200 with a body of any type: bytes, text, or a stream.
    pub(crate) fn content(content_type: &'static str, body: impl Into<Body>) -> Result<Self, ApiError> {
        let content = Some((content_type, body.into()));
        Ok(Self { status: StatusCode::OK, content, headers: Vec::new() })
    }

    /// A body of any type with any status.
    pub(crate) fn content_with(status: StatusCode, content_type: &'static str, body: Body) -> Self {
        Self { status, content: Some((content_type, body)), headers: Vec::new() }
    }

    /// A status without a body. The clients accept no 204 where they expect 200.
    pub(crate) fn empty(status: StatusCode) -> Result<Self, ApiError> {
        Ok(Self { status, content: None, headers: Vec::new() })
    }

    /// The same answer with one more header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// The same answer with a header that names the members of the request which were ignored as unknown.
    pub(crate) fn with_ignored(self, ignored: Option<&str>) -> Self {
        match ignored {
            Some(members) => self.with_header(HeaderName::from_static("x-punctual-ignored"), members),
            None => self,
        }
    }

    pub(crate) fn error(error: &ApiError) -> Self {
        let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let answer = Self::with(status, &error.to_json());
        let answer = match error.retry_after_seconds() {
            Some(seconds) => answer.with_header(header::RETRY_AFTER, &seconds.to_string()),
            None => answer,
        };
        if error.made_by_gateway() {
            answer.with_header(HeaderName::from_static("x-ms-failure-cause"), "gateway")
        } else {
            answer
        }
    }

    pub(crate) fn with(status: StatusCode, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("answers are made of texts, numbers and lists of them");
        Self { status, content: Some((JSON, body.into())), headers: Vec::new() }
    }

    pub(crate) fn into_response(self, ids: &Ids, method: &Method) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
        headers.insert(header::EXPIRES, HeaderValue::from_static("-1"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(STRICT_TRANSPORT));
        ids.add_to(headers);
        for (name, value) in self.headers {
            // Of cookies there may be several.
            if name == header::SET_COOKIE {
                headers.append(name, value);
            } else {
                headers.insert(name, value);
            }
        }
        if let Some((content_type, body)) = self.content {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
            if method != Method::HEAD {
                *response.body_mut() = body;
            }
        }
        response
    }
}

/// The ids of a request, which answers carry.
pub(crate) struct Ids {
    request: String,
    correlation: String,
    routing: String,
}

impl Ids {
    pub(crate) fn new(state: &ApiState) -> Self {
        let request = guid(state.random.random());
        let correlation = guid(state.random.random());
        let time = Offset::UTC.to_datetime(state.now());
        let routing = format!(
            "LOCAL:{:04}{:02}{:02}T{:02}{:02}{:02}Z:{correlation}",
            time.year(),
            time.month(),
            time.day(),
            time.hour(),
            time.minute(),
            time.second()
        );
        Self { request, correlation, routing }
    }

    /// The id of the request.
    pub(crate) fn request(&self) -> Arc<str> {
        self.request.as_str().into()
    }

    fn add_to(&self, headers: &mut http::HeaderMap) {
        let mut add = |name: &'static str, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        add("x-ms-request-id", &self.request);
        add("x-ms-correlation-request-id", &self.correlation);
        add("x-ms-routing-request-id", &self.routing);
    }
}

/// The error for a caller when the store fails; the log has the reason.
pub(crate) fn trouble(trouble: &Trouble) -> ApiError {
    match trouble {
        Trouble::Busy { .. } | Trouble::Closed { .. } | Trouble::Unsure { .. } => {
            tracing::warn!(error = %Chain(trouble), "the store did not answer");
            ApiError::unavailable()
        }
        Trouble::Corrupt { what, detail } => {
            tracing::error!(error = %Chain(trouble), "what is stored can't be read");
            ApiError::unreadable(what, detail)
        }
        // The store logs when these begin and when they are over.
        Trouble::Full { .. } => ApiError::insufficient_storage(),
        Trouble::Unwritable { .. } => ApiError::unwritable(),
        Trouble::Failed { .. } => {
            tracing::error!(error = %Chain(trouble), "the store failed");
            ApiError::internal()
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::{StreamExt, stream};
    use http_body_util::BodyExt;

    use super::*;

    fn response(answer: Result<Answer, ApiError>, method: &Method) -> Response<Body> {
        let ids = Ids { request: "1".into(), correlation: "2".into(), routing: "3".into() };
        answer.unwrap_or_else(|error| Answer::error(&error)).into_response(&ids, method)
    }

    #[tokio::test]
    async fn a_body_of_any_type_says_what_it_is() {
        let json = response(Answer::ok(&[1, 2]), &Method::GET);
        assert_eq!(json.headers()[header::CONTENT_TYPE], "application/json; charset=utf-8");
        assert_eq!(json.into_body().collect().await.unwrap().to_bytes(), "[1,2]");
        for content_type in ["text/plain; charset=utf-8", "text/html", "application/openmetrics-text"] {
            let text = response(Answer::content(content_type, "a line\n"), &Method::GET);
            assert_eq!(text.headers()[header::CONTENT_TYPE], content_type);
            assert_eq!(text.headers()[header::CACHE_CONTROL], "no-cache");
            assert_eq!(text.into_body().collect().await.unwrap().to_bytes(), "a line\n");
        }
        let empty = response(Answer::empty(StatusCode::OK), &Method::GET);
        assert_eq!(empty.headers().get(header::CONTENT_TYPE), None);
    }

    #[tokio::test]
    async fn a_stream_is_sent_piece_by_piece_as_it_comes() {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Result<Bytes, std::io::Error>>();
        let pieces = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
        let events = Answer::content("text/event-stream", Body::from_stream(pieces));
        let mut body = response(events, &Method::GET).into_body().into_data_stream();
        for piece in ["data: 1\n\n", "data: 2\n\n"] {
            sender.send(Ok(piece.into())).unwrap();
            assert_eq!(body.next().await.unwrap().unwrap(), piece);
        }
        drop(sender);
        assert!(body.next().await.is_none());
    }

    #[tokio::test]
    async fn a_head_request_gets_the_type_and_no_body() {
        let head = response(Answer::content("text/html", "<p>"), &Method::HEAD);
        assert_eq!(head.headers()[header::CONTENT_TYPE], "text/html");
        assert!(head.into_body().collect().await.unwrap().to_bytes().is_empty());
    }

    #[test]
    fn what_stops_all_writes_is_told_by_its_own_status() {
        let doing = "write a job";
        let full = trouble(&Trouble::Full { doing });
        assert_eq!((full.status, full.code, full.retry_after_seconds()), (507, "InsufficientStorage", None));
        let read_only = trouble(&Trouble::Unwritable { doing, why: "the file system is read-only".into() });
        assert_eq!((read_only.status, read_only.code), (503, "ServiceUnavailable"));
        assert!(read_only.message.contains("can't write"), "{}", read_only.message);
    }
}
