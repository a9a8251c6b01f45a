//! Reads answers, with a limit on the body.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Context;

use http::response::Parts;
use http::{HeaderMap, Response, StatusCode};
use hyper::body::{Body, Incoming};

/// An answer with the beginning of its body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Reads up to `body_limit` bytes of the body and drops the rest. Dropping it closes an HTTP/1.1 connection that
    /// has more to send, and resets the stream of an HTTP/2 connection. `drive` polls the connection meanwhile.
    pub(super) async fn read(
        response: Response<Incoming>,
        body_limit: impl Fn(&Parts) -> usize,
        mut drive: impl FnMut(&mut Context<'_>),
    ) -> Result<Self, hyper::Error> {
        let (parts, mut incoming) = response.into_parts();
        let bytes_max = body_limit(&parts);
        let announced = incoming.size_hint().lower().min(bytes_max as u64) as usize;
        let mut body = Vec::with_capacity(announced);
        while body.len() < bytes_max && !incoming.is_end_stream() {
            let frame = poll_fn(|cx| {
                drive(cx);
                Pin::new(&mut incoming).poll_frame(cx)
            });
            let Some(frame) = frame.await.transpose()? else { break };
            if let Some(bytes) = frame.data_ref() {
                let room = bytes_max - body.len();
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
        Ok(Self { status: parts.status, headers: parts.headers, body })
    }
}
