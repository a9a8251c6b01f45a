//! How the HTTP client gets its connections: dialled by [`Dialer`], with TLS where the URI says so.

use std::io;
use std::net::SocketAddr;
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

use crate::dial::{Deadline, DialError, Dialed, Dialer};
use crate::failure::{Peer, Protocol};
use crate::first_bytes::{FirstBytes, Noting};

/// Makes connections of one identity.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) dialer: Arc<Dialer>,
    pub(crate) tls: TlsConnector,
}

/// Why there is no connection.
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

/// The other end of a connection: what can be said of it when something fails.
#[derive(Clone, Debug)]
pub(crate) struct Contact {
    pub(crate) address: SocketAddr,
    pub(crate) protocol: Protocol,
    pub(crate) secure: bool,
    pub(crate) first_bytes: FirstBytes,
}

impl Contact {
    pub(crate) fn new(address: SocketAddr, protocol: Protocol, secure: bool) -> Self {
        Self { address, protocol, secure, first_bytes: FirstBytes::default() }
    }

    /// What is known now.
    pub(crate) fn peer(&self) -> Peer {
        let Self { address, protocol, secure, ref first_bytes } = *self;
        Peer { address, protocol, secure, speech: first_bytes.speech() }
    }

    /// Secures a connection to a host; IPv6 with or without brackets.
    pub(crate) async fn secure(
        &self,
        tls: &TlsConnector,
        host: &str,
        tcp: TcpStream,
        deadline: Deadline,
    ) -> Result<TlsStream<TcpStream>, ConnectError> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let name = ServerName::try_from(bare.to_owned()).map_err(|_| ConnectError::NoHost)?;
        match deadline.limit(tls.connect(name, tcp)).await {
            Some(stream) => stream.map_err(|source| ConnectError::Tls { peer: self.peer(), source }),
            None => Err(ConnectError::TlsTimedOut { peer: self.peer(), after: deadline.after }),
        }
    }
}

impl Connector {
    /// Connects to the host of a URI.
    pub(crate) async fn connect(&self, uri: &Uri) -> Result<(Stream, Contact), ConnectError> {
        let Self { dialer, tls } = self;
        let host = uri.host().ok_or(ConnectError::NoHost)?;
        let secure = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let deadline = dialer.deadline();
        let Dialed { stream, address } = dialer.dial(host, port, deadline).await?;
        let contact = Contact::new(address, Protocol::Http, secure);
        if !secure {
            let stream = Noting::new(stream, contact.first_bytes.clone());
            return Ok((Stream::Plain(TokioIo::new(stream)), contact));
        }
        let stream = contact.secure(tls, host, stream, deadline).await?;
        Ok((Stream::Secure(TokioIo::new(Box::new(stream))), contact))
    }
}

/// A connection, plain or secure.
pub(crate) enum Stream {
    Plain(TokioIo<Noting<TcpStream>>),
    Secure(TokioIo<Box<TlsStream<TcpStream>>>),
}

impl Stream {
    /// Whether the target chose HTTP/2 when the connection was secured.
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
