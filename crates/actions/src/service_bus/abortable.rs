//! A stream that can be aborted.
//!
//! The AMQP library runs a connection in a task of its own. When the connection is dropped, that task waits for
//! the peer to close it, and a peer that never does would keep the task and the socket forever. Aborting the stream
//! ends both.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

use super::frame_guard::FrameGuard;

/// A stream of any kind, plain or over TLS.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> ByteStream for S {}

/// Aborts the stream when it is dropped.
pub(super) struct AbortOnDrop {
    _sender: oneshot::Sender<Infallible>,
}

/// A stream that fails once its [`AbortOnDrop`] is dropped, or when a frame comes that can't be one.
#[derive(Debug)]
pub(super) struct AbortableStream {
    stream: Box<dyn ByteStream>,
    /// `None` once the stream is aborted.
    aborted: Option<oneshot::Receiver<Infallible>>,
    guard: FrameGuard,
}

impl AbortableStream {
    pub(super) fn new(stream: Box<dyn ByteStream>) -> (Self, AbortOnDrop) {
        let (sender, aborted) = oneshot::channel();
        (
            Self { stream, aborted: Some(aborted), guard: FrameGuard::default() },
            AbortOnDrop { _sender: sender },
        )
    }

    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let open = self.aborted.as_mut().is_some_and(|aborted| Pin::new(aborted).poll(cx).is_pending());
        if open {
            return Ok(());
        }
        self.aborted = None;
        Err(io::ErrorKind::ConnectionAborted.into())
    }
}

impl AsyncRead for AbortableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer)?;
        self.guard.check(&buffer.filled()[before..])?;
        read.map(Ok)
    }
}

impl AsyncWrite for AbortableStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn aborting_a_stream_wakes_its_reader_and_fails_it() {
        let (near, mut far) = tokio::io::duplex(16);
        let (mut stream, abort) = AbortableStream::new(Box::new(near));
        far.write_all(b"a").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'a');
        let reading = tokio::spawn(async move { (stream.read_u8().await, stream) });
        tokio::task::yield_now().await;
        drop(abort);
        let (read, mut stream) = reading.await.unwrap();
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
        assert!(stream.write_all(b"b").await.is_err());
        drop(stream);
        assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
