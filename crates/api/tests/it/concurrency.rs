//! Many callers at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::FutureExt;
use jiff::SignedDuration;
use serde_json::json;
use tokio::task::JoinSet;

use crate::world::{World, job};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_puts_never_exceed_the_quota() {
    let world = Arc::new(World::empty());
    let body = json!({"location": "West US", "properties": {"quota": {"maxJobCount": 10}}});
    world.put("Jc", body).await.is(201);
    let mut puts = JoinSet::new();
    for number in 0..100 {
        let world = world.clone();
        puts.spawn(async move { world.put(&format!("Jc/jobs/j{number}"), job(json!({}))).await.status });
    }
    let statuses = puts.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 10);
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 90);
    assert_eq!(world.get("Jc/jobs").await.names().len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_puts_make_one_free_collection() {
    let world = Arc::new(World::empty());
    let mut puts = JoinSet::new();
    for number in 0..20 {
        let world = world.clone();
        let body = json!({"location": "West US", "properties": {"sku": {"name": "Free"}}});
        puts.spawn(async move { world.put(&format!("c{number}"), body).await.status });
    }
    let statuses = puts.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_patches_lose_nothing() {
    let world = Arc::new(World::new().await);
    world.put_job("one", json!({})).await.is(201);
    let mut patches = JoinSet::new();
    for number in 0..40 {
        let world = world.clone();
        let headers = json!({format!("h{number}"): "v"});
        let body = json!({"properties": {"action": {"request": {"headers": headers}}}});
        patches.spawn(async move { world.patch("Jc/jobs/one", body).await.status });
    }
    assert_eq!(patches.join_all().await, [200; 40]);
    let after = world.get("Jc/jobs/one").await;
    assert_eq!(after.properties()["action"]["request"]["headers"].as_object().unwrap().len(), 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_switch_of_the_collection_misses_no_job_that_is_put_meanwhile() {
    let world = Arc::new(World::new().await);
    let mut calls = JoinSet::new();
    for number in 0..40 {
        let world = world.clone();
        calls.spawn(async move {
            match number % 8 {
                0 => world.post("Jc/disable").await.status,
                4 => world.post("Jc/enable").await.status,
                _ => world.put(&format!("Jc/jobs/j{number}"), job(json!({}))).await.status,
            }
        });
    }
    assert!(calls.join_all().await.into_iter().all(|status| status < 300));
    world.post("Jc/disable").await.is(200);
    assert_eq!(world.fire(true).await, 0);
    world.post("Jc/enable").await.is(200);
    world.advance(SignedDuration::from_secs(1));
    assert_eq!(world.fire(true).await, 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_collection_whose_jobs_always_fire_is_disabled_and_enabled_at_once() {
    const JOBS: usize = 300;
    let world = Arc::new(World::empty());
    let body = json!({"location": "West US", "properties": {"sku": {"name": "P20Premium"}}});
    world.put("Jc", body).await.is(201);
    for number in 0..JOBS {
        world.put_job(&format!("j{number}"), json!({"recurrence": {"frequency": "minute"}})).await.is(201);
    }
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let firing = std::thread::spawn({
        let (world, stop, count) = (Arc::clone(&world), Arc::clone(&stop), Arc::clone(&count));
        move || world.fire_on(&stop, &count).now_or_never()
    });
    for _ in 0..3 {
        world.advance(SignedDuration::from_mins(1));
        let before = count.load(Ordering::Relaxed);
        while count.load(Ordering::Relaxed) == before {
            assert!(!firing.is_finished(), "something fires meanwhile");
            tokio::task::yield_now().await;
        }
        world.post("Jc/disable").await.is(200);
        assert_eq!(world.get("Jc").await.properties()["state"], "Disabled");
        world.advance(SignedDuration::from_mins(1));
        world.post("Jc/enable").await.is(200);
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(firing.join().unwrap(), Some(()));
}
