//! How the HTTP client gets its connections: dialled by [`Dialer`], with TLS where the URI says so.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::dial::{DialError, Dialer};

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
    Tls(#[source] io::Error),
    #[error("the URI has no host to connect to")]
    NoHost,
}

impl tower_service::Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let Self { dialer, tls } = self.clone();
        Box::pin(async move { connect(&dialer, &tls, &uri).await })
    }
}

async fn connect(dialer: &Dialer, tls: &TlsConnector, uri: &Uri) -> Result<Stream, ConnectError> {
    let host = uri.host().ok_or(ConnectError::NoHost)?;
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let tcp = dialer.dial(host, port).await?;
    let used = Used::default();
    if !secure {
        return Ok(Stream::Plain { io: TokioIo::new(tcp), used });
    }
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let name = ServerName::try_from(bare.to_owned()).map_err(|_| ConnectError::NoHost)?;
    let handshake = tls.connect(name, tcp);
    let stream = tokio::time::timeout(dialer.timeout(), handshake).await.map_err(|_| DialError::TimedOut)?;
    Ok(Stream::Secure { io: TokioIo::new(Box::new(stream.map_err(ConnectError::Tls)?)), used })
}

/// Whether a connection has carried an answer before. A request that meets a closed connection may be sent
/// again if the connection was an old one: the target hung up while it was idle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used(Arc<AtomicBool>);

impl Used {
    pub(crate) fn mark(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn marked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection, plain or secure.
pub(crate) enum Stream {
    Plain { io: TokioIo<TcpStream>, used: Used },
    Secure { io: TokioIo<Box<TlsStream<TcpStream>>>, used: Used },
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        match self {
            Self::Plain { used, .. } => Connected::new().extra(used.clone()),
            Self::Secure { io, used } => {
                let connected = Connected::new().extra(used.clone());
                match io.inner().get_ref().1.alpn_protocol() {
                    Some(b"h2") => connected.negotiated_h2(),
                    _ => connected,
                }
            }
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
            Self::Plain { io, .. } => Pin::new(io).poll_read(cx, buffer),
            Self::Secure { io, .. } => Pin::new(io).poll_read(cx, buffer),
        }
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain { io, .. } => Pin::new(io).poll_write(cx, bytes),
            Self::Secure { io, .. } => Pin::new(io).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain { io, .. } => Pin::new(io).poll_flush(cx),
            Self::Secure { io, .. } => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain { io, .. } => Pin::new(io).poll_shutdown(cx),
            Self::Secure { io, .. } => Pin::new(io).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain { io, .. } => io.is_write_vectored(),
            Self::Secure { io, .. } => io.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain { io, .. } => Pin::new(io).poll_write_vectored(cx, slices),
            Self::Secure { io, .. } => Pin::new(io).poll_write_vectored(cx, slices),
        }
    }
}
