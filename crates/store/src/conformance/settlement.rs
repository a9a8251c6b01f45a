//! What became of a claim: written once, as it was decided.

#![expect(missing_docs, reason = "the names are the claims")]

use std::sync::Arc;

use punctual_model::{Cause, Entry, JobState, OccurrenceRange, Progress, RecordStatus};

use super::world::{MANY, World, a_record, a_skip, at, http, refusal, settlement};
use crate::{Refusal, Settled, Store};

pub async fn a_settlement_is_recorded(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    let mut decided = settlement(&claim, RecordStatus::Failed, None);
    let retry =
        Entry { nominal_at: at(0), due_at: at(31), cause: Cause::Schedule, step: 1, attempt: 2, ordinal: 3 };
    decided.job.progress = Progress {
        entry: Some(retry),
        floor_at: Some(at(60)),
        drop_count: 8,
        runs: vec![at(4)],
        last_run_at: Some(at(5)),
        past_at: Some(at(0)),
        started_count: 5,
        last_failed: true,
        ended_at: Some(at(6)),
        ahead: vec![
            OccurrenceRange { first_at: at(70), last_at: at(70) },
            OccurrenceRange { first_at: at(80), last_at: at(99) },
        ],
    };
    decided.job.state = JobState::Faulted;
    decided.job.counters.faulted = 7;
    let mut postponed = a_record(&job, at(0), RecordStatus::Postponed);
    postponed.message = "waited \u{0} ü".to_owned();
    decided.records.push(postponed);
    decided.skips = vec![a_skip(&job, 1, 2, 3)];
    let records = decided.records.clone();
    let mut expected = decided.job.clone();
    let skips = decided.skips.clone();
    assert!(matches!(world.settle(decided).await, Settled::Recorded));

    let read = world.read(&job.key).await;
    assert!(read.revision > job.revision);
    expected.revision = read.revision;
    assert_eq!(read, expected);
    let mut stored: Vec<_> = world.history(job.id).await.into_iter().map(|stored| stored.record).collect();
    stored.reverse();
    assert_eq!(stored, records);
    assert_eq!(world.store.skips(job.id, at(0), at(9), MANY).await.unwrap(), skips);
    assert_eq!(world.claim(at(30), MANY).await.len(), 0);
    assert_eq!(world.claim(at(31), MANY).await[0].job, read);
}

pub async fn a_settlement_writes_no_definition(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    let mut decided = settlement(&claim, RecordStatus::Completed, None);
    std::sync::Arc::make_mut(&mut decided.job.spec).action = http("http://elsewhere/");
    decided.job.key = collection.key.job("other");
    decided.job.generation = 9;
    decided.job.put_at = at(99);
    assert!(matches!(world.settle(decided).await, Settled::Recorded));
    let read = world.read(&job.key).await;
    assert_eq!((read.spec, read.generation, read.put_at), (job.spec, 1, at(0)));
}

pub async fn a_settlement_makes_edits_stale(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    world.run(&claim, RecordStatus::Completed, Some(at(1))).await;
    assert_eq!(refusal(world.put_job(job, &collection).await), Refusal::Stale);
}

pub async fn a_second_settlement_is_lost(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    let decided = settlement(&claim, RecordStatus::Completed, Some(at(1)));
    let mut again = decided.clone();
    again.records = vec![a_record(&job, at(5), RecordStatus::Failed)];
    let settled = world.store.settle(vec![decided, again.clone()]).await.unwrap();
    assert!(matches!(settled[..], [Settled::Recorded, Settled::Lost]), "{settled:?}");
    assert!(matches!(world.settle(again).await, Settled::Lost));
    assert_eq!(world.history(job.id).await.len(), 1);
    assert_eq!(world.read(&job.key).await.counters.execution, 1);
}

pub async fn a_settlement_after_an_edit_is_decided_again(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    let mut edit = claim.job.clone();
    edit.generation = 2;
    edit.progress = Progress::default();
    let mut edited = world.put_job(edit, &collection).await.unwrap();
    for _ in 0..2 {
        let settled = world.settle(settlement(&claim, RecordStatus::Completed, Some(at(1)))).await;
        let Settled::Changed(now, _) = settled else { panic!("{settled:?}") };
        assert_eq!(*now, edited);
        edited = world.put_job(*now, &collection).await.unwrap();
    }
    assert_eq!(world.history(edited.id).await, []);
    let mut decided = settlement(&claim, RecordStatus::Completed, None);
    decided.job = edited.clone();
    assert!(matches!(world.settle(decided).await, Settled::Recorded));
    assert_eq!(world.history(edited.id).await.len(), 1);
    assert_eq!(world.read(&edited.key).await.progress, Progress::default());
}

pub async fn a_settlement_of_a_deleted_job_leaves_nothing(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    world.store.delete_job(&job.key, None).await.unwrap();
    let anew = world.job(&collection, "j", at(0)).await;
    let decided = settlement(&claim, RecordStatus::Completed, Some(at(1)));
    assert!(matches!(world.settle(decided.clone()).await, Settled::Gone));
    assert!(matches!(world.settle(decided).await, Settled::Lost));
    assert_eq!(world.history(job.id).await, []);
    assert_eq!(world.history(anew.id).await, []);
    assert_eq!(world.claim(at(9), MANY).await[0].job, anew);
}

pub async fn each_settlement_has_its_own_answer(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    for (name, due) in [("recorded", 0), ("changed", 1), ("gone", 2), ("lost", 3), ("also", 4)] {
        world.job(&collection, name, at(due)).await;
    }
    let claims = world.claim(at(9), MANY).await;
    let fences: Vec<_> = claims.iter().map(|claim| claim.fence).collect();
    world.store.begin(&fences).await.unwrap();
    world.put_job(claims[1].job.clone(), &collection).await.unwrap();
    world.store.delete_job(&claims[2].job.key, None).await.unwrap();
    world.store.release(&[fences[3]]).await.unwrap();
    let decided = |claim| settlement(claim, RecordStatus::Completed, None);
    let settled = world.store.settle(claims.iter().map(decided).collect()).await.unwrap();
    assert!(
        matches!(
            settled[..],
            [Settled::Recorded, Settled::Changed(..), Settled::Gone, Settled::Lost, Settled::Recorded]
        ),
        "{settled:?}"
    );
    for (claim, count) in claims.iter().zip([1, 0, 0, 0, 1]) {
        assert_eq!(world.history(claim.job.id).await.len(), count, "{}", claim.job.key.name);
    }
    assert_eq!(world.store.settle(Vec::new()).await.unwrap().len(), 0);
}

pub async fn an_attempt_is_recorded_once(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let first = a_record(&job, at(0), RecordStatus::Completed);
    let mut same = first.clone();
    same.status = RecordStatus::Failed;
    same.started_at = at(7);
    world.record(&job.key, vec![first.clone(), same.clone()], Vec::new()).await;
    world.record(&job.key, vec![same], Vec::new()).await;
    let history = world.history(job.id).await;
    assert_eq!(history.iter().map(|stored| &stored.record).collect::<Vec<_>>(), [&first]);

    let mut others = vec![first.clone(); 6];
    others[0].generation = 2;
    others[1].cause = Cause::Run;
    others[2].step = 1;
    others[3].attempt = 1;
    others[4].nominal_at = at(1);
    others[5].status = RecordStatus::Postponed;
    world.record(&job.key, others, Vec::new()).await;
    assert_eq!(world.history(job.id).await.len(), 7);
}

pub async fn a_job_without_a_next_entry_rests(store: Arc<dyn Store>) {
    let world = World::new(store);
    let collection = world.collection("c").await;
    let job = world.job(&collection, "j", at(0)).await;
    let claim = world.begun(at(0)).await;
    let mut decided = settlement(&claim, RecordStatus::Completed, None);
    decided.job.state = JobState::Completed;
    decided.job.progress.ended_at = Some(at(1));
    assert!(matches!(world.settle(decided).await, Settled::Recorded));
    assert_eq!(world.store.next_due(&[]).await.unwrap(), None);
    assert_eq!(world.claim(at(999_999), MANY).await.len(), 0);
    assert_eq!(world.read(&job.key).await.state, JobState::Completed);
}
