//! A stream that records the first bytes that its peer sends.
//!
//! On a wrong port another protocol answers, and the library that expected its own only reports that it could not
//! parse that. The first bytes tell which protocol it was.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The protocol of a peer, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DetectedProtocol {
    /// It has sent nothing.
    None,
    Tls,
    Http,
    Amqp,
    Unknown,
}

/// The first bytes of a peer, shared by the stream and by errors that explain a failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstBytes(Arc<AtomicU64>);

impl FirstBytes {
    pub(crate) fn detected(&self) -> DetectedProtocol {
        match self.0.load(Ordering::Relaxed).to_be_bytes() {
            [0, 0, 0, 0, 0, 0, 0, 0] => DetectedProtocol::None,
            // A TLS record begins with its type and the major version, which is 3 in every version.
            [0x14..=0x17, 0x03, ..] => DetectedProtocol::Tls,
            [b'H', b'T', b'T', b'P', ..] => DetectedProtocol::Http,
            [b'A', b'M', b'Q', b'P', ..] => DetectedProtocol::Amqp,
            _ => DetectedProtocol::Unknown,
        }
    }

    fn record(&self, bytes: &[u8]) {
        let mut first = [0; 8];
        let length = bytes.len().min(first.len());
        first[..length].copy_from_slice(&bytes[..length]);
        self.0.store(u64::from_be_bytes(first), Ordering::Relaxed);
    }
}

/// A stream that records the first bytes that it reads.
#[derive(Debug)]
pub(crate) struct RecordingStream<S> {
    stream: S,
    first_bytes: FirstBytes,
    recorded: bool,
}

impl<S> RecordingStream<S> {
    pub(crate) fn new(stream: S, first_bytes: FirstBytes) -> Self {
        Self { stream, first_bytes, recorded: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RecordingStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if !self.recorded && buffer.filled().len() > before {
            self.recorded = true;
            self.first_bytes.record(&buffer.filled()[before..]);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RecordingStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn the_first_bytes_tell_the_protocol_of_a_peer() {
        for (bytes, expected) in [
            (&b""[..], DetectedProtocol::None),
            (b"\x15\x03\x01\x00\x02\x02\x46", DetectedProtocol::Tls),
            (b"\x16\x03\x03\x00\x7a\x02", DetectedProtocol::Tls),
            (b"HTTP/1.1 400 Bad Request\r\n", DetectedProtocol::Http),
            (b"AMQP\x00\x00\x09\x01", DetectedProtocol::Amqp),
            (b"SSH-2.0-OpenSSH_9.2\r\n", DetectedProtocol::Unknown),
            (b"x", DetectedProtocol::Unknown),
        ] {
            let (mut near, far) = tokio::io::duplex(64);
            let first_bytes = FirstBytes::default();
            let mut far = RecordingStream::new(far, first_bytes.clone());
            near.write_all(bytes).await.unwrap();
            drop(near);
            let mut read = Vec::new();
            far.read_to_end(&mut read).await.unwrap();
            assert_eq!((first_bytes.detected(), read.as_slice()), (expected, bytes), "{bytes:?}");
        }
    }
}
