//! An observer hears what becomes of each claim.

use std::sync::{Arc, Mutex};

use jiff::SignedDuration;
use punctual_runner::{Event, Loss, Observer};
use punctual_store::Resources;

use crate::world::{World, at, minutely, once};

/// Remembers what it hears, as words.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Heard {
    fn words(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Heard {
    fn hear(&self, event: &Event<'_>) {
        let word = match event {
            Event::Claimed(_) => "claimed".into(),
            Event::Begun(_) => "begun".into(),
            Event::Fired(attempt) => format!("fired {} ms late", attempt.lateness.as_millis()),
            Event::Ended { outcome, .. } => format!("ended {}", outcome.succeeded),
            Event::Settled { .. } => "settled".into(),
            Event::Skipped(skip) => format!("skipped {}", skip.count),
            Event::GivenBack { .. } => "given back".into(),
            Event::Lost { loss, .. } => format!("lost {loss:?}"),
            Event::Batch { size, recorded, .. } => format!("batch of {size} {recorded}"),
        };
        self.0.lock().unwrap().push(word);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_fired_is_claimed_begun_fired_and_settled_with_what_was_skipped() {
    let (world, heard) = (World::new().await, Arc::new(Heard::default()));
    world.put("ok", minutely("ok", 0)).await;
    world.clock.set(at(180) + SignedDuration::from_millis(70));
    let running = world.runner_heard_by(world.store.clone(), heard.clone()).start().unwrap();
    world.wait_for_records("ok", 1).await;
    running.stop().await;
    let expected =
        ["claimed", "begun", "fired 70 ms late", "ended true", "batch of 1 true", "settled", "skipped 3"];
    assert_eq!(heard.words(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_not_settled_is_given_back_or_lost() {
    let (world, heard) = (World::new().await, Arc::new(Heard::default()));
    for name in ["ok-kept", "ok-edited"] {
        world.put(name, once(name, 60)).await;
    }
    world.clock.set(at(60) - SignedDuration::from_millis(500));
    let running = world.runner_heard_by(world.store.clone(), heard.clone()).start().unwrap();
    world.wait_until_claimed().await;
    world.patch("ok-edited", |spec| spec.start_at = Some(at(6_000))).await;
    let job = world.put("hang", once("hang", 0)).await;
    world.target.wait_for(1).await;
    assert!(world.store.delete_job(&job.key, None).await.unwrap());
    world.target.let_go(1);
    world.wait_until("it is lost", async || heard.words().iter().any(|word| word.starts_with("lost"))).await;
    running.stop().await;
    let words = heard.words();
    let count = |word: &str| words.iter().filter(|other| *other == word).count();
    let lost = [Loss::Deleted, Loss::TakenBack, Loss::Fenced].map(|loss| count(&format!("lost {loss:?}")));
    assert_eq!((count("claimed"), count("given back"), lost), (3, 2, [1, 0, 0]), "{words:?}");
}
