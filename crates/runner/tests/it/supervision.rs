//! A task that ends though it is to go on is noticed, and the stop that follows keeps what it can.

use std::sync::Arc;
use std::time::Duration;

use punctual_model::inspect::Inspection;
use punctual_runner::{Failure, Inspector, InspectorSettings, Supervisor};
use punctual_store::Agenda;
use tracing::Level;

use crate::captured::Captured;
use crate::trouble::Troubled;
use crate::world::{World, at, once};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

async fn failure(supervisor: &Supervisor) -> Failure {
    tokio::time::timeout(LONG, supervisor.failed()).await.expect("it is noticed")
}

fn panicking(world: &World, call: &'static str) -> Arc<Troubled> {
    let store = Troubled::new(world, 0, 0, 0);
    *store.panics.lock().unwrap() = Some(call);
    store
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_the_runner_that_panics_is_noticed_whichever_it_is() {
    let check = async |call: &'static str, task: &'static str| {
        let world = World::watched(10).await;
        world.put("ok", once("ok", 0)).await;
        // Housekeeping has some patience with a clock that was just looked at for the first time.
        world.clock.pass(3_600);
        let supervisor = Supervisor::default();
        let running = world.runner_on(panicking(&world, call)).supervised(&supervisor).start().unwrap();
        let expected = Failure { task, cause: "it panicked: as the test says".to_owned() };
        assert_eq!(failure(&supervisor).await, expected);
        running.stop().await;
    };
    check("claim", "claimer").await;
    check("begin", "launcher").await;
    check("settle", "recorder").await;
    check("prune", "housekeeper").await;
    check("held", "clock watcher").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_the_inspector_that_panics_is_noticed_and_told_by_its_report() {
    let check = async |call: &'static str, task: &str| {
        let world = World::new().await;
        let supervisor = Supervisor::default();
        let clock = Arc::clone(&world.clock);
        let status = Some(world.runner().status());
        let inspector = Inspector::new(panicking(&world, call), clock, status, InspectorSettings::default());
        let inspector = Arc::new(inspector.supervised(&supervisor));
        assert_eq!(inspector.failure(), None);
        let inspecting = inspector.start();
        failure(&supervisor).await;
        let told = format!("the {task} ended: it panicked: as the test says");
        assert_eq!((inspector.failure(), inspector.report().failure), (Some(told.clone()), Some(told)));
        inspecting.stop().await;
    };
    check("held", "inspector").await;
    check("extent", "walk of the inspector").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_recorder_had_in_hand_when_it_panicked_is_recorded_by_the_stop() {
    let world = World::new().await;
    for name in ["ok", "hang"] {
        world.put(name, once(name, 0)).await;
    }
    let supervisor = Supervisor::default();
    let running = world.runner_on(panicking(&world, "settle")).supervised(&supervisor).start().unwrap();
    assert_eq!(failure(&supervisor).await.task, "recorder");
    world.target.wait_for(2).await;
    assert_eq!(world.history("ok").await, []);
    let stopping = tokio::spawn(running.stop());
    world.target.let_go(1);
    stopping.await.unwrap();
    for name in ["ok", "hang"] {
        assert_eq!(world.history(name).await.len(), 1, "{name} was fired, so it is recorded");
    }
    assert_eq!(world.target.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_under_way_when_the_launcher_panicked_are_recorded_by_the_stop() {
    let world = World::new().await;
    world.put("hang", once("hang", 0)).await;
    let store = Troubled::new(&world, 0, 0, 0);
    let supervisor = Supervisor::default();
    let running = world.runner_on(store.clone()).supervised(&supervisor).start().unwrap();
    world.target.wait_for(1).await;
    *store.panics.lock().unwrap() = Some("begin");
    world.put("ok", once("ok", 0)).await;
    assert_eq!(failure(&supervisor).await.task, "launcher");
    let stopping = tokio::spawn(running.stop());
    world.target.let_go(1);
    stopping.await.unwrap();
    assert_eq!(world.history("hang").await.len(), 1);
    assert_eq!(world.target.names(), ["hang"]);
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(0)), "what was not begun is given back");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_claimer_held_when_it_panicked_is_given_back_by_the_stop() {
    let world = World::new().await;
    world.put("ok", once("ok", 60)).await;
    world.clock.set(at(60) - jiff::SignedDuration::from_millis(500));
    let store = Troubled::new(&world, 0, 0, 0);
    let supervisor = Supervisor::default();
    let running = world.runner_on(store.clone()).supervised(&supervisor).start().unwrap();
    world.wait_until_claimed().await;
    // It looks at the agenda every second, whatever happens.
    *store.panics.lock().unwrap() = Some("claim");
    assert_eq!(failure(&supervisor).await.task, "claimer");
    running.stop().await;
    assert_eq!(world.store.next_due(&[]).await.unwrap(), Some(at(60)));
    assert_eq!(world.target.names(), [""; 0]);
}

#[tokio::test]
async fn a_failure_is_logged_with_its_cause() {
    let world = World::new().await;
    world.put("ok", once("ok", 0)).await;
    let log = Captured::from(Level::ERROR);
    let runner = world.runner_on(panicking(&world, "claim"));
    let mut steps = runner.steps();
    steps.tick().await;
    let said = log.lines().join("\n");
    assert!(said.contains("a task ended that must go on") && said.contains("claimer"), "{said}");
    assert!(said.contains("it panicked: as the test says"), "{said}");
}

#[tokio::test]
async fn a_lane_that_panicked_does_nothing_until_the_stop() {
    let world = World::new().await;
    world.put("ok", once("ok", 0)).await;
    let runner = world.runner_on(panicking(&world, "settle"));
    let mut steps = runner.steps();
    assert_eq!(steps.failure(), None);
    steps.tick().await;
    assert_eq!(steps.failure().map(|failure| failure.task), Some("recorder"));
    steps.pass(Duration::from_secs(60));
    steps.tick().await;
    assert_eq!(world.history("ok").await, []);
    runner.begin_stop();
    steps.run().await;
    assert_eq!(world.history("ok").await.len(), 1);
}
