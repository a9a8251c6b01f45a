//! A cheap client: one keep-alive connection, requests as bytes, answers by Content-Length.
//!
//! It shares the processors with the server, so every microsecond that it uses is missing there.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::population;

/// A larger answer is an error.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A later answer counts as lost.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A status and where the body is in the buffer.
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await;
        let stream = stream.with_context(|| format!("could not connect to {address}"))?;
        stream.set_nodelay(true).context("could not set up a connection")?;
        Ok(Self { stream, buffer: Vec::with_capacity(8 * 1024) })
    }

    /// Sends a whole request and reads the whole answer.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Answer<'_>> {
        self.stream.write_all(request).await.context("could not send a request")?;
        self.buffer.clear();
        let mut head = None;
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.context("could not read an answer")?;
            if read == 0 {
                bail!("the server closed a connection in the middle of an answer");
            }
            if head.is_none() {
                head = read_head(&self.buffer)?;
            }
            if let Some(Head { status, body_at, end_at }) = head
                && self.buffer.len() >= end_at
            {
                return Ok(Answer { status, body: &self.buffer[body_at..end_at] });
            }
        }
    }
}

/// One blocking connection for one request after the other.
pub(crate) struct BlockingConnection {
    runtime: tokio::runtime::Runtime,
    connection: Connection,
    request: Vec<u8>,
}

impl BlockingConnection {
    pub(crate) fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("could not start a runtime")?;
        let connection = runtime.block_on(Connection::open(address))?;
        Ok(Self { runtime, connection, request: Vec::new() })
    }

    pub(crate) fn get(&mut self, path: &str, query: &str) -> anyhow::Result<(u16, String)> {
        self.send("GET", path, query, "")
    }

    pub(crate) fn put(&mut self, path: &str, body: &str) -> anyhow::Result<(u16, String)> {
        self.send("PUT", path, "", body)
    }

    fn send(&mut self, method: &str, path: &str, query: &str, body: &str) -> anyhow::Result<(u16, String)> {
        self.request.clear();
        population::write(method, path, query, body, &mut self.request);
        let exchange = async {
            let exchange = self.connection.exchange(&self.request);
            tokio::time::timeout(ANSWER_TIME_MAX, exchange).await.context("no answer came")?
        };
        let answer = self.runtime.block_on(exchange)?;
        Ok((answer.status, String::from_utf8_lossy(answer.body).into_owned()))
    }
}

/// The head of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    body_at: usize,
    end_at: usize,
}

/// The head, if all of it is there.
fn read_head(bytes: &[u8]) -> anyhow::Result<Option<Head>> {
    let Some(body_at) = head_end(bytes) else { return Ok(None) };
    let status = bytes.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    let status = status.and_then(|digits| digits.parse().ok()).context("an answer has no status")?;
    let length = content_length(&bytes[..body_at]).context("an answer has no Content-Length")?;
    if length > ANSWER_BYTES_MAX {
        bail!("an answer has {length} bytes");
    }
    Ok(Some(Head { status, body_at, end_at: body_at + length }))
}

/// Where the head of a message ends and its body begins.
pub(crate) fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// The Content-Length of a head, if it has one.
pub(crate) fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let lines = head.split(|&byte| byte == b'\n');
    let mut named =
        lines.filter(|line| line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME));
    std::str::from_utf8(&named.next()?[NAME.len()..]).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_length_is_there() {
        let bytes = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nx: y\r\n\r\n{}";
        let head = read_head(bytes).unwrap().unwrap();
        assert_eq!((head.status, head.end_at), (201, bytes.len()));
        assert_eq!(read_head(&bytes[..40]).unwrap(), None);
        assert!(read_head(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
