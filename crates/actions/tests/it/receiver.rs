//! A receiver that answers as a test says, notes what it saw, and can misbehave.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderMap, Method, Request, Response, Version};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Collected, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

pub(crate) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    /// Which connection it came over, from 0.
    pub(crate) connection: usize,
    /// The client's certificate, DER.
    pub(crate) certificate: Option<Vec<u8>>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Receiver {
    /// Answers over plain HTTP.
    pub(crate) async fn start(script: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen(None, script).await
    }

    /// Answers over TLS.
    pub(crate) async fn secure(
        acceptor: TlsAcceptor,
        script: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::listen(Some(acceptor), script).await
    }

    async fn listen(
        acceptor: Option<TlsAcceptor>,
        script: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let connections = Arc::new(AtomicUsize::new(0));
        let (script, log, count) = (Arc::new(script), Arc::clone(&seen), Arc::clone(&connections));
        let accepting = tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let connection = count.fetch_add(1, Ordering::SeqCst);
                let (script, log, acceptor) = (Arc::clone(&script), Arc::clone(&log), acceptor.clone());
                tokio::spawn(async move {
                    let Some(acceptor) = acceptor else {
                        return serve(tcp, None, connection, log, script).await;
                    };
                    if let Ok(tls) = acceptor.accept(tcp).await {
                        let shown = tls.get_ref().1.peer_certificates().and_then(|chain| chain.first());
                        let certificate = shown.map(|certificate| certificate.to_vec());
                        serve(tls, certificate, connection, log, script).await;
                    }
                });
            }
        });
        Self { address, seen, connections, accepting }
    }

    /// Does with each connection what the test says, below HTTP.
    pub(crate) async fn raw<F>(each: impl Fn(TcpStream) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(each(tcp));
            }
        });
        Self { address, seen: Arc::default(), connections, accepting }
    }

    /// Accepts connections and never says anything.
    pub(crate) async fn hanging() -> Self {
        Self::raw(|tcp| async move {
            let _held = tcp;
            std::future::pending::<()>().await;
        })
        .await
    }

    /// Reads a request's head, then sends these bytes and closes.
    pub(crate) async fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = Arc::new(bytes.into());
        Self::raw(move |mut tcp| {
            let bytes = Arc::clone(&bytes);
            async move {
                read_head(&mut tcp).await;
                let _ = tcp.write_all(&bytes).await;
            }
        })
        .await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn https(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The only request.
    #[track_caller]
    pub(crate) fn only(&self) -> Seen {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }

    pub(crate) fn connection_count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads up to the empty line.
pub(crate) async fn read_head(tcp: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match tcp.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    head
}

async fn serve<S, F>(
    stream: S,
    certificate: Option<Vec<u8>>,
    connection: usize,
    log: Arc<Mutex<Vec<Seen>>>,
    script: Arc<F>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Fn(&Seen) -> Answer + Send + Sync + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (log, script, certificate) = (Arc::clone(&log), Arc::clone(&script), certificate.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
            let seen = Seen {
                method: parts.method,
                target: parts.uri.path_and_query().unwrap().to_string(),
                version: parts.version,
                headers: parts.headers,
                body: String::from_utf8(body.to_vec()).unwrap(),
                connection,
                certificate,
            };
            let answer = script(&seen);
            log.lock().unwrap().push(seen);
            Ok::<_, Infallible>(answer)
        }
    });
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

pub(crate) fn status(status: u16) -> Answer {
    text(status, "")
}

pub(crate) fn ok() -> Answer {
    status(200)
}

pub(crate) fn text(status: u16, body: impl Into<Bytes>) -> Answer {
    Response::builder().status(status).body(Full::new(body.into()).boxed()).unwrap()
}

pub(crate) fn redirect(status: u16, location: &str) -> Answer {
    Response::builder().status(status).header("location", location).body(Full::default().boxed()).unwrap()
}

/// A body that never ends.
pub(crate) fn endless() -> Answer {
    streamed(stream::repeat(Bytes::from_static(&[b'x'; 1024])))
}

/// A body that begins and then hangs.
pub(crate) fn stalled(beginning: &'static [u8]) -> Answer {
    streamed(stream::iter([Bytes::from_static(beginning)]).chain(stream::pending()))
}

fn streamed(chunks: impl Stream<Item = Bytes> + Send + Sync + 'static) -> Answer {
    Response::new(BodyExt::boxed(StreamBody::new(chunks.map(|chunk| Ok(Frame::data(chunk))))))
}
