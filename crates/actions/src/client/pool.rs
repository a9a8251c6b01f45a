//! The HTTP client and its pool of connections, by origin.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::response::Parts;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, Request, Uri};
use http_body_util::Full;
use tokio::time::Instant;

use super::PoolLimits;
use super::answer::Answer;
use super::http1::Http1;
use super::http2::Http2;
use crate::connector::{ConnectError, Connector};
use crate::peer::Peer;
use crate::permit::Permit;

/// How often the pool is swept within the idle time-out.
const SWEEPS: u32 = 4;

/// How long closing a connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// An HTTP client with its own pool.
#[derive(Clone)]
pub(crate) struct Client(Arc<Shared>);

struct Shared {
    connector: Connector,
    limits: PoolLimits,
    pool: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    origins: HashMap<Origin, OriginPool>,
    /// A task sweeps the pool. It runs only while there are connections.
    swept: bool,
}

/// Scheme, host and port.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Origin {
    secure: bool,
    authority: Authority,
}

/// The connections to one origin.
#[derive(Default)]
struct OriginPool {
    /// Idle HTTP/1.1 connections; the most recently used one is last.
    idle: Vec<Idle>,
    /// The HTTP/2 connection that all requests share, and when it was last used.
    shared: Option<(Http2, Instant)>,
}

struct Idle {
    connection: Box<Http1>,
    since: Instant,
}

/// A connection to send one request on.
enum Connection {
    Http1(Box<Http1>),
    Http2(Http2),
}

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// It may not be sent any more: nothing was.
    #[error("withdrawn before anything was sent")]
    Withdrawn,
    #[error("could not connect")]
    Connect(#[source] ConnectError),
    #[error("could not exchange")]
    Exchange {
        /// The connection was reused, and closed before it answered this request.
        reused: bool,
        peer: Peer,
        source: hyper::Error,
    },
}

/// Why an exchange on a connection failed.
pub(super) struct ExchangeError {
    /// The connection was reused: an answer was received on it before.
    pub(super) reused: bool,
    /// The request, if nothing of it was sent.
    pub(super) unsent: Option<Request<Full<Bytes>>>,
    pub(super) error: hyper::Error,
}

impl ExchangeError {
    /// The connection broke in the middle of the answer.
    pub(super) fn broken(error: hyper::Error) -> Self {
        Self { reused: false, unsent: None, error }
    }
}

impl Client {
    /// Forgets the connections that nobody uses now.
    pub(super) fn forget_idle(&self) {
        self.0.pool.lock().unwrap_or_else(PoisonError::into_inner).origins.clear();
    }

    pub(super) fn new(connector: Connector, limits: PoolLimits) -> Self {
        Self(Arc::new(Shared { connector, limits, pool: Mutex::default() }))
    }

    /// Sends a request to the host of its URI and reads the answer, with up to `body_limit` bytes of its body. If a
    /// pooled connection turns out to be closed before anything was sent, another one is used. Once there is a connection,
    /// `permit` is asked whether the request may be sent.
    pub(crate) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
        body_limit: impl Fn(&Parts) -> usize,
        permit: &Permit,
    ) -> Result<Answer, RequestError> {
        let uri = request.uri().clone();
        let origin = Origin::of(&uri).ok_or(RequestError::Connect(ConnectError::NoHost))?;
        loop {
            let connection = match self.take(&origin).await {
                Some(connection) => connection,
                None => self.open(&origin, &uri).await?,
            };
            if !permit.may().await {
                if let Connection::Http1(connection) = connection {
                    self.put(&origin, connection).await;
                }
                return Err(RequestError::Withdrawn);
            }
            let (failed, peer) = match connection {
                Connection::Http1(mut connection) => {
                    set_target(&mut request, &uri);
                    match connection.exchange(request, &body_limit).await {
                        Ok(answer) => {
                            permit.note_sent();
                            self.put(&origin, connection).await;
                            return Ok(answer);
                        }
                        Err(failed) => (failed, connection.peer.clone()),
                    }
                }
                Connection::Http2(mut connection) => {
                    *request.uri_mut() = uri.clone();
                    match connection.exchange(request, &body_limit).await {
                        Ok(answer) => {
                            permit.note_sent();
                            return Ok(answer);
                        }
                        Err(failed) => {
                            self.remove(&origin, &connection);
                            (failed, connection.peer.clone())
                        }
                    }
                }
            };
            match failed {
                ExchangeError { reused: true, unsent: Some(unsent), .. } => request = unsent,
                ExchangeError { reused, unsent, error } => {
                    if unsent.is_none() {
                        permit.note_sent();
                    }
                    return Err(RequestError::Exchange { reused, peer, source: error });
                }
            }
        }
    }

    /// Takes a connection from the pool that the target has not closed.
    async fn take(&self, origin: &Origin) -> Option<Connection> {
        loop {
            let idle = {
                let mut pool = self.0.pool();
                let pooled = pool.origins.get_mut(origin)?;
                if let Some((shared, used_at)) = &mut pooled.shared {
                    if shared.is_open() {
                        *used_at = Instant::now();
                        return Some(Connection::Http2(shared.clone()));
                    }
                    pooled.shared = None;
                }
                pooled.idle.pop()?
            };
            let Idle { mut connection, since } = idle;
            if since.elapsed() < self.0.limits.idle_timeout
                && poll_fn(|cx| Poll::Ready(connection.is_open(cx))).await
            {
                return Some(Connection::Http1(connection));
            }
        }
    }

    /// Opens a connection. If it is HTTP/2, later requests share it, unless another attempt has opened one meanwhile.
    async fn open(&self, origin: &Origin, uri: &Uri) -> Result<Connection, RequestError> {
        let (stream, peer) = self.0.connector.connect(uri).await.map_err(RequestError::Connect)?;
        let exchange = |source| RequestError::Exchange { reused: false, peer: peer.clone(), source };
        if !stream.speaks_http2() {
            return Ok(Connection::Http1(Http1::open(stream, peer.clone()).await.map_err(exchange)?));
        }
        let connection = Http2::open(stream, peer.clone()).await.map_err(exchange)?;
        let mut pool = self.0.pool();
        let pooled = pool.origins.entry(origin.clone()).or_default();
        if let Some((shared, _)) = &pooled.shared
            && shared.is_open()
        {
            return Ok(Connection::Http2(shared.clone()));
        }
        pooled.shared = Some((connection.clone(), Instant::now()));
        self.0.start_sweeping(&mut pool);
        Ok(Connection::Http2(connection))
    }

    /// Puts a connection into the pool, if it can be used again.
    async fn put(&self, origin: &Origin, mut connection: Box<Http1>) {
        if !poll_fn(|cx| Poll::Ready(connection.is_open(cx))).await {
            return;
        }
        let mut pool = self.0.pool();
        let pooled = match pool.origins.get_mut(origin) {
            Some(pooled) => pooled,
            None => pool.origins.entry(origin.clone()).or_default(),
        };
        if pooled.idle.len() < self.0.limits.idle_per_host_max {
            pooled.idle.push(Idle { connection, since: Instant::now() });
        }
        self.0.start_sweeping(&mut pool);
    }

    /// Removes a connection from the pool that did not answer.
    fn remove(&self, origin: &Origin, connection: &Http2) {
        if let Some(pooled) = self.0.pool().origins.get_mut(origin) {
            pooled.shared = pooled.shared.take().filter(|(shared, _)| !shared.is(connection));
        }
    }
}

impl Shared {
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_sweeping(self: &Arc<Self>, pool: &mut Pool) {
        if std::mem::replace(&mut pool.swept, true) {
            return;
        }
        let shared = Arc::downgrade(self);
        let every = (self.limits.idle_timeout / SWEEPS).max(Duration::from_millis(10));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                // The client was dropped, and its connections with it.
                let Some(shared) = shared.upgrade() else { return };
                if !shared.sweep() {
                    return;
                }
            }
        });
    }

    /// Closes connections that were idle for too long, and drops those that the target has closed. Returns whether any
    /// are left.
    fn sweep(&self) -> bool {
        let mut pool = self.pool();
        let timeout = self.limits.idle_timeout;
        pool.origins.retain(|_, pooled| {
            let late = pooled
                .idle
                .extract_if(.., |idle| idle.since.elapsed() >= timeout || !idle.connection.is_open_now());
            for idle in late {
                tokio::spawn(tokio::time::timeout(CLOSE_TIMEOUT, idle.connection.close()));
            }
            pooled.shared = pooled
                .shared
                .take()
                .filter(|(shared, used_at)| shared.is_open() && used_at.elapsed() < timeout);
            !pooled.idle.is_empty() || pooled.shared.is_some()
        });
        pool.swept = !pool.origins.is_empty();
        pool.swept
    }
}

impl Origin {
    fn of(uri: &Uri) -> Option<Self> {
        let secure = uri.scheme_str() == Some("https");
        Some(Self { secure, authority: uri.authority()?.clone() })
    }
}

/// Writes the target of an HTTP/1.1 request to an origin server: path and query in the request line, the host in the
/// `Host` header, with the port if it is not the default of the scheme.
fn set_target(request: &mut Request<Full<Bytes>>, uri: &Uri) {
    if !request.headers().contains_key(HOST)
        && let Some(name) = uri.host()
    {
        let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        let host = match uri.port_u16() {
            Some(port) if port != usual => HeaderValue::try_from(format!("{name}:{port}")),
            _ => HeaderValue::from_str(name),
        };
        if let Ok(host) = host {
            request.headers_mut().insert(HOST, host);
        }
    }
    let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_told_with_a_port_only_where_it_is_not_the_usual_one_and_never_with_credentials() {
        let check = |uri: &'static str, host: &str, path: &str| {
            let mut request = Request::new(Full::default());
            set_target(&mut request, &Uri::from_static(uri));
            assert_eq!(request.headers()[HOST], host, "{uri}");
            assert_eq!(request.uri(), path, "{uri}");
        };
        check("http://a/b?c", "a", "/b?c");
        check("http://a:80", "a", "/");
        check("https://a:443/b", "a", "/b");
        check("https://a:80/b", "a:80", "/b");
        check("http://[::1]:8080/", "[::1]:8080", "/");
        check("http://user:password@a:81/", "a:81", "/");
    }
}
