//! Counts the steps of every search through time, so that tests can hold them to a bound. Outside of tests
//! it is nothing.

#[cfg(test)]
thread_local! {
    static TAKEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// One step was taken.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    TAKEN.set(TAKEN.get() + 1);
}

/// How many steps some work takes, and what comes of it.
#[cfg(test)]
pub(crate) fn count<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = TAKEN.get();
    let answer = work();
    (TAKEN.get() - before, answer)
}
