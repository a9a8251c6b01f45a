//! Issuers of OpenID Connect, as the settings name them: asks for their configuration, their keys and ID tokens.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use jiff::SignedDuration;
use punctual_api::{ClientSettings, IssuerSettings, IssuerTransport, Rule};
use punctual_model::Secret;
use punctual_model::access::Grant;
use rustls::RootCertStore;

use crate::client::{Peer, Reply, roots};
use crate::config::IssuerConfig;
use crate::exit::WrongUsage;

/// The largest document of an issuer. Real ones have a few kilobytes.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// How long one document may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(4);

/// Makes issuers of settings.
pub(super) fn open(settings: &[IssuerConfig], public_url: &str) -> Result<Vec<IssuerSettings>, WrongUsage> {
    let open = |one: &IssuerConfig| {
        let file = Some(one.ca_file.as_path()).filter(|path| *path != Path::new(""));
        let transport: Arc<dyn IssuerTransport> =
            Arc::new(Web { roots: roots("auth.issuers.ca_file", file)? });
        let rule = |rule: &crate::config::RuleConfig| Rule {
            claim: rule.claim.clone(),
            value: rule.value.clone(),
            grant: Grant { role: rule.role, scope: rule.scope.clone() },
        };
        Ok(IssuerSettings {
            url: one.issuer.clone(),
            audience: one.audience.clone(),
            allowance: SignedDuration::from_secs(one.allowance_seconds.into()),
            rules: one.rules.iter().map(rule).collect(),
            client: client(one, public_url)?,
            transport,
        })
    };
    settings.iter().map(open).collect()
}

/// What this server is to an issuer; none if nobody signs in through it.
fn client(settings: &IssuerConfig, public_url: &str) -> Result<Option<ClientSettings>, WrongUsage> {
    let has_secret = settings.client_secret_file != Path::new("") || !settings.client_secret_env.is_empty();
    if settings.client_id.is_empty() {
        if has_secret {
            return Err(WrongUsage(
                "auth.issuers: there is a client secret and no client_id; set both, or neither".to_owned(),
            ));
        }
        return Ok(None);
    }
    check_public_url(public_url)?;
    let host =
        || Peer::read(&settings.issuer).map_or_else(|_| settings.issuer.clone(), |(peer, _)| peer.host);
    Ok(Some(ClientSettings {
        id: settings.client_id.clone(),
        secret: secret(settings)?,
        scopes: settings.scopes.clone(),
        label: if settings.label.is_empty() { host() } else { settings.label.clone() },
    }))
}

/// People are sent back to the public URL, and browsers keep the cookie of a session over https only, or on the
/// machine itself.
fn check_public_url(public_url: &str) -> Result<(), WrongUsage> {
    let wrong = |why: &str| {
        Err(WrongUsage(format!(
            "auth.issuers.client_id: to sign people in, server.public_url must be how their browsers reach this server, such \
             as https://scheduler.example.com; {why}"
        )))
    };
    if public_url.is_empty() {
        return wrong("it is not set");
    }
    match Peer::read(public_url) {
        Ok((peer, _)) if peer.secure || peer.is_local() => Ok(()),
        Ok(_) => wrong(
            "it does not begin with https://, without which browsers keep no session but on this machine",
        ),
        Err(why) => wrong(&format!("it {why}")),
    }
}

/// The client secret, from a file or from the environment.
fn secret(settings: &IssuerConfig) -> Result<Option<Secret>, WrongUsage> {
    let (file, variable) = (settings.client_secret_file.as_path(), settings.client_secret_env.as_str());
    let (from, text) = match (file == Path::new(""), variable) {
        (true, "") => return Ok(None),
        (true, variable) => {
            let found = std::env::var_os(variable).and_then(|text| text.into_string().ok());
            let missing = || {
                WrongUsage(format!(
                    "auth.issuers.client_secret_env: there is no environment variable {variable}, or it is not UTF-8"
                ))
            };
            (format!("environment variable {variable}"), found.ok_or_else(missing)?)
        }
        (false, "") => {
            let read = std::fs::read_to_string(file).map_err(|error| {
                WrongUsage(format!(
                    "auth.issuers.client_secret_file: could not read {}: {error}",
                    file.display()
                ))
            });
            warn_if_open(file);
            (file.display().to_string(), read?)
        }
        (false, _) => {
            return Err(WrongUsage(
                "auth.issuers: client_secret_file and client_secret_env are both set; choose one".to_owned(),
            ));
        }
    };
    let text = Secret::new(text);
    match text.expose().trim() {
        "" => Err(WrongUsage(format!("auth.issuers: the client secret is empty ({from})"))),
        trimmed => Ok(Some(Secret::new(trimmed))),
    }
}

/// Warns of a file that everybody on the machine can read. It is not refused: where secrets are mounted, it may be so.
fn warn_if_open(file: &Path) {
    let open = file.metadata().is_ok_and(|found| found.permissions().mode() & 0o007 != 0);
    if open {
        tracing::warn!(path = %file.display(), "everybody on this machine can read the client secret: chmod 600");
    }
}

/// Asks over HTTP. It follows no redirects: an issuer says where its keys and its endpoints are.
struct Web {
    roots: RootCertStore,
}

impl Web {
    async fn send(&self, url: &str, request: impl FnOnce(&str) -> Request<Bytes>) -> Result<Reply, String> {
        let (mut peer, uri) =
            Peer::read(url).map_err(|why| format!("the URL of an issuer's document {why}"))?;
        peer.roots = self.roots.clone();
        let request = request(uri.path_and_query().map_or("/", |path| path.as_str()));
        let sent = tokio::time::timeout(FETCH_TIME_MAX, peer.send(request, DOCUMENT_BYTES_MAX)).await;
        let sent =
            sent.map_err(|_| format!("{url}: there is no answer within {} s", FETCH_TIME_MAX.as_secs()))?;
        sent.map_err(|failure| format!("{url}: {failure}"))
    }
}

#[async_trait]
impl IssuerTransport for Web {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        let get = |path: &str| {
            let mut request = Request::new(Bytes::new());
            set_path(&mut request, path);
            request
        };
        let reply = self.send(url, get).await?;
        if reply.status != hyper::StatusCode::OK {
            return Err(format!("{url}: it answers {}", reply.status));
        }
        Ok(reply.body.to_vec())
    }

    async fn post(
        &self,
        url: &str,
        form: Secret,
        authorization: Option<Secret>,
    ) -> Result<(u16, Vec<u8>), String> {
        let mut header = None;
        if let Some(authorization) = authorization {
            let mut value = HeaderValue::from_str(authorization.expose())
                .map_err(|_| "the client secret can't be sent in a header".to_owned())?;
            value.set_sensitive(true);
            header = Some(value);
        }
        let post = |path: &str| {
            let mut request = Request::new(Bytes::copy_from_slice(form.expose().as_bytes()));
            *request.method_mut() = hyper::Method::POST;
            set_path(&mut request, path);
            let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
            request.headers_mut().insert(CONTENT_TYPE, kind);
            request.headers_mut().extend(header.map(|value| (AUTHORIZATION, value)));
            request
        };
        let reply = self.send(url, post).await?;
        Ok((reply.status.as_u16(), reply.body.to_vec()))
    }
}

/// The path of a URL that was read is one.
fn set_path(request: &mut Request<Bytes>, path: &str) {
    if let Ok(path) = path.parse() {
        *request.uri_mut() = path;
    }
}
