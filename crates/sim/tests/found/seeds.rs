//! Some seeds with every run of the tests; `scripts/test` plays many more.

use punctual_sim::history;

use crate::check;

#[test]
fn every_occurrence_of_some_histories_is_accounted_for() {
    for seed in 1_000_000..1_000_040 {
        check(&history(seed));
    }
}

#[test]
fn a_seed_always_gives_the_same_history() {
    let first: Vec<String> = history(7).iter().map(|op| format!("{op:?}")).collect();
    let again: Vec<String> = history(7).iter().map(|op| format!("{op:?}")).collect();
    assert_eq!(first, again);
    assert_ne!(history(7), history(8));
}
