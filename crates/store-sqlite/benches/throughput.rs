//! How many writes, reads and firings a second the store takes.
//!
//! `cargo bench -p punctual-store-sqlite [-- --jobs 100000]` prints one line for each workload. It is
//! no criterion bench: what is asked is what many tasks get out of it together, durably.

#![allow(clippy::unwrap_used, reason = "a bench that can't set up should stop")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use jiff::SignedDuration;
use punctual_model::{Collection, Entry, RandomSource, RecordStatus};
use punctual_store::conformance::world::{World, a_collection, a_job, a_record, at, settlement};
use punctual_store::{ClaimAsk, KeyRing, Settled, Vault, codec};
use punctual_store_sqlite::{Options, SqliteStore};
use tokio::task::JoinSet;

struct Counting(AtomicU64);

impl RandomSource for Counting {
    fn random(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

fn argument(name: &str, default: usize) -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1).map_or(default, |value| value.parse().unwrap())
}

/// When something began, and how much of the processors the process had used by then.
struct Since {
    at: Instant,
    cpu_seconds: f64,
}

#[expect(clippy::disallowed_methods, reason = "this measures")]
fn now() -> Since {
    Since { at: Instant::now(), cpu_seconds: cpu_seconds() }
}

impl Since {
    fn elapsed(&self) -> std::time::Duration {
        self.at.elapsed()
    }
}

/// User and system time of all threads; on a shared machine it says more than the clock on the wall.
fn cpu_seconds() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_A_SECOND
}

#[expect(clippy::needless_pass_by_value, reason = "it ends here")]
fn report(what: &str, count: usize, since: Since) {
    let seconds = since.elapsed().as_secs_f64();
    let cpu_micros = (cpu_seconds() - since.cpu_seconds) * 1e6 / count as f64;
    println!(
        "{what:<40} {:>9.0}/s   ({count} in {seconds:.2} s, {cpu_micros:.1} us of processor each)",
        count as f64 / seconds
    );
}

fn open(dir: &std::path::Path) -> SqliteStore {
    let random = Counting(AtomicU64::new(1));
    let vault = Arc::new(Vault::new(&KeyRing::generate(&random)));
    SqliteStore::open(Options::new(dir, vault, Arc::new(random))).unwrap()
}

#[tokio::main]
async fn main() {
    let jobs = argument("--jobs", 50_000);
    let dir = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let world = World::new(Arc::new(open(dir.path())));
    let mut collections = Vec::new();
    for number in 0..jobs.div_ceil(1_000) {
        collections.push(world.put_collection(a_collection(&format!("c{number}"))).await.unwrap());
    }
    let collections: Arc<[Collection]> = collections.into();
    decode();
    put(&world, &collections, jobs, 16).await;
    read(&world, &collections, jobs, 4).await;
    read(&world, &collections, jobs, 32).await;
    for batch in [100, 1_000] {
        fire(&world, jobs, batch).await;
    }
    edit(&world, &collections, jobs).await;
    drop(world);
    let since = now();
    let world = World::new(Arc::new(open(dir.path())));
    world.store.next_due(&[]).await.unwrap();
    println!("open and find the next due time: {:?}", since.elapsed());
    memory();
}

/// What a job costs each time it is read: its document, with one secret.
fn decode() {
    let random = Counting(AtomicU64::new(1));
    let vault = Vault::new(&KeyRing::generate(&random));
    let mut job = a_job(a_collection("c").key.job("j"), None);
    std::sync::Arc::make_mut(&mut job.spec).recurrence =
        Some(punctual_recurrence::Rule::every(1, punctual_recurrence::Frequency::Minute));
    let queue = punctual_model::QueueMessage {
        storage_account: "account".to_owned(),
        queue_name: "queue".to_owned(),
        sas_token: punctual_model::Secret::new("?sv=2015-04-05&sig=0123456789abcdef0123456789abcdef"),
        message: "hello".to_owned(),
    };
    let kind = punctual_model::ActionKind::StorageQueue(queue);
    std::sync::Arc::make_mut(&mut job.spec).action.error_action =
        Some(Box::new(punctual_model::Action { kind, retry: None, error_action: None }));
    let stored = codec::encode_spec(&job.spec, job.id, &vault, &random);
    let count = 100_000;
    let since = now();
    for _ in 0..count {
        let spec = codec::decode_spec(&stored.document, stored.sealed.as_deref(), job.id, &vault);
        std::hint::black_box(spec.unwrap());
    }
    report("decode a definition with a secret", count, since);
    let since = now();
    for _ in 0..count {
        std::hint::black_box(codec::encode_spec(&job.spec, job.id, &vault, &random));
    }
    report("encode a definition with a secret", count, since);
}

fn key(collections: &[Collection], number: usize) -> punctual_model::JobKey {
    collections[number % collections.len()].key.job(format!("job-{number}"))
}

async fn put(world: &World, collections: &Arc<[Collection]>, jobs: usize, tasks: usize) {
    let since = now();
    let mut set = JoinSet::new();
    for task in 0..tasks {
        let (world, collections) = (world.clone(), collections.clone());
        set.spawn(async move {
            for number in (task..jobs).step_by(tasks) {
                let mut job = a_job(key(&collections, number), Some(at(0)));
                std::sync::Arc::make_mut(&mut job.spec).recurrence =
                    Some(punctual_recurrence::Rule::every(1, punctual_recurrence::Frequency::Minute));
                world.put_job(job, &collections[number % collections.len()]).await.unwrap();
            }
        });
    }
    set.join_all().await;
    report(&format!("create distinct jobs, {tasks} tasks"), jobs, since);
}

async fn read(world: &World, collections: &Arc<[Collection]>, jobs: usize, tasks: usize) {
    let count = 200_000;
    let since = now();
    let mut set = JoinSet::new();
    for task in 0..tasks {
        let (world, collections) = (world.clone(), collections.clone());
        set.spawn(async move {
            for number in 0..count / tasks {
                let number = (number * 7_919 + task * 31) % jobs;
                world.read(&key(&collections, number)).await;
            }
        });
    }
    set.join_all().await;
    report(&format!("read jobs, {tasks} tasks"), count, since);
}

/// Claims and settles all jobs some times over, claiming the next batch while the last is settled.
async fn fire(world: &World, jobs: usize, batch: usize) {
    let total = jobs.max(100_000);
    let mut done = 0;
    let since = now();
    let mut settling: Option<tokio::task::JoinHandle<Vec<Settled>>> = None;
    let (mut claiming, mut waiting) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
    while done < total {
        let started = now();
        let ask = ClaimAsk { until: at(1_000_000), limit: batch, full_targets: Vec::new() };
        let claims = world.store.claim(&ask).await.unwrap();
        claiming += started.elapsed();
        let fences: Vec<_> = claims.iter().map(|claim| claim.fence).collect();
        assert!(world.store.begin(&fences).await.unwrap().into_iter().all(|held| held));
        let settlements: Vec<_> = claims
            .iter()
            .map(|claim| {
                let entry = claim.job.progress.entry.unwrap();
                let next = entry.nominal_at + SignedDuration::from_secs(60);
                let mut decided = settlement(claim, RecordStatus::Completed, Some(next));
                decided.job.progress.entry = Some(Entry::scheduled(next));
                decided.records = vec![a_record(&claim.job, entry.nominal_at, RecordStatus::Completed)];
                decided.records[0].message = "Http Action - Response from host 'example.com': 'OK' Response Headers: Date: Mon, 09 Nov 2015 20:33:59 GMT\r\n Body: ok".to_owned();
                decided
            })
            .collect();
        done += settlements.len();
        let started = now();
        if let Some(settling) = settling.take() {
            assert!(settling.await.unwrap().iter().all(|settled| matches!(settled, Settled::Recorded)));
        }
        waiting += started.elapsed();
        let store = world.store.clone();
        settling = Some(tokio::spawn(async move { store.settle(settlements).await.unwrap() }));
    }
    if let Some(settling) = settling {
        settling.await.unwrap();
    }
    report(&format!("claim and settle, batches of {batch}"), done, since);
    println!("    of which waiting for claims {claiming:?}, for settlements {waiting:?}");
}

/// The slowest write while others go on: what a firing may have to wait for.
async fn edit(world: &World, collections: &Arc<[Collection]>, jobs: usize) {
    let mut waits = Vec::new();
    let total = now();
    for number in 0..2_000 {
        let number = (number * 7_919) % jobs;
        let job = world.read(&key(collections, number)).await;
        let since = now();
        world.put_job(job, &collections[number % collections.len()]).await.unwrap();
        waits.push(since.elapsed());
    }
    report("edit jobs one after another", waits.len(), total);
    waits.sort_unstable();
    println!("    median {:?}, 99% {:?}, slowest {:?}", waits[1_000], waits[1_980], waits[1_999]);
}

fn memory() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM")) {
        println!("{line}");
    }
}
