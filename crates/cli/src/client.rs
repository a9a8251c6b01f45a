//! Asks a running server, within bounds: the other side may hang, send too much or be no Punctual.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::exit::WrongUsage;

/// A thousand findings with the longest names fit.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The largest head of an answer.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Where a token comes from besides a file. An option would show it to everybody who lists processes.
const TOKEN_VARIABLE: &str = "PUNCTUAL_TOKEN";

/// How a server is reached.
pub(crate) struct Access<'a> {
    /// The option that names the server.
    pub(crate) option: &'static str,
    pub(crate) url: &'a str,
    /// A certificate to trust besides the system's authorities.
    pub(crate) ca: Option<&'a Path>,
    /// The file with the token that says who asks.
    pub(crate) token_file: Option<&'a Path>,
    /// How long to wait for a whole answer.
    pub(crate) timeout: Duration,
}

/// The server to ask.
pub(crate) struct Server {
    secure: bool,
    host: String,
    port: u16,
    /// What its paths begin with, without a slash at the end.
    prefix: String,
    authority: String,
    roots: RootCertStore,
    authorization: Option<HeaderValue>,
    timeout: Duration,
    option: &'static str,
}

/// What a server answers.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.authority)
    }
}

impl Server {
    /// Reads a URL, whom to trust, and who asks.
    pub(crate) fn read(access: &Access<'_>) -> Result<Self, WrongUsage> {
        // A text that is no URL may be a secret by mistake: it is not repeated.
        let wrong =
            |why: &str| WrongUsage(format!("{}: {why}, such as http://127.0.0.1:8380", access.option));
        let uri: Uri = access.url.parse().map_err(|_| wrong("must be a URL"))?;
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
            prefix: uri.path().trim_end_matches('/').to_owned(),
            authority: authority.to_string(),
            roots: if secure { roots(access.ca)? } else { RootCertStore::empty() },
            authorization: authorization(access.token_file)?,
            timeout: access.timeout,
            option: access.option,
        })
    }

    /// Asks, and waits for the whole answer.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, WrongUsage> {
        match tokio::time::timeout(self.timeout, self.call(method, path, body)).await {
            Ok(answer) => answer.map_err(|why| self.failed(&why)),
            Err(_elapsed) => {
                Err(self.failed(&format!("there is no answer within {} s", self.timeout.as_secs())))
            }
        }
    }

    /// What to say when asking came to nothing.
    pub(crate) fn failed(&self, why: &str) -> WrongUsage {
        WrongUsage(format!("could not ask {self}: {why}"))
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, String> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(|error| {
            format!("{error}; is the server running? {} says where, --data looks through the data of a stopped one", self.option)
        })?;
        if !self.secure {
            return self.exchange(stream, method, path, body).await;
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
        self.exchange(stream, method, path, body).await
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, String> {
        let no_http = |error: hyper::Error| {
            let hint =
                if self.secure { "" } else { "; if the server serves TLS, the URL begins with https://" };
            format!("it does not answer in HTTP ({error}){hint}")
        };
        let handshake = http1::Builder::new().max_buf_size(HEAD_BYTES_MAX).handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(no_http)?;
        let driver = tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.prefix))
            .header(HOST, &self.authority)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("punctual/", env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())?;
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
        Ok(Reply { status, body: body.to_bytes() })
    }
}

impl Reply {
    /// Why the server refused, in its own words where it has some, and what to do.
    pub(crate) fn refusal(&self) -> String {
        let answer: Option<Value> = serde_json::from_slice(&self.body).ok();
        let message = answer.as_ref().and_then(|answer| answer["error"]["message"].as_str());
        let Some(message) = message else {
            return format!("it answers {}; is it a Punctual server of this version?", self.status);
        };
        let hint = match self.status {
            StatusCode::UNAUTHORIZED => {
                " Give a token in the environment variable PUNCTUAL_TOKEN, or in a file that --token-file names."
            }
            _ => "",
        };
        // It may be somebody else's, and this goes to a terminal.
        let plain: String = message.chars().filter(|letter| !letter.is_control()).take(2_000).collect();
        format!("it answers {}: {plain}{hint}", self.status)
    }
}

/// The header that says who asks, if anybody said so.
#[expect(clippy::disallowed_methods, reason = "this is the command line, and an option would show the token")]
fn authorization(file: Option<&Path>) -> Result<Option<HeaderValue>, WrongUsage> {
    let (text, source) = match file {
        Some(path) => {
            let source = format!("--token-file {}", path.display());
            let text = std::fs::read_to_string(path)
                .map_err(|error| WrongUsage(format!("{source}: could not be read: {error}")))?;
            (text, source)
        }
        None => match std::env::var(TOKEN_VARIABLE) {
            Ok(text) if !text.trim().is_empty() => (text, format!("environment variable {TOKEN_VARIABLE}")),
            Ok(_) | Err(std::env::VarError::NotPresent) => return Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => {
                return Err(WrongUsage(format!("environment variable {TOKEN_VARIABLE}: is no token")));
            }
        },
    };
    let token = text.trim();
    let plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let value = plain.then(|| HeaderValue::from_str(&format!("Bearer {token}")).ok()).flatten();
    // What is no token may be another secret: it is not repeated.
    let mut value = value.ok_or_else(|| WrongUsage(format!("{source}: holds no token, such as pct_…")))?;
    value.set_sensitive(true);
    Ok(Some(value))
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
