//! The web page: files that are part of the binary, for everybody.
//!
//! It has no rights of its own: what it shows it asks of the API, as whoever looks at it. So its files are served without asking
//! who wants them. [`address`] says which requests are for the page; all others are the API's.

mod accept;
mod address;

use std::collections::BTreeMap;

use axum::body::Body;
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use sha2::{Digest, Sha256};

use self::address::Wanted;
pub(crate) use self::address::first_segments;
use crate::answer::STRICT_TRANSPORT;
use crate::operation::{NoOperation, Operation};
use crate::prefix;

/// What the page may load and do: its own files, and nothing that is written into the page itself. Nobody may frame it.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'";

/// Names of these files have a hash of their content in them, so that they never change.
const HASHED: &str = "assets/";

/// What the index has at this place, for a server at the root of its host.
const BASE: &str = "<base href=\"/\">";

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct PageFile {
    /// Where it is, without a slash at its front, such as `assets/index-1a2b3c.js`.
    pub path: &'static str,
    /// What is in it.
    pub content: &'static [u8],
    /// The same compressed by gzip, if that is smaller.
    pub gzip: Option<&'static [u8]>,
}

/// The page.
#[derive(Debug)]
pub struct Page {
    index: File,
    files: BTreeMap<&'static str, File>,
}

#[derive(Debug)]
struct File {
    content_type: &'static str,
    cache: &'static str,
    plain: Content,
    gzip: Option<Content>,
}

/// One form of a file, with the tag by which caches know it.
#[derive(Debug)]
struct Content {
    bytes: Bytes,
    tag: HeaderValue,
}

impl Page {
    /// The page with its index and the other files, for a server that is reached by `public_url`: where that has a path, everything
    /// is below it.
    pub fn new(index: &str, files: &[PageFile], public_url: Option<&str>) -> Self {
        let prefix = public_url.map(prefix::of_url).unwrap_or_default();
        let index = index.replacen(BASE, &format!("<base href=\"{prefix}/\">"), 1);
        Self {
            index: File {
                content_type: content_type("index.html"),
                cache: "no-cache",
                plain: Content::new(Bytes::from(index), ""),
                gzip: None,
            },
            files: files.iter().map(|file| (file.path, File::new(file))).collect(),
        }
    }

    /// The answer to a request if it is for the page; none if it is for the API.
    pub(crate) fn answer(
        &self,
        parts: &Parts,
        found: &Result<Operation, NoOperation>,
    ) -> Option<Response<Body>> {
        let known = |path: &str| self.files.contains_key(path);
        let unknown = matches!(found, Err(NoOperation::Path));
        let (status, file) = match address::wanted(parts, known, unknown)? {
            Wanted::File(path) => (StatusCode::OK, self.files.get(path)?),
            Wanted::Place => (StatusCode::OK, &self.index),
            Wanted::Nowhere => (StatusCode::NOT_FOUND, &self.index),
            Wanted::Gone => return Some(gone()),
        };
        Some(file.answer(status, &parts.method, &parts.headers))
    }
}

impl File {
    fn new(file: &PageFile) -> Self {
        let hashed = file.path.starts_with(HASHED);
        Self {
            content_type: content_type(file.path),
            cache: if hashed { "public, max-age=31536000, immutable" } else { "no-cache" },
            plain: Content::new(Bytes::from_static(file.content), ""),
            gzip: file.gzip.map(|gzip| Content::new(Bytes::from_static(gzip), "-gzip")),
        }
    }

    fn answer(&self, status: StatusCode, method: &Method, headers: &HeaderMap) -> Response<Body> {
        let gzip = self.gzip.as_ref().filter(|_| accept::takes(headers, &header::ACCEPT_ENCODING, "gzip"));
        let content = gzip.unwrap_or(&self.plain);
        let unchanged = status == StatusCode::OK && accept::has_tag(headers, &content.tag);
        let mut response = Response::new(Body::empty());
        *response.status_mut() = if unchanged { StatusCode::NOT_MODIFIED } else { status };
        let told = response.headers_mut();
        for (name, value) in PROMISES {
            told.insert(name, HeaderValue::from_static(value));
        }
        told.insert(header::CACHE_CONTROL, HeaderValue::from_static(self.cache));
        told.insert(header::ETAG, content.tag.clone());
        if self.gzip.is_some() {
            told.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        if unchanged {
            return response;
        }
        told.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        told.insert(header::CONTENT_LENGTH, content.bytes.len().into());
        if gzip.is_some() {
            told.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if method != Method::HEAD {
            *response.body_mut() = Body::from(content.bytes.clone());
        }
        response
    }
}

impl Content {
    fn new(bytes: Bytes, form: &str) -> Self {
        let hash = Sha256::digest(&bytes);
        let hash = u64::from_be_bytes(*hash.first_chunk().expect("a hash of SHA-256 has 32 bytes"));
        let tag = HeaderValue::from_str(&format!("\"{hash:016x}{form}\""))
            .expect("hexadecimal digits in quotes can stand in a header");
        Self { bytes, tag }
    }
}

/// What every file of the page comes with.
const PROMISES: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Addresses have names of jobs in them.
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT),
];

/// The answer for a file of another build: a page that was left open asks for one after the server was replaced.
fn gone() -> Response<Body> {
    let mut response =
        Response::new(Body::from("There is no such file in this version. Load the page anew.\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    let told = response.headers_mut();
    for (name, value) in PROMISES {
        told.insert(name, HeaderValue::from_static(value));
    }
    told.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    told.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "json" => "application/json; charset=utf-8",
        "webmanifest" => "application/manifest+json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
