//! A stream that remembers how its peer began to speak.
//!
//! Whoever asks the wrong port is answered in another protocol, and the library that expected its own only says
//! that it could not parse that. The first bytes tell what the port speaks.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a peer speaks, as far as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    /// It has sent nothing yet.
    Nothing,
    Tls,
    Http,
    Amqp,
    Other,
}

/// The first bytes of a peer, shared by the stream and by whoever has to explain a failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstBytes(Arc<AtomicU64>);

impl FirstBytes {
    pub(crate) fn speech(&self) -> Speech {
        match self.0.load(Ordering::Relaxed).to_be_bytes() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Speech::Nothing,
            // A record of TLS: its type, and the major version, which is 3 in every version.
            [0x14..=0x17, 0x03, ..] => Speech::Tls,
            [b'H', b'T', b'T', b'P', ..] => Speech::Http,
            [b'A', b'M', b'Q', b'P', ..] => Speech::Amqp,
            _ => Speech::Other,
        }
    }

    fn note(&self, bytes: &[u8]) {
        let mut first = [0; 8];
        let length = bytes.len().min(first.len());
        first[..length].copy_from_slice(&bytes[..length]);
        self.0.store(u64::from_be_bytes(first), Ordering::Relaxed);
    }
}

/// A stream that notes the first bytes that it reads.
#[derive(Debug)]
pub(crate) struct Noting<S> {
    stream: S,
    first_bytes: FirstBytes,
    noted: bool,
}

impl<S> Noting<S> {
    pub(crate) fn new(stream: S, first_bytes: FirstBytes) -> Self {
        Self { stream, first_bytes, noted: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noting<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if !self.noted && buffer.filled().len() > before {
            self.noted = true;
            self.first_bytes.note(&buffer.filled()[before..]);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noting<S> {
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
    async fn the_first_bytes_tell_what_a_peer_speaks() {
        for (bytes, speech) in [
            (&b""[..], Speech::Nothing),
            (b"\x15\x03\x01\x00\x02\x02\x46", Speech::Tls),
            (b"\x16\x03\x03\x00\x7a\x02", Speech::Tls),
            (b"HTTP/1.1 400 Bad Request\r\n", Speech::Http),
            (b"AMQP\x00\x00\x09\x01", Speech::Amqp),
            (b"SSH-2.0-OpenSSH_9.2\r\n", Speech::Other),
            (b"x", Speech::Other),
        ] {
            let (mut near, far) = tokio::io::duplex(64);
            let first_bytes = FirstBytes::default();
            let mut far = Noting::new(far, first_bytes.clone());
            near.write_all(bytes).await.unwrap();
            drop(near);
            let mut read = Vec::new();
            far.read_to_end(&mut read).await.unwrap();
            assert_eq!((first_bytes.speech(), read.as_slice()), (speech, bytes), "{bytes:?}");
        }
    }
}
