//! Asks a running server, within bounds: the other side may hang, send too much or be no Punctual.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, HOST, USER_AGENT};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use punctual_api::Checkup;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::exit::WrongUsage;

/// A thousand findings with the longest names fit.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The largest head of an answer.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The server to ask.
pub(super) struct Server {
    secure: bool,
    host: String,
    port: u16,
    path: String,
    authority: String,
    roots: RootCertStore,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.authority)
    }
}

impl Server {
    /// Reads a URL, and the authority to trust besides those of the system.
    pub(super) fn read(url: &str, ca: Option<&Path>) -> Result<Self, WrongUsage> {
        // A text that is no URL may be a secret by mistake: it is not repeated.
        let wrong = |why: &str| WrongUsage(format!("--url: {why}, such as http://127.0.0.1:8380"));
        let uri: Uri = url.parse().map_err(|_| wrong("must be a URL"))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("must name a host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("must have no user name"));
        }
        if uri.query().is_some() {
            return Err(wrong("must have no query"));
        }
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self {
            secure,
            host,
            port,
            path: format!("{}/doctor", uri.path().trim_end_matches('/')),
            authority: authority.to_string(),
            roots: if secure { roots(ca)? } else { RootCertStore::empty() },
        })
    }

    /// Asks for the checkup, within a timeout for the whole answer.
    pub(super) async fn ask(&self, timeout: Duration) -> Result<Checkup, WrongUsage> {
        match tokio::time::timeout(timeout, self.call()).await {
            Ok(answer) => answer.map_err(|why| WrongUsage(format!("could not ask {self}: {why}"))),
            Err(_elapsed) => {
                let seconds = timeout.as_secs();
                Err(WrongUsage(format!("could not ask {self}: there is no answer within {seconds} s")))
            }
        }
    }

    async fn call(&self) -> Result<Checkup, String> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(|error| {
            format!("{error}; is the server running? --url says where, --data looks through the data of a stopped one")
        })?;
        if !self.secure {
            return self.exchange(stream).await;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let name = ServerName::try_from(self.host.clone()).map_err(|error| error.to_string())?;
        let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let stream = connected.map_err(|error| {
            format!("{error}; --ca names a certificate to trust, such as tls-cert.pem in the server's data directory")
        })?;
        self.exchange(stream).await
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Checkup, String> {
        let no_http = |error: hyper::Error| {
            let hint =
                if self.secure { "" } else { "; if the server serves TLS, the URL begins with https://" };
            format!("it does not answer in HTTP ({error}){hint}")
        };
        let handshake = http1::Builder::new().max_buf_size(HEAD_BYTES_MAX).handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(no_http)?;
        let driver = tokio::spawn(connection);
        let request = Request::get(&self.path)
            .header(HOST, &self.authority)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("punctual/", env!("CARGO_PKG_VERSION")))
            .body(Empty::<&[u8]>::new())
            .map_err(|error| error.to_string())?;
        let answer = sender.send_request(request).await.map_err(no_http)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        driver.abort();
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() {
                format!("its answer is longer than {ANSWER_BYTES_MAX} bytes")
            } else {
                "its answer breaks off".to_owned()
            }
        })?;
        if !status.is_success() {
            return Err(format!("it answers {status}; is it a Punctual server of this version?"));
        }
        serde_json::from_slice(&body.to_bytes())
            .map_err(|_| "its answer is no checkup; is it a Punctual server of this version?".to_owned())
    }
}

/// The authorities of the system, and the given one.
fn roots(ca: Option<&Path>) -> Result<RootCertStore, WrongUsage> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let Some(path) = ca else { return Ok(roots) };
    let wrong = |why: String| WrongUsage(format!("--ca: could not use {}: {why}", path.display()));
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
