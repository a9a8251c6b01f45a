//! Threads of the store, and who is told when one of them panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::{fmt, io};

/// Is told when a thread of the store panics: nothing goes on without it, so the process should be started anew.
#[derive(Clone, Default)]
pub struct Alarm(Option<Arc<Ring>>);

type Ring = dyn Fn(&'static str, &(dyn Any + Send)) + Send + Sync;

impl Alarm {
    /// Tells what the thread is called and what it panicked with.
    pub fn new(ring: impl Fn(&'static str, &(dyn Any + Send)) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(ring)))
    }

    /// Starts a thread; if it panics, that is told at once.
    pub(crate) fn thread(
        &self,
        name: String,
        task: &'static str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let alarm = self.clone();
        thread::Builder::new().name(name).spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                match &alarm.0 {
                    Some(ring) => ring(task, panic.as_ref()),
                    None => tracing::error!("the {task} ended by a panic"),
                }
            }
        })
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Alarm")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_that_panics_is_told_with_what_it_said() {
        let (sender, told) = mpsc::channel();
        let alarm = Alarm::new(move |task, panic| {
            let text = panic.downcast_ref::<&str>().copied().unwrap_or_default();
            sender.send((task, text.to_owned())).unwrap();
        });
        let thread = alarm.thread("scribe".to_owned(), "writer of the store", || panic!("no ink")).unwrap();
        thread.join().unwrap();
        assert_eq!(told.recv().unwrap(), ("writer of the store", "no ink".to_owned()));
        alarm.thread("scribe".to_owned(), "writer of the store", || ()).unwrap().join().unwrap();
        assert!(told.try_recv().is_err(), "one that ends is told of by nobody");
    }
}
