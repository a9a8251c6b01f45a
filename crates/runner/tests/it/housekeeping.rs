//! What is old goes, in pieces.

use jiff::SignedDuration;

use crate::world::{World, at, minutely, once};

const DAY: i64 = 86_400;

#[tokio::test]
async fn old_history_goes_in_pieces_and_young_history_stays() {
    let mut world = World::new().await;
    world.settings.retention = SignedDuration::from_hours(24);
    let runner = world.runner();
    let mut steps = runner.steps();
    world.put("ok", minutely("ok", 0)).await;
    for minute in 0..1_200 {
        world.clock.set(at(minute * 60));
        steps.tick().await;
    }
    assert!(!runner.keep_house().await.unwrap());
    assert_eq!(world.history("ok").await.len(), 1_200);
    // The first 1,100 are older than a day.
    world.clock.set(at(DAY + 1_100 * 60));
    let mut left = Vec::new();
    while runner.keep_house().await.unwrap() {
        left.push(world.history("ok").await.len());
    }
    left.push(world.history("ok").await.len());
    assert_eq!(left, [700, 200, 100]);
    assert_eq!(world.history("ok").await[0].nominal_at, at(1_100 * 60));
}

#[tokio::test]
async fn a_cap_on_records_keeps_the_newest() {
    let mut world = World::new().await;
    world.settings.records_per_job_max = 10;
    let runner = world.runner();
    let mut steps = runner.steps();
    world.put("ok", minutely("ok", 0)).await;
    for minute in 0..25 {
        world.clock.set(at(minute * 60));
        steps.tick().await;
    }
    assert!(!runner.keep_house().await.unwrap());
    let nominal: Vec<_> = world.history("ok").await.iter().map(|record| record.nominal_at).collect();
    assert_eq!(nominal, (15..25).map(|minute| at(minute * 60)).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_ended_job_is_purged_60_days_after_its_last_run() {
    let world = World::new().await;
    let runner = world.runner();
    let mut steps = runner.steps();
    let job = world.put("ok", once("ok", 0)).await;
    steps.tick().await;
    world.clock.set(at(59 * DAY));
    runner.keep_house().await.unwrap();
    let run = punctual_model::decide::run(&world.job("ok").await, at(59 * DAY)).unwrap();
    world.write(run).await;
    steps.tick().await;
    world.clock.set(at(100 * DAY));
    runner.keep_house().await.unwrap();
    assert!(world.find(&job.key).await.is_some());
    world.clock.set(at(120 * DAY));
    runner.keep_house().await.unwrap();
    assert!(world.find(&job.key).await.is_none());
}
