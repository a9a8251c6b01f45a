//! Requests over a connection of their own, as they are written on the wire.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::server::SOON;

/// What came back.
pub(crate) struct RawAnswer {
    pub(crate) status: u16,
    /// Status line and headers.
    pub(crate) head: String,
    pub(crate) text: String,
}

impl RawAnswer {
    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    fn read(mut stream: TcpStream, bodiless: bool) -> Option<Self> {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, text) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length =
            |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok();
        let told = head.lines().find_map(length);
        let whole = bodiless || told.is_none_or(|told| text.len() == told);
        whole.then(|| Self { status, head: head.to_owned(), text: text.to_owned() })
    }
}

/// A request that asks for the connection to be closed behind it. Each header ends with a line break.
pub(crate) fn request(method: &str, address: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Sends bytes as they are, all of them, and reads the answer to its end. None if no whole answer came: somebody may
/// have killed the server.
pub(crate) fn try_exchange(address: &str, request: &[u8]) -> Option<RawAnswer> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(SOON)).ok()?;
    stream.write_all(request).ok()?;
    // The answer to a HEAD tells a length and has no body.
    RawAnswer::read(stream, request.starts_with(b"HEAD "))
}

/// The same of a server that answers.
#[track_caller]
pub(crate) fn exchange(address: &str, request: &[u8]) -> RawAnswer {
    let shown = || String::from_utf8_lossy(&request[..request.len().min(200)]).into_owned();
    try_exchange(address, request).unwrap_or_else(|| panic!("no answer to {}", shown()))
}
