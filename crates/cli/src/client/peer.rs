//! One request to an address that the operator names, over a connection of its own. The caller bounds the time.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use super::Reply;
use crate::exit::WrongUsage;

/// The largest head of an answer.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Where a request goes.
pub(crate) struct Peer {
    pub(crate) secure: bool,
    pub(crate) host: String,
    port: u16,
    pub(crate) authority: String,
    /// Whom to trust; nobody if none are set.
    pub(crate) roots: RootCertStore,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    Connect(std::io::Error),
    Tls(String),
    Http(hyper::Error),
    TooLong { bytes_max: usize },
    BrokenOff,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "{error}"),
            Self::Tls(error) => f.write_str(error),
            Self::Http(error) => write!(f, "it does not answer in HTTP ({error})"),
            Self::TooLong { bytes_max } => write!(f, "its answer is longer than {bytes_max} bytes"),
            Self::BrokenOff => f.write_str("its answer breaks off"),
        }
    }
}

impl Peer {
    /// Reads the URL of a request; the error says what is wrong with it, and does not repeat it.
    pub(crate) fn read(url: &str) -> Result<(Self, Uri), &'static str> {
        let uri: Uri = url.parse().map_err(|_| "must be a URL")?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err("must begin with http:// or https://"),
        };
        let authority = uri.authority().ok_or("must name a host")?;
        if authority.as_str().contains('@') {
            return Err("must have no user name");
        }
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let peer =
            Self { secure, host, port, authority: authority.to_string(), roots: RootCertStore::empty() };
        Ok((peer, uri))
    }

    /// Whether it is this machine, by its name or address.
    pub(crate) fn is_local(&self) -> bool {
        self.host == "localhost" || self.host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    }

    /// Sends a request, whose URI is a path, and reads the whole answer.
    pub(crate) async fn send(&self, request: Request<Bytes>, bytes_max: usize) -> Result<Reply, Failure> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(Failure::Connect)?;
        if !self.secure {
            return self.exchange(Either::Left(stream), request, bytes_max).await;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::Tls(error.to_string()))?
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let name =
            ServerName::try_from(self.host.clone()).map_err(|error| Failure::Tls(error.to_string()))?;
        let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let stream = connected.map_err(|error| Failure::Tls(error.to_string()))?;
        self.exchange(Either::Right(stream), request, bytes_max).await
    }

    async fn exchange(
        &self,
        stream: Either<TcpStream, TlsStream<TcpStream>>,
        request: Request<Bytes>,
        bytes_max: usize,
    ) -> Result<Reply, Failure> {
        let handshake = http1::Builder::new().max_buf_size(HEAD_BYTES_MAX).handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(Failure::Http)?;
        // It ends with this call, however that ends.
        let mut driver = tokio::task::JoinSet::new();
        driver.spawn(connection);
        let mut request = request.map(Full::new);
        let headers = request.headers_mut();
        if let Ok(host) = HeaderValue::from_str(&self.authority) {
            headers.insert(HOST, host);
        }
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("punctual/", env!("CARGO_PKG_VERSION"))));
        let answer = sender.send_request(request).await.map_err(Failure::Http)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), bytes_max).collect().await;
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() { Failure::TooLong { bytes_max } } else { Failure::BrokenOff }
        })?;
        Ok(Reply { status, body: body.to_bytes() })
    }
}

/// The authorities of the system, and those of a file that an option or a setting names.
pub(crate) fn roots(named_by: &str, file: Option<&Path>) -> Result<RootCertStore, WrongUsage> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let Some(path) = file else { return Ok(roots) };
    let wrong = |why: String| WrongUsage(format!("{named_by}: could not use {}: {why}", path.display()));
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| wrong(error.to_string()))?;
    if certificates.is_empty() {
        return Err(wrong("there is no certificate in it".to_owned()));
    }
    for certificate in certificates {
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(roots)
}
