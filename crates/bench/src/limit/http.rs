//! How many requests a bare hyper client sends over loopback.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::clock;

/// Requests a second from a bare client to a bare receiver, both hyper, each on one thread.
pub(crate) fn bare(connections: usize, time: Duration) -> anyhow::Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("could not start a runtime")?;
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let listener = listener.context("could not listen")?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name("hyper-receiver".to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                () = receive(&listener) => {}
                _ = stopped => {}
            }
        });
    });
    let thread = thread.context("could not start a thread")?;
    let rate = client(address, connections, time);
    drop(stop);
    let _ = thread.join();
    rate
}

/// Requests a second from a bare hyper client on one thread to any server.
pub(crate) fn client(address: SocketAddr, connections: usize, time: Duration) -> anyhow::Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("could not start a runtime")?.block_on(async {
        let mut senders = Vec::new();
        for _ in 0..connections {
            let stream = TcpStream::connect(address).await.context("could not connect")?;
            stream.set_nodelay(true)?;
            let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            // It ends with its sender.
            tokio::spawn(connection);
            senders.push(sender);
        }
        let since = clock::now();
        let mut set = JoinSet::new();
        for sender in senders {
            set.spawn(async move {
                let mut count = 0_u64;
                let mut sender = sender;
                while since.elapsed() < time {
                    send(&mut sender).await?;
                    count += 1;
                }
                anyhow::Ok(count)
            });
        }
        let mut count = 0;
        while let Some(done) = set.join_next().await {
            count += done.context("a connection panicked")??;
        }
        Ok(count as f64 / since.elapsed().as_secs_f64())
    })
}

async fn send(sender: &mut SendRequest<Full<Bytes>>) -> anyhow::Result<()> {
    let request = Request::post("/x")
        .header(header::HOST, "bench")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from_static(br#"{"event":"due"}"#)))?;
    sender.ready().await?;
    let answer = sender.send_request(request).await?;
    answer.into_body().collect().await?;
    Ok(())
}

async fn receive(listener: &TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        let service = service_fn(|request: Request<Incoming>| async {
            let _ = request.into_body().collect().await;
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        });
        tokio::spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_through() {
        assert!(bare(2, Duration::from_millis(20)).unwrap() > 0.0);
    }
}
