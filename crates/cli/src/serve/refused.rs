//! Requests that are refused before they can be read: their head is too large, or not HTTP.
//!
//! hyper answers these itself, with a status and nothing else, and closes the connection. The stream here
//! replaces that answer by one in the form of the API. It then reads and drops what the caller is still
//! sending: a connection that is closed with unread input is reset, and the caller may lose the answer.
//!
//! This is about HTTP/1.1. Over HTTP/2 the API itself refuses a head that is too large, up to the limit that the
//! connection has (`connection`).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::Response;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long, and how much, to read from a refused caller.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(2);
const DRAIN_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Makes the answer to a request that was refused with a status.
pub(super) type Answer = Arc<dyn Fn(u16) -> Response<Vec<u8>> + Send + Sync>;

/// A connection on which hyper's own answers are replaced.
pub(super) struct Stream<S> {
    inner: S,
    answer: Answer,
    /// Whether a line has ended since the last answer: the head of a request begins with its path.
    line_ended: bool,
    refusal: Option<Refusal>,
}

/// What is left to do for a caller that was refused.
struct Refusal {
    answer: Vec<u8>,
    written: usize,
    drained: usize,
    /// Starts when the answer is sent.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream<S> {
    pub(super) fn new(inner: S, answer: Answer) -> Self {
        Self { inner, answer, line_ended: false, refusal: None }
    }

    /// Takes over what hyper writes if it is an answer of its own.
    fn take(&mut self, written: &[u8]) -> bool {
        let Some(status) = refused_with(written) else {
            self.line_ended &= !written.starts_with(b"HTTP/1.");
            return false;
        };
        // hyper reports everything that is too long as headers.
        let path_too_long = status == 431 && !self.line_ended;
        let answer = replaced(written, &(self.answer)(if path_too_long { 414 } else { status }));
        self.refusal = Some(Refusal { answer, written: 0, drained: 0, deadline: None });
        true
    }

    /// Writes the rest of the answer, if there is one.
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(refusal) = &mut self.refusal else { return Poll::Ready(Ok(())) };
        while refusal.written < refusal.answer.len() {
            let rest = &refusal.answer[refusal.written..];
            match ready!(Pin::new(&mut self.inner).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => refusal.written += count,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads and drops what a refused caller is still sending, until it ends or its time is up.
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(refusal) = &mut self.refusal else { return Poll::Ready(()) };
        let deadline = refusal.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(DRAIN_TIME_MAX)));
        let mut piece = [0; 4096];
        while refusal.drained < DRAIN_BYTES_MAX && deadline.as_mut().poll(context).is_pending() {
            let mut read = ReadBuf::new(&mut piece);
            match Pin::new(&mut self.inner).poll_read(context, &mut read) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if !read.filled().is_empty() => refusal.drained += read.filled().len(),
                Poll::Ready(_) => break,
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let known = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        this.line_ended = this.line_ended || buffer.filled()[known..].contains(&b'\n');
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_answer(context))?;
        if this.take(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut this.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_answer(context))?;
        if let Some(first) = slices.iter().find(|slice| !slice.is_empty())
            && this.take(first)
        {
            return Poll::Ready(Ok(first.len()));
        }
        Pin::new(&mut this.inner).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_answer(context))?;
        Pin::new(&mut this.inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_answer(context))?;
        let shut = ready!(Pin::new(&mut this.inner).poll_shutdown(context));
        ready!(this.poll_drain(context));
        Poll::Ready(shut)
    }
}

/// The status of an answer that hyper made itself: one of those that it makes, without a body and without the
/// headers that all our answers have.
fn refused_with(written: &[u8]) -> Option<u16> {
    let head = std::str::from_utf8(written).ok()?.strip_suffix("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.get(2..5)?.parse().ok()?;
    let ours = head.contains("x-ms-request-id");
    (!ours && matches!(status, 400 | 414 | 431) && head.contains("\r\ncontent-length: 0")).then_some(status)
}

/// Our answer, with hyper's `connection` header.
fn replaced(written: &[u8], answer: &Response<Vec<u8>>) -> Vec<u8> {
    let head = String::from_utf8_lossy(written);
    let kept = head.split("\r\n").skip(1);
    let kept = kept.filter(|line| !line.is_empty() && !line.starts_with("content-length:"));
    let mut bytes = format!("HTTP/1.1 {}\r\n", answer.status()).into_bytes();
    for line in kept {
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    for (name, value) in answer.headers() {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", answer.body().len()).as_bytes());
    bytes.extend_from_slice(answer.body());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_hyper_are_told_from_ours() {
        let check = |written: &str, expected: Option<u16>| {
            assert_eq!(refused_with(written.as_bytes()), expected, "{written}");
        };
        check("HTTP/1.1 431 Too Large\r\ncontent-length: 0\r\ndate: x\r\n\r\n", Some(431));
        check("HTTP/1.1 414 Too Long\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", Some(414));
        check("HTTP/1.0 400 Bad Request\r\ncontent-length: 0\r\n\r\n", Some(400));
        check("HTTP/1.1 400 Bad Request\r\nx-ms-request-id: 1\r\ncontent-length: 0\r\n\r\n", None);
        check("HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}", None);
        check("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", None);
        check("\u{0}\u{0}", None);
        check("", None);
    }

    #[test]
    fn the_replacement_keeps_what_hyper_says_of_the_connection() {
        let written = b"HTTP/1.1 431 Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: x\r\n\r\n";
        let answer = Response::builder().status(414).header("x-ms-request-id", "1").body(b"{}".to_vec());
        assert_eq!(
            String::from_utf8(replaced(written, &answer.unwrap())).unwrap(),
            "HTTP/1.1 414 URI Too Long\r\nconnection: close\r\ndate: x\r\nx-ms-request-id: 1\r\n\
             content-length: 2\r\n\r\n{}"
        );
    }
}
