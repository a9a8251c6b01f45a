//! Connections for the HTTP client: TCP by [`Dialer`], with TLS for https.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::dial::{Deadline, DialError, Dialed, Dialer, without_brackets};
use crate::first_bytes::RecordingStream;
use crate::peer::{Peer, Protocol};

/// Connects with one TLS configuration: with one client certificate, or without.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) dialer: Arc<Dialer>,
    pub(crate) tls: TlsConnector,
}

/// Why connecting failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error("could not establish a secure channel")]
    Tls { peer: Peer, source: io::Error },
    #[error("establishing a secure channel took too long")]
    TlsTimedOut { peer: Peer, after: Duration },
    #[error("the URI has no host to connect to")]
    NoHost,
}

impl Connector {
    /// Connects to the host of a URI.
    pub(crate) async fn connect(&self, uri: &Uri) -> Result<(Stream, Peer), ConnectError> {
        let Self { dialer, tls } = self;
        let host = uri.host().ok_or(ConnectError::NoHost)?;
        let secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let deadline = dialer.deadline();
        let Dialed { stream, address } = dialer.dial(host, port, deadline).await?;
        let peer = Peer::new(address, Protocol::Http, secure);
        if !secure {
            let stream = RecordingStream::new(stream, peer.first_bytes.clone());
            return Ok((Stream::Plain(TokioIo::new(stream)), peer));
        }
        let stream = self::secure(tls, host, stream, &peer, deadline).await?;
        Ok((Stream::Secure(TokioIo::new(Box::new(stream))), peer))
    }
}

/// Makes a TLS connection of a TCP connection to a host.
pub(crate) async fn secure(
    tls: &TlsConnector,
    host: &str,
    tcp: TcpStream,
    peer: &Peer,
    deadline: Deadline,
) -> Result<TlsStream<TcpStream>, ConnectError> {
    let name = ServerName::try_from(without_brackets(host).to_owned()).map_err(|_| ConnectError::NoHost)?;
    match deadline.limit(tls.connect(name, tcp)).await {
        Some(stream) => stream.map_err(|source| ConnectError::Tls { peer: peer.clone(), source }),
        None => Err(ConnectError::TlsTimedOut { peer: peer.clone(), after: deadline.after }),
    }
}

/// A connection, plain or secure.
pub(crate) enum Stream {
    Plain(TokioIo<RecordingStream<TcpStream>>),
    Secure(TokioIo<Box<TlsStream<TcpStream>>>),
}

impl Stream {
    /// Whether the target chose HTTP/2 in the TLS handshake.
    pub(crate) fn speaks_http2(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Secure(io) => io.inner().get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_read(cx, buffer),
            Self::Secure(io) => Pin::new(io).poll_read(cx, buffer),
        }
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Self::Secure(io) => Pin::new(io).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_flush(cx),
            Self::Secure(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Self::Secure(io) => Pin::new(io).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(io) => io.is_write_vectored(),
            Self::Secure(io) => io.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write_vectored(cx, slices),
            Self::Secure(io) => Pin::new(io).poll_write_vectored(cx, slices),
        }
    }
}
