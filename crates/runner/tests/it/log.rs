//! What the log says about attempts.

use jiff::SignedDuration;
use tracing::Level;

use crate::captured::Captured;
use crate::world::{World, at, minutely, once};

/// Fires one that succeeds and one that fails, a quarter of a second late.
async fn two_attempts(level: Level) -> (World, Vec<String>) {
    let captured = Captured::from(level);
    let world = World::new().await;
    world.put("ok", once("ok", 0)).await;
    world.put("fail", minutely("fail", 0)).await;
    world.clock.set(at(0) + SignedDuration::from_millis(250));
    let running = world.runner().start().unwrap();
    world.wait_for_records("ok", 1).await;
    world.wait_for_records("fail", 1).await;
    running.stop().await;
    let lines = captured.lines();
    (world, lines)
}

#[tokio::test]
async fn a_failed_attempt_is_one_line_at_info_that_holds_nothing_of_the_request_or_the_answer() {
    let (world, lines) = two_attempts(Level::INFO).await;
    let [line] = &lines[..] else { panic!("one line was expected, not {lines:?}") };
    let job = world.job("fail").await;
    let seen = world.target.seen().into_iter().find(|seen| seen.job == "fail").unwrap();
    for part in [
        "INFO",
        "an attempt failed",
        &format!("job={} ", job.id.0),
        "name=c/fail ",
        &format!("tag={} ", seen.tag),
        &format!("request=\"{}\" ", seen.request),
        "outcome=\"failed\"",
        "kind=Scripted",
        "late_ms=250",
    ] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    for secret in ["http", "example", "scripted"] {
        assert!(!line.contains(secret), "{secret} is in {line}");
    }
}

#[tokio::test]
async fn each_attempt_is_one_line_at_debug() {
    let (_, lines) = two_attempts(Level::DEBUG).await;
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!((count("an attempt succeeded"), count("an attempt failed")), (1, 1), "{lines:?}");
}
