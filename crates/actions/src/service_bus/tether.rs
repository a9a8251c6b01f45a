//! A connection that can be cut.
//!
//! The AMQP library runs a connection in a task of its own and waits for the peer's good-bye when it is let
//! go; a peer that never says it would keep task and socket for good. Cutting the stream ends both.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

/// A stream of any kind.
pub(super) trait Duplex: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> Duplex for S {}

/// Cuts the stream when it is dropped.
pub(super) struct Leash {
    _cut: oneshot::Sender<Infallible>,
}

/// A stream that fails once its leash is dropped.
#[derive(Debug)]
pub(super) struct Tether {
    stream: Box<dyn Duplex>,
    /// None once it is cut.
    leash: Option<oneshot::Receiver<Infallible>>,
}

impl Tether {
    pub(super) fn new(stream: Box<dyn Duplex>) -> (Self, Leash) {
        let (cut, leash) = oneshot::channel();
        (Self { stream, leash: Some(leash) }, Leash { _cut: cut })
    }

    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let held = self.leash.as_mut().is_some_and(|leash| Pin::new(leash).poll(cx).is_pending());
        if held {
            return Ok(());
        }
        self.leash = None;
        Err(io::ErrorKind::ConnectionAborted.into())
    }
}

impl AsyncRead for Tether {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Tether {
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
    async fn a_cut_stream_wakes_its_reader_and_fails() {
        let (near, mut far) = tokio::io::duplex(16);
        let (mut tether, leash) = Tether::new(Box::new(near));
        far.write_all(b"a").await.unwrap();
        assert_eq!(tether.read_u8().await.unwrap(), b'a');
        let reading = tokio::spawn(async move { (tether.read_u8().await, tether) });
        tokio::task::yield_now().await;
        drop(leash);
        let (read, mut tether) = reading.await.unwrap();
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
        assert!(tether.write_all(b"b").await.is_err());
        drop(tether);
        assert_eq!(far.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
