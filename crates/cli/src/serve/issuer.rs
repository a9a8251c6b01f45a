//! Issuers of OpenID Connect, as the settings name them: fetches their configuration and their keys.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper::Request;
use jiff::SignedDuration;
use punctual_api::{IssuerSettings, KeySource, Rule};
use punctual_model::access::Grant;
use rustls::RootCertStore;

use crate::client::{Peer, roots};
use crate::config::IssuerConfig;
use crate::exit::WrongUsage;

/// The largest document of an issuer. Real ones have a few kilobytes.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// How long one document may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(4);

/// Makes issuers of settings.
pub(super) fn open(settings: &[IssuerConfig]) -> Result<Vec<IssuerSettings>, WrongUsage> {
    let open = |one: &IssuerConfig| {
        let file = Some(one.ca_file.as_path()).filter(|path| *path != Path::new(""));
        let source: Arc<dyn KeySource> = Arc::new(Web { roots: roots("auth.issuers.ca_file", file)? });
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
            source,
        })
    };
    settings.iter().map(open).collect()
}

/// Fetches over HTTP. It follows no redirects: an issuer says where its keys are.
struct Web {
    roots: RootCertStore,
}

#[async_trait]
impl KeySource for Web {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, String> {
        let (mut peer, uri) =
            Peer::read(url).map_err(|why| format!("the URL of an issuer's document {why}"))?;
        peer.roots = self.roots.clone();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let request =
            Request::get(path).body(hyper::body::Bytes::new()).map_err(|error| error.to_string())?;
        let sent = tokio::time::timeout(FETCH_TIME_MAX, peer.send(request, DOCUMENT_BYTES_MAX)).await;
        let sent =
            sent.map_err(|_| format!("{url}: there is no answer within {} s", FETCH_TIME_MAX.as_secs()))?;
        let reply = sent.map_err(|failure| format!("{url}: {failure}"))?;
        if reply.status != hyper::StatusCode::OK {
            return Err(format!("{url}: it answers {}", reply.status));
        }
        Ok(reply.body.to_vec())
    }
}
