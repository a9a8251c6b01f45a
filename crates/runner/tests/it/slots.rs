//! A target that hangs costs its own slots and nobody else's, and so does a collection of many.

use punctual_store::Survey;

use crate::world::{World, at, once, tally};

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_hangs_does_not_stop_others() {
    // The second row: fewer slots than are claimed in one go.
    for (slots, per_target) in [(64, 4), (8, 2), (4, 3)] {
        let mut world = World::new().await;
        (world.settings.slots, world.settings.slots_per_target) = (slots, per_target);
        for index in 0..30 {
            let name = format!("hang-{index}");
            world.put(&name, once(&name, 0)).await;
        }
        let running = world.runner().start().unwrap();
        world.target.wait_for(per_target).await;
        for index in 0..30 {
            let name = format!("ok-{index}");
            world.put(&name, once(&name, 0)).await;
        }
        world.target.wait_for(per_target + 30).await;
        let hanging = world.target.names().iter().filter(|name| name.starts_with("hang")).count();
        assert_eq!(hanging, per_target, "{slots} slots");
        world.target.let_go(30);
        world.target.wait_for(60).await;
        world
            .wait_until("all have ended", async || {
                let mut ended = true;
                for index in 0..30 {
                    ended &= world.job(&format!("hang-{index}")).await.state.is_final();
                }
                ended
            })
            .await;
        running.stop().await;
        assert!(tally(world.target.names()).values().all(|&count| count == 1), "each of them once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_herd_larger_than_the_slots_is_fired_whole() {
    let mut world = World::new().await;
    (world.settings.slots, world.settings.slots_per_target) = (16, 16);
    for index in 0..500 {
        let name = format!("host{}-{index}", index % 40);
        world.put(&name, once(&name, 60)).await;
    }
    world.clock.set(at(59));
    let running = world.runner().start().unwrap();
    world.clock.set(at(60));
    world.target.wait_for(500).await;
    running.stop().await;
    let names = world.target.names();
    assert_eq!((names.len(), tally(names).len()), (500, 500));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_herd_that_is_claimed_ahead_leaves_slots_for_what_is_due_now() {
    let mut world = World::new().await;
    (world.settings.slots, world.settings.slots_per_target) = (16, 16);
    for index in 0..100 {
        let name = format!("herd-{index}");
        world.put(&name, once(&name, 60)).await;
    }
    world.clock.set(at(59));
    let running = world.runner().start().unwrap();
    let held = async || world.store.held().await.unwrap().len();
    world.wait_until("the herd is claimed ahead", async || held().await >= 12).await;
    // The clock stands still, so that no slot is freed by the herd.
    for index in 0..10 {
        let name = format!("now-{index}");
        world.put(&name, once(&name, 59)).await;
    }
    world.target.wait_for(10).await;
    assert!(world.target.names().iter().all(|name| name.starts_with("now")));
    world.wait_until("one slot in four is kept for what is due", async || held().await == 12).await;
    world.clock.set(at(60));
    world.target.wait_for(110).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_herd_that_hangs_gives_room_back_for_claiming_ahead() {
    let mut world = World::new().await;
    (world.settings.slots, world.settings.slots_per_target) = (64, 4);
    for index in 0..100 {
        let name = format!("hang-{index}");
        world.put(&name, once(&name, 60)).await;
    }
    world.clock.set(at(59));
    let running = world.runner().start().unwrap();
    let held = async || world.store.held().await.unwrap().len();
    world.wait_until("the herd is claimed ahead", async || held().await >= 48).await;
    world.clock.set(at(60));
    world.target.wait_for(4).await;
    world.wait_until("what waits for it is given back", async || held().await == 8).await;
    for index in 0..40 {
        let name = format!("ok-{index}");
        world.put(&name, once(&name, 61)).await;
    }
    // The clock stands still: they are not due.
    world.wait_until("others are claimed ahead", async || held().await == 48).await;
    world.clock.set(at(61));
    world.target.wait_for(44).await;
    world.target.let_go(100);
    world.target.wait_for(140).await;
    running.stop().await;
    assert!(tally(world.target.names()).values().all(|&count| count == 1), "each of them once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_whose_targets_all_hang_does_not_stop_others() {
    // The second row: its claims would take all slots.
    for (slots, per_collection) in [(64, 4), (24, 2)] {
        let mut world = World::new().await;
        (world.settings.slots, world.settings.slots_per_target) = (slots, slots);
        world.settings.slots_per_collection = per_collection;
        for index in 0..30 {
            // Each has a target of its own.
            let name = format!("hang{index}-x");
            world.put(&name, once(&name, 0)).await;
        }
        let running = world.runner().start().unwrap();
        world.target.wait_for(per_collection).await;
        world.use_another_collection("other").await;
        for index in 0..30 {
            let name = format!("ok{index}-x");
            world.put(&name, once(&name, 0)).await;
        }
        world.target.wait_for(per_collection + 30).await;
        let hanging = world.target.names().iter().filter(|name| name.starts_with("hang")).count();
        assert_eq!(hanging, per_collection, "{slots} slots");
        world.target.let_go(30);
        world.target.wait_for(60).await;
        running.stop().await;
        assert!(tally(world.target.names()).values().all(|&count| count == 1), "each of them once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_caps_of_targets_and_of_collections_hold_together() {
    let mut world = World::new().await;
    (world.settings.slots, world.settings.slots_per_target) = (256, 3);
    world.settings.slots_per_collection = 5;
    let running = world.runner().start().unwrap();
    for collection in ["one", "two", "three"] {
        world.use_another_collection(collection).await;
        for index in 0..40 {
            // Eight targets, which all collections call.
            let name = format!("host{}-{collection}-{index}", index % 8);
            world.put(&name, once(&name, 0)).await;
        }
    }
    world.target.wait_for(120).await;
    running.stop().await;
    assert!(tally(world.target.names()).values().all(|&count| count == 1), "each of them once");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_load_says_what_is_in_flight_what_waits_and_since_when() {
    let mut world = World::new().await;
    (world.settings.slots, world.settings.slots_per_target) = (16, 1);
    for (name, due) in [("hang-0", 0), ("hang-1", 10), ("hang-2", 20)] {
        world.put(name, once(name, due)).await;
    }
    world.clock.set(at(30));
    let runner = world.runner();
    let status = runner.status();
    let idle = status.load();
    assert_eq!((idle.slot_count_max, idle.claim_count, idle.oldest_due_at), (16, 0, None));
    let running = runner.start().unwrap();
    world.target.wait_for(1).await;
    world.wait_until("two wait", async || status.load().waiting_count == 2).await;
    let load = status.load();
    assert_eq!((load.in_flight_count, load.parked_count, load.unrecorded_count), (1, 2, 0), "{load:?}");
    assert_eq!((load.claim_count, load.oldest_due_at), (3, Some(at(10))), "{load:?}");
    world.target.let_go(3);
    for name in ["hang-0", "hang-1", "hang-2"] {
        world.wait_for_records(name, 1).await;
    }
    world.wait_until("all is recorded", async || status.load() == idle).await;
    running.stop().await;
}
