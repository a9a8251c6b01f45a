//! The letter case of header names.
//!
//! Service Bus keeps the letter case of custom property names, but a `HeaderMap` holds names in lower case. hyper can
//! send names in another case only if it has read them in that case, a feature for proxies. So we let it read a
//! message with these names, and use the extensions that it puts on that message.

use bytes::Bytes;
use http::{Extensions, Request};
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Returns extensions with which a request's header fields are sent in this letter case; none if the names are in
/// lower case. They must be valid names of header fields.
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
