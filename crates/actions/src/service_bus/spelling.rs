//! The letter case of header names.
//!
//! Over HTTP/1.1 the service keeps the names of custom properties as they are written, while a header map
//! knows lower case only. The HTTP library sends names as they were spelled in a message that it has read,
//! for the sake of proxies, and has no other way to be told. So it is given a message to read.

use bytes::Bytes;
use http::{Extensions, Request};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What a request carries so that its header fields are spelled like this; nothing where that is how they
/// are sent anyway. The names must be names of header fields.
pub(super) async fn of<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Extensions {
    if names.clone().all(|name| !name.bytes().any(|byte| byte.is_ascii_uppercase())) {
        return Extensions::new();
    }
    let count = names.clone().count();
    let head = names.fold("HTTP/1.1 204 No Content\r\n".to_owned(), |head, name| head + name + ":\r\n");
    read(head + "\r\n", count).await.unwrap_or_default()
}

async fn read(head: String, count: usize) -> Option<Extensions> {
    let (near, mut far) = tokio::io::duplex(head.len());
    let (mut requests, connection) = http1::Builder::new()
        .preserve_header_case(true)
        .max_headers(count)
        .handshake(TokioIo::new(near))
        .await
        .ok()?;
    let exchange = async {
        let request = requests.send_request(Request::new(Empty::<Bytes>::new()));
        let answer = async {
            far.read_u8().await?;
            far.write_all(head.as_bytes()).await
        };
        let (response, answered) = tokio::join!(request, answer);
        answered.ok()?;
        Some(response.ok()?.into_parts().0.extensions)
    };
    tokio::select! {
        extensions = exchange => extensions,
        _ = connection => None,
    }
}
