//! The tokens of a running server, over its API.

use hyper::Method;
use serde_json::Value;

use crate::client::Server;
use crate::exit::WrongUsage;
use crate::options::ServerOrData;

const VERSION: &str = "api-version=2026-11-01";

/// The most pages of a list that are read; there are 1000 tokens on each, and 10,000 at most.
const PAGES_MAX: usize = 100;

pub(super) struct Running(Server);

impl Running {
    pub(super) fn new(from: &ServerOrData) -> Result<Self, WrongUsage> {
        from.running().map(Self)
    }

    pub(super) async fn list(&self) -> Result<Vec<Value>, WrongUsage> {
        let mut tokens = Vec::new();
        let mut query = VERSION.to_owned();
        for _ in 0..PAGES_MAX {
            let mut page = self.ask(Method::GET, &format!("/tokens?{query}"), None).await?;
            if let Value::Array(listed) = page["value"].take() {
                tokens.extend(listed);
            }
            // The link is absolute, and the server may be reached by another address: only what follows is taken.
            match page["nextLink"].as_str().and_then(|link| link.split_once('?')) {
                Some((_, next)) => query = next.to_owned(),
                None => return Ok(tokens),
            }
        }
        Err(self.0.failed("its list of tokens does not end"))
    }

    pub(super) async fn create(&self, body: &Value) -> Result<Value, WrongUsage> {
        self.ask(Method::POST, &format!("/tokens?{VERSION}"), Some(body)).await
    }

    pub(super) async fn rotate(&self, id: &str, body: &Value) -> Result<Value, WrongUsage> {
        self.ask(Method::POST, &format!("/tokens/{id}/rotate?{VERSION}"), Some(body)).await
    }

    pub(super) async fn revoke(&self, id: &str) -> Result<(), WrongUsage> {
        self.ask(Method::DELETE, &format!("/tokens/{id}?{VERSION}"), None).await.map(drop)
    }

    async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, WrongUsage> {
        let reply = self.0.ask(method, path, body).await?;
        if !reply.status.is_success() {
            return Err(self.0.failed(&reply.refusal()));
        }
        if reply.body.is_empty() {
            return Ok(Value::Null);
        }
        let read = serde_json::from_slice(&reply.body);
        read.map_err(|_| self.0.failed("its answer is no JSON; is it a Punctual server of this version?"))
    }
}
