//! Points at which a tick can be paused, and how it is polled until then.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use crate::op::Point;

/// The gate of one node: a tick that reaches a closed point stays there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    closed: Option<Point>,
    parked: bool,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the gate at a point, or opens it.
    pub(crate) fn set(&self, closed: Option<Point>) {
        *self.state() = State { closed, parked: false };
    }

    /// Where the gate is closed.
    pub(crate) fn closed(&self) -> Option<Point> {
        self.state().closed
    }

    fn parked(&self) -> bool {
        self.state().parked
    }

    /// Returns if the gate is open at this point, else stays.
    pub(crate) async fn pass(&self, point: Point) {
        poll_fn(|_| {
            let mut state = self.state();
            state.parked = state.closed == Some(point);
            if state.parked { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}

/// A future of a node that may be paused.
pub(crate) type NodeFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Polls a future until it is done; returns it if it stays at the gate.
pub(crate) fn drive<T>(mut future: NodeFuture<T>, gate: &Gate) -> Result<T, NodeFuture<T>> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return Ok(done),
            Poll::Pending if gate.parked() => return Err(future),
            // A thread of the store will wake this one.
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Waits for a future that passes no gate.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
