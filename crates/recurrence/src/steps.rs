//! Counts the steps of every search through time, so that tests can assert a bound. Compiles to nothing outside
//! of tests.

#[cfg(test)]
thread_local! {
    static TAKEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts one step.
#[inline]
pub(crate) fn step() {
    #[cfg(test)]
    TAKEN.set(TAKEN.get() + 1);
}

/// Runs `work` and returns how many steps it took, and its result.
#[cfg(test)]
pub(crate) fn count<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = TAKEN.get();
    let answer = work();
    (TAKEN.get() - before, answer)
}
