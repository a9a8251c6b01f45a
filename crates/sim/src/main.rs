//! `punctual-sim`: plays the histories of many seeds, or one again.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use punctual_sim::{
    Backing, COVERED_EVENTS, Coverage, Op, PlayResult, history, play_on_each, print_test, shrink,
};

/// One seed in so many is played with leases as well.
const LEASED_EVERY: u64 = 4;

/// This many histories must cover every event, or they prove little.
const SEEDS_ENOUGH: u64 = 1_000;

/// Plays histories full of faults and judges what became of every occurrence.
#[derive(Parser)]
struct Options {
    /// How many seeds to play.
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Play this seed alone, and show its history.
    #[arg(long)]
    seed: Option<u64>,
    /// Play new seeds for so many seconds instead.
    #[arg(long)]
    seconds: Option<u64>,
    /// One seed in so many is played on SQLite as well; none if 0.
    #[arg(long, default_value_t = 4)]
    sqlite_every: u64,
    /// How many threads play.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Print all failures, shrunk, instead of stopping at the first.
    #[arg(long)]
    keep_going: bool,
}

impl Options {
    fn backings(&self, seed: u64) -> &'static [Backing] {
        match seed.checked_rem(self.sqlite_every) {
            Some(0) => &[Backing::Memory, Backing::Sqlite],
            Some(_) | None if seed % LEASED_EVERY == 1 => &[Backing::Memory, Backing::Leased],
            Some(_) | None => &[Backing::Memory],
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    // A panic is reported with its history.
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(seed) = options.seed {
        let ops = history(seed);
        ops.iter().enumerate().for_each(|(at, op)| println!("{at:4} {op:?}"));
        return match play_on_each(&ops, &[Backing::Memory, Backing::Leased, Backing::Sqlite]) {
            PlayResult::Right(ending) => {
                println!("seed {seed}: right, {} simulated", span(ending.elapsed.as_secs_f64()));
                ExitCode::SUCCESS
            }
            PlayResult::Wrong { .. } => {
                tell(seed, &ops);
                ExitCode::FAILURE
            }
        };
    }
    play_many(&options)
}

#[expect(clippy::disallowed_methods, reason = "how fast histories are played is measured in real time")]
fn play_many(options: &Options) -> ExitCode {
    let began = Instant::now();
    let limit = options.seconds.map(Duration::from_secs);
    let (next, played, elapsed_ms) = (AtomicU64::new(options.from), AtomicU64::new(0), AtomicU64::new(0));
    let failed = AtomicBool::new(false);
    let coverage = Mutex::new(Coverage::new());
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let over = match limit {
                        Some(limit) => began.elapsed() > limit,
                        None => seed >= options.from.saturating_add(options.seeds),
                    };
                    if over || (failed.load(Ordering::Relaxed) && !options.keep_going) {
                        return;
                    }
                    let ops = history(seed);
                    match play_on_each(&ops, options.backings(seed)) {
                        PlayResult::Right(ending) => {
                            let ms = u64::try_from(ending.elapsed.as_millis()).unwrap_or(0);
                            elapsed_ms.fetch_add(ms, Ordering::Relaxed);
                            let mut all = coverage.lock().expect("nobody panics with the coverage");
                            for (what, count) in ending.coverage {
                                *all.entry(what).or_default() += count;
                            }
                        }
                        PlayResult::Wrong { .. } => {
                            failed.store(true, Ordering::Relaxed);
                            tell(seed, &ops);
                        }
                    }
                    played.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (real, played) = (began.elapsed().as_secs_f64(), played.into_inner());
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let simulated = elapsed_ms.into_inner() as f64 / 1_000.0;
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let rate = played as f64 / real;
    println!(
        "{played} seeds from {} in {real:.1} s: {rate:.0} a second; {} simulated, {} a second",
        options.from,
        span(simulated),
        span(simulated / real)
    );
    let blind = print_coverage(&coverage.into_inner().expect("nobody panics with the coverage"));
    let enough = played >= SEEDS_ENOUGH && options.from == 0;
    if failed.into_inner() || (blind && enough) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Prints the coverage; returns whether something was not covered.
fn print_coverage(coverage: &Coverage) -> bool {
    let count = |what: &str| coverage.get(what).copied().unwrap_or(0);
    COVERED_EVENTS.iter().for_each(|what| println!("{:8} times {what}", count(what)));
    let unseen: Vec<_> = COVERED_EVENTS.iter().filter(|what| count(what) == 0).collect();
    unseen.iter().for_each(|what| println!("never seen: {what}"));
    !unseen.is_empty()
}

/// Prints what is wrong with a seed, with a short history that shows it.
fn tell(seed: u64, ops: &[Op]) {
    let on_memory = play_on_each(ops, &[Backing::Memory]).wrong();
    let backings: &[Backing] =
        if on_memory { &[Backing::Memory] } else { &[Backing::Memory, Backing::Leased, Backing::Sqlite] };
    let short = shrink(ops, |ops| play_on_each(ops, backings).wrong());
    let PlayResult::Wrong { backing, at, problems } = play_on_each(&short, backings) else {
        println!("seed {seed}: fails at times only; something is not deterministic");
        return;
    };
    println!(
        "seed {seed} on {backing:?}: wrong after operation {at} of {} (from {}):",
        short.len(),
        ops.len()
    );
    problems.iter().for_each(|problem| println!("  {problem}"));
    println!("{}", print_test(&short, &problems));
}

fn span(seconds: f64) -> String {
    let years = seconds / (365.25 * 86_400.0);
    if years >= 1.0 { format!("{years:.1} years") } else { format!("{:.1} days", seconds / 86_400.0) }
}
