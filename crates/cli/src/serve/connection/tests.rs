//! Callers that keep a connection busy for nothing, on a clock that goes on by itself as soon as everybody waits.

use axum::http::Response;
use axum::routing::get;
use http_body_util::{BodyExt, Empty};
use punctual_api::Traffic;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;

use super::super::gate::Gate;
use super::super::listener::Stopper;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// The other end of a connection that is served.
struct Caller {
    stream: DuplexStream,
    serving: JoinHandle<()>,
    since: Instant,
    stopper: Stopper,
}

impl Caller {
    /// Connects; so many bytes of an answer are taken before the caller has to read.
    async fn connect(buffer: usize) -> Self {
        let app = Router::new()
            .route("/", get(|| async { "hello" }))
            .route("/large", get(|| async { "x".repeat(1024 * 1024) }));
        let refused: refused::Answer = Arc::new(|_| Response::new(Vec::new()));
        let connections = Connections::new(app, None, refused);
        let activity = Activity::new(
            Gate::new(1, Vec::new(), Arc::new(Traffic::default()))
                .admit(std::net::Ipv4Addr::LOCALHOST.into())
                .await
                .unwrap(),
        );
        let (stream, served) = tokio::io::duplex(buffer);
        let (peer, stopper) = ("192.0.2.1:1".parse().unwrap(), Stopper::default());
        let stopping = stopper.stopping();
        let serving =
            tokio::spawn(async move { connections.serve_http(served, peer, activity, stopping).await });
        Self { stream, serving, since: Instant::now(), stopper }
    }

    async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    async fn read_until(&mut self, end: &str) {
        let mut text = String::new();
        while !text.ends_with(end) {
            text.push(char::from(self.stream.read_u8().await.unwrap()));
        }
    }

    /// Waits for the end of the connection; how many seconds after it was opened that was.
    async fn end(self) -> u64 {
        self.serving.await.unwrap();
        (Instant::now() - self.since).as_secs()
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_says_nothing_has_10_seconds() {
    let caller = Caller::connect(1024).await;
    assert_eq!(caller.end().await, 10);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_comes_in_drops_has_15_seconds() {
    let mut caller = Caller::connect(1024).await;
    caller.send("GET / HTTP/1.1\r\n").await;
    for number in 0..14 {
        tokio::time::sleep(SECOND).await;
        caller.send(&format!("x-{number}: y\r\n")).await;
    }
    let ended = caller.end().await;
    assert!((15..=17).contains(&ended), "{ended}");
}

#[tokio::test(start_paused = true)]
async fn the_beginning_of_http_2_in_drops_has_15_seconds() {
    let mut caller = Caller::connect(1024).await;
    caller.send("PRI * HTT").await;
    let ended = caller.end().await;
    assert!((15..=17).contains(&ended), "{ended}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_kept_for_60_seconds_after_an_answer() {
    let mut caller = Caller::connect(1024).await;
    for _ in 0..2 {
        tokio::time::sleep(9 * SECOND).await;
        caller.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        caller.read_until("hello").await;
    }
    assert_eq!(caller.end().await, 9 + 9 + 60);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_reads_is_cut_off() {
    let mut caller = Caller::connect(1024).await;
    caller.send("GET /large HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let ended = caller.end().await;
    assert!((30..=32).contains(&ended), "{ended}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_read_slowly_is_sent_to_its_end() {
    let mut caller = Caller::connect(16 * 1024).await;
    caller.send("GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    let (mut count, mut piece) = (0, vec![0; 16 * 1024]);
    loop {
        tokio::time::sleep(2 * SECOND).await;
        match caller.stream.read(&mut piece).await.unwrap() {
            0 => break,
            read => count += read,
        }
    }
    assert!(count > 1024 * 1024, "{count}");
    assert!(caller.end().await >= 128);
}

#[tokio::test(start_paused = true)]
async fn a_connection_over_http_2_is_kept_for_60_seconds_after_an_answer() {
    let Caller { stream, serving, since, stopper: _keep } = Caller::connect(64 * 1024).await;
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let driver = tokio::spawn(connection);
    tokio::time::sleep(9 * SECOND).await;
    let request = Request::builder().uri("http://localhost/").body(Empty::<Bytes>::new()).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "hello");
    serving.await.unwrap();
    let ended = (Instant::now() - since).as_secs();
    assert!((69..=71).contains(&ended), "{ended}");
    // The caller is told, so that it sends nothing more.
    driver.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_reads_over_http_2_is_cut_off() {
    let Caller { stream, serving, since, stopper: _keep } = Caller::connect(64 * 1024).await;
    // A caller that takes no byte of any answer.
    let (mut sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(0)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = Request::builder().uri("http://localhost/large").body(Empty::<Bytes>::new()).unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    serving.await.unwrap();
    let ended = (Instant::now() - since).as_secs();
    assert!((30..=32).contains(&ended), "{ended}");
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_what_is_idle_at_once() {
    let mut caller = Caller::connect(1024).await;
    caller.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    caller.read_until("hello").await;
    caller.stopper.stop(SECOND);
    assert_eq!(caller.end().await, 0);
    let silent = Caller::connect(1024).await;
    silent.stopper.stop(SECOND);
    assert_eq!(silent.end().await, 0);
}
