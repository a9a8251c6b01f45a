//! A TCP proxy before the database that can lose answers, cut connections, and leave them half open.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What becomes of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They are passed on.
    Pass,
    /// They are closed, and so are new ones.
    Cut,
    /// Nothing goes through and nobody is told; they are closed when this ends.
    Stall,
}

/// A proxy. It ends with the runtime of its test.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    /// How many answers to messages with [`text`](Self::lose) are still to be lost.
    losing: Arc<AtomicUsize>,
    mode: watch::Sender<Mode>,
}

impl Proxy {
    /// A proxy that loses answers to messages with this text in them, when it is told to.
    pub(crate) async fn before(port: u16, text: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let losing = Arc::new(AtomicUsize::new(0));
        let lose = Arc::clone(&losing);
        let (mode, seen) = watch::channel(Mode::Pass);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connect(client, port, text, Arc::clone(&lose), seen.clone()));
            }
        });
        Self { address, losing, mode }
    }

    /// From now on connections are treated like this.
    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Loses the answers to the next so many messages with the text, and cuts their connections.
    pub(crate) fn lose(&self, count: usize) {
        self.losing.store(count, Ordering::SeqCst);
    }

    /// How many are still to be lost.
    pub(crate) fn left(&self) -> usize {
        self.losing.load(Ordering::SeqCst)
    }
}

/// Passes a connection on, unless there is no server or it is not to be.
async fn connect(
    mut client: TcpStream,
    port: u16,
    text: &[u8],
    losing: Arc<AtomicUsize>,
    mut mode: watch::Receiver<Mode>,
) {
    let passes = *mode.borrow_and_update() == Mode::Pass;
    let mut server = None;
    if passes {
        let Ok(connected) = TcpStream::connect(("127.0.0.1", port)).await else { return };
        tokio::select! {
            () = pass(&mut client, server.insert(connected), text, &losing) => return,
            _ = mode.changed() => {}
        }
    }
    // Both ends stay open, and nothing is read from them.
    while *mode.borrow_and_update() == Mode::Stall {
        if mode.changed().await.is_err() {
            break;
        }
    }
    drop(server);
}

/// Passes on what comes from either side, until one of them ends or an answer is to be lost.
async fn pass(client: &mut TcpStream, server: &mut TcpStream, text: &[u8], losing: &AtomicUsize) {
    let (mut from_client, mut from_server) = (vec![0; 65_536], vec![0; 65_536]);
    let mut lost = false;
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(count @ 1..) = read else { return };
                let found = from_client[..count].windows(text.len()).any(|part| part == text);
                let lose = |left: usize| left.checked_sub(1);
                lost |= found && losing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose).is_ok();
                if server.write_all(&from_client[..count]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut from_server) => {
                let Ok(count @ 1..) = read else { return };
                // The server has done it; nobody will hear of that.
                if lost || client.write_all(&from_server[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
