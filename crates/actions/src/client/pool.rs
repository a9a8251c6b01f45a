//! Connections that are used again, by origin.

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
use crate::failure::Peer;

/// The pool is swept so many times while a connection may be idle.
const SWEEPS: u32 = 4;

/// How long a connection may take to be closed properly.
const CLOSING_MAX: Duration = Duration::from_secs(5);

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
    origins: HashMap<Origin, Kept>,
    /// A task sweeps it; there is none while it is empty.
    swept: bool,
}

/// Scheme, host and port.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Origin {
    secure: bool,
    authority: Authority,
}

/// What is kept for one origin.
#[derive(Default)]
struct Kept {
    /// The one that was used last is at the end.
    idle: Vec<Idle>,
    shared: Option<(Http2, Instant)>,
}

struct Idle {
    connection: Box<Http1>,
    since: Instant,
}

enum Taken {
    Http1(Box<Http1>),
    Http2(Http2),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("could not connect")]
    Connect(#[source] ConnectError),
    #[error("could not exchange")]
    Exchange {
        /// The connection had carried an answer before, and this request met its end.
        stale: bool,
        peer: Peer,
        source: hyper::Error,
    },
}

/// Why a connection gave no answer.
pub(super) struct Unanswered {
    /// The connection had carried an answer before.
    pub(super) stale: bool,
    /// The request, if nothing of it was sent.
    pub(super) unsent: Option<Request<Full<Bytes>>>,
    pub(super) error: hyper::Error,
}

impl Unanswered {
    /// The answer broke off.
    pub(super) fn broken(error: hyper::Error) -> Self {
        Self { stale: false, unsent: None, error }
    }
}

impl Client {
    pub(super) fn new(connector: Connector, limits: PoolLimits) -> Self {
        Self(Arc::new(Shared { connector, limits, pool: Mutex::default() }))
    }

    /// Sends a request to where its URI says and reads of the answer's body what is wanted of an answer with
    /// such a head. A request that a kept connection did not begin to send is sent over another one.
    pub(crate) async fn ask(
        &self,
        mut request: Request<Full<Bytes>>,
        wanted: impl Fn(&Parts) -> usize,
    ) -> Result<Answer, AskError> {
        let uri = request.uri().clone();
        let origin = Origin::of(&uri).ok_or(AskError::Connect(ConnectError::NoHost))?;
        loop {
            let taken = match self.take(&origin).await {
                Some(taken) => taken,
                None => self.open(&origin, &uri).await?,
            };
            let (unanswered, peer) = match taken {
                Taken::Http1(mut connection) => {
                    address(&mut request, &uri);
                    match connection.exchange(request, &wanted).await {
                        Ok(answer) => {
                            self.put(&origin, connection).await;
                            return Ok(answer);
                        }
                        Err(unanswered) => (unanswered, connection.contact.peer()),
                    }
                }
                Taken::Http2(mut connection) => {
                    *request.uri_mut() = uri.clone();
                    match connection.exchange(request, &wanted).await {
                        Ok(answer) => return Ok(answer),
                        Err(unanswered) => {
                            self.forget(&origin, &connection);
                            (unanswered, connection.contact.peer())
                        }
                    }
                }
            };
            match unanswered {
                Unanswered { stale: true, unsent: Some(unsent), .. } => request = unsent,
                Unanswered { stale, error, .. } => {
                    return Err(AskError::Exchange { stale, peer, source: error });
                }
            }
        }
    }

    /// A connection that is kept, if one is left that the target has not closed.
    async fn take(&self, origin: &Origin) -> Option<Taken> {
        loop {
            let idle = {
                let mut pool = self.0.pool();
                let kept = pool.origins.get_mut(origin)?;
                if let Some((shared, used_at)) = &mut kept.shared {
                    if shared.is_open() {
                        *used_at = Instant::now();
                        return Some(Taken::Http2(shared.clone()));
                    }
                    kept.shared = None;
                }
                kept.idle.pop()?
            };
            let Idle { mut connection, since } = idle;
            if since.elapsed() < self.0.limits.idle_timeout
                && poll_fn(|cx| Poll::Ready(connection.is_open(cx))).await
            {
                return Some(Taken::Http1(connection));
            }
        }
    }

    /// A new connection. One over HTTP/2 is shared from now on, unless somebody was faster.
    async fn open(&self, origin: &Origin, uri: &Uri) -> Result<Taken, AskError> {
        let (stream, contact) = self.0.connector.connect(uri).await.map_err(AskError::Connect)?;
        let exchange = |source| AskError::Exchange { stale: false, peer: contact.peer(), source };
        if !stream.speaks_http2() {
            return Ok(Taken::Http1(Http1::open(stream, contact.clone()).await.map_err(exchange)?));
        }
        let connection = Http2::open(stream, contact.clone()).await.map_err(exchange)?;
        let mut pool = self.0.pool();
        let kept = pool.origins.entry(origin.clone()).or_default();
        if let Some((shared, _)) = &kept.shared
            && shared.is_open()
        {
            return Ok(Taken::Http2(shared.clone()));
        }
        kept.shared = Some((connection.clone(), Instant::now()));
        self.0.sweep_from_now_on(&mut pool);
        Ok(Taken::Http2(connection))
    }

    /// Keeps a connection for later, if it can be used again.
    async fn put(&self, origin: &Origin, mut connection: Box<Http1>) {
        if !poll_fn(|cx| Poll::Ready(connection.is_open(cx))).await {
            return;
        }
        let mut pool = self.0.pool();
        let kept = match pool.origins.get_mut(origin) {
            Some(kept) => kept,
            None => pool.origins.entry(origin.clone()).or_default(),
        };
        if kept.idle.len() < self.0.limits.idle_per_host_max {
            kept.idle.push(Idle { connection, since: Instant::now() });
        }
        self.0.sweep_from_now_on(&mut pool);
    }

    /// A connection that did not answer is not given to anybody else.
    fn forget(&self, origin: &Origin, connection: &Http2) {
        if let Some(kept) = self.0.pool().origins.get_mut(origin) {
            kept.shared = kept.shared.take().filter(|(shared, _)| !shared.is(connection));
        }
    }
}

impl Shared {
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sweep_from_now_on(self: &Arc<Self>, pool: &mut Pool) {
        if std::mem::replace(&mut pool.swept, true) {
            return;
        }
        let shared = Arc::downgrade(self);
        let every = (self.limits.idle_timeout / SWEEPS).max(Duration::from_millis(10));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                // The client is gone, and its connections with it.
                let Some(shared) = shared.upgrade() else { return };
                if !shared.sweep() {
                    return;
                }
            }
        });
    }

    /// Closes what was idle for too long, and what the target has closed. False if nothing is left.
    fn sweep(&self) -> bool {
        let mut pool = self.pool();
        let timeout = self.limits.idle_timeout;
        pool.origins.retain(|_, kept| {
            let late = kept
                .idle
                .extract_if(.., |idle| idle.since.elapsed() >= timeout || !idle.connection.is_open_now());
            for idle in late {
                tokio::spawn(tokio::time::timeout(CLOSING_MAX, idle.connection.close()));
            }
            kept.shared = kept
                .shared
                .take()
                .filter(|(shared, used_at)| shared.is_open() && used_at.elapsed() < timeout);
            !kept.idle.is_empty() || kept.shared.is_some()
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

/// As HTTP/1.1 wants a request that goes to its origin: the path alone, and host and port as a header, the port
/// where it is not that of the scheme.
fn address(request: &mut Request<Full<Bytes>>, uri: &Uri) {
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
            address(&mut request, &Uri::from_static(uri));
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
