//! Asks a running server, within bounds: the other side may hang, send too much or be no Punctual.

mod peer;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde_json::Value;

pub(crate) use self::peer::{Failure, Peer, roots};
use crate::exit::WrongUsage;

/// A thousand findings with the longest names fit.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

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
    peer: Peer,
    /// What its paths begin with, without a slash at the end.
    prefix: String,
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
        write!(f, "{}://{}", if self.peer.secure { "https" } else { "http" }, self.peer.authority)
    }
}

impl Server {
    /// Reads a URL, whom to trust, and who asks.
    pub(crate) fn read(access: &Access<'_>) -> Result<Self, WrongUsage> {
        // A text that is no URL may be a secret by mistake: it is not repeated.
        let wrong =
            |why: &str| WrongUsage(format!("{}: {why}, such as http://127.0.0.1:8380", access.option));
        let (mut peer, uri) = Peer::read(access.url).map_err(wrong)?;
        if uri.query().is_some() {
            return Err(wrong("must have no query"));
        }
        if peer.secure {
            peer.roots = roots("--ca", access.ca)?;
        }
        Ok(Self {
            peer,
            prefix: uri.path().trim_end_matches('/').to_owned(),
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
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.prefix));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(body.into()).map_err(|error| error.to_string())?;
        self.peer.send(request, ANSWER_BYTES_MAX).await.map_err(|failure| {
            let hint = match failure {
                Failure::Connect(_) => {
                    format!("; is the server running? {} says where, --data looks through the data of a stopped one", self.option)
                }
                Failure::Tls(_) => "; --ca names a certificate to trust, such as tls-cert.pem in the server's data directory".to_owned(),
                Failure::Http(_) if !self.peer.secure => {
                    "; if the server serves TLS, the URL begins with https://".to_owned()
                }
                Failure::Http(_) | Failure::TooLong { .. } | Failure::BrokenOff => String::new(),
            };
            format!("{failure}{hint}")
        })
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
