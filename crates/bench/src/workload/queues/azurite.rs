//! Azurite's queue service, by its REST API.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{AT_ONCE, Peer, TEXT};
use crate::clock;

/// The number of messages of the bare client.
const BARE: usize = 2_000;

/// The default account of Azurite, and a signature by its public key that is valid until 2099.
const ACCOUNT: &str = "devstoreaccount1";
const SAS: &str = "sv=2019-02-02&ss=q&srt=sco&sp=rwdlacup&se=2099-01-01T00%3A00%3A00Z\
                   &sig=LIcNKGiTHmizayNKoLvGcan7ILVLZAdq8ba1M4rydsY%3D";

pub(super) struct Azurite {
    address: SocketAddr,
    queue: String,
    bare_queue: String,
}

impl Azurite {
    /// Makes the queues.
    pub(super) fn new(endpoint: &str) -> anyhow::Result<Self> {
        let address = endpoint.trim_start_matches("http://").parse();
        let address = address.with_context(|| format!("'{endpoint}' is not where an Azurite could be"))?;
        let (queue, bare_queue) =
            (format!("fired-{}", clock::wall_nanos()), format!("bare-{}", clock::wall_nanos()));
        let azurite = Self { address, queue, bare_queue };
        for queue in [&azurite.queue, &azurite.bare_queue] {
            azurite.ask("PUT", &format!("/{ACCOUNT}/{queue}?{SAS}"))?;
        }
        Ok(azurite)
    }

    fn ask(&self, method: &str, path: &str) -> anyhow::Result<HeaderMap> {
        runtime()?.block_on(async {
            let mut sender = connect(self.address).await?;
            send(&mut sender, method, path, Bytes::new()).await
        })
    }
}

impl Peer for Azurite {
    const NAME: &str = "Azurite";
    const JOBS: usize = 5_000;

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![("PUNCTUAL_ACTIONS__STORAGE_QUEUE_ENDPOINT", format!("http://{}/{{account}}", self.address))]
    }

    fn action(&self) -> String {
        format!(
            r#"{{"type":"StorageQueue","queueMessage":{{"storageAccount":"{ACCOUNT}","queueName":"{}","sasToken":"{SAS}","message":"{TEXT}"}},"retryPolicy":{{"retryType":"None"}}}}"#,
            self.queue
        )
    }

    fn bare(&self) -> anyhow::Result<f64> {
        let path: Arc<str> = format!("/{ACCOUNT}/{}/messages?{SAS}", self.bare_queue).into();
        // As long as the envelope around the text, in base64.
        let text = "eHh4".repeat(230);
        let body = Bytes::from(format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>"));
        runtime()?.block_on(async {
            let (next, mut workers) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
            let since = clock::now();
            for _ in 0..AT_ONCE {
                let (next, path, body) = (Arc::clone(&next), Arc::clone(&path), body.clone());
                let mut sender = connect(self.address).await?;
                workers.spawn(async move {
                    while next.fetch_add(1, Ordering::Relaxed) < BARE {
                        send(&mut sender, "POST", &path, body.clone()).await?;
                    }
                    anyhow::Ok(())
                });
            }
            for done in workers.join_all().await {
                done?;
            }
            Ok(BARE as f64 / since.elapsed().as_secs_f64())
        })
    }

    /// Azurite can count messages, but not tell repetitions.
    fn arrived(&self) -> anyhow::Result<(usize, usize)> {
        let headers = self.ask("GET", &format!("/{ACCOUNT}/{}?comp=metadata&{SAS}", self.queue))?;
        let count = headers.get("x-ms-approximate-messages-count").and_then(|count| count.to_str().ok());
        let count =
            count.and_then(|count| count.parse().ok()).context("Azurite does not say how many there are")?;
        Ok((count, count.saturating_sub(Self::JOBS)))
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("could not start a runtime")
}

async fn connect(address: SocketAddr) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(address).await.context("could not connect to Azurite")?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // It ends with its sender.
    tokio::spawn(connection);
    Ok(sender)
}

async fn send(
    sender: &mut SendRequest<Full<Bytes>>,
    method: &str,
    path: &str,
    body: Bytes,
) -> anyhow::Result<HeaderMap> {
    let request = Request::builder().method(method).uri(path).header("host", "bench");
    let response = sender.send_request(request.body(Full::new(body))?).await?;
    let (head, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    if !head.status.is_success() {
        bail!("Azurite answered {}: {}", head.status, String::from_utf8_lossy(&body));
    }
    Ok(head.headers)
}
