//! Mutated jobs never make the reader or the engine panic, hang or loop.
//!
//! A quick run is part of every test run; `PUNCTUAL_FUZZ_SECONDS` makes it longer (`scripts/test --long`).

use std::time::{Duration, Instant};

use jiff::Timestamp;
use punctual_arm::read_preview;
use punctual_recurrence::{Start, Timetable};

/// A small generator of its own, so that a seed says everything.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }
}

/// What is put in place of other things: edges of numbers, times and structure.
const MORSELS: [&str; 26] = [
    "0",
    "-1",
    "59",
    "60",
    "24",
    "31",
    "-31",
    "1000",
    "1001",
    "9223372036854775807",
    "1e308",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"Year\"",
    "\"minute\"",
    "\"Pacific/Apia\"",
    "\"Europe/Berlin\"",
    "\"9999-12-31T23:59:59.9999999Z\"",
    "\"0001-01-01T00:00:00\"",
    "\"-009999-01-02\"",
    "\"2011-12-30T12:00\"",
    ",",
    "\u{fffd}",
];

fn mutate(random: &mut Random, seed: &str) -> String {
    let mut bytes = seed.as_bytes().to_vec();
    for _ in 0..=random.below(2) {
        let at = random.below(bytes.len().max(1));
        // Mostly values: a member whose name is changed is refused before its value is looked at.
        match random.below(12) {
            0 if !bytes.is_empty() => bytes[at] = u8::try_from(random.below(256)).unwrap(),
            1 if !bytes.is_empty() => drop(bytes.drain(at..(at + random.below(12)).min(bytes.len()))),
            2 => drop(bytes.splice(at..at, MORSELS[random.below(MORSELS.len())].bytes())),
            _ => {
                // A value is replaced: from a colon or bracket to the next delimiter.
                let begin = bytes[at.min(bytes.len())..].iter().position(|b| b":[".contains(b));
                let Some(begin) = begin.map(|begin| at + begin + 1) else { continue };
                let length = bytes[begin..].iter().position(|b| b",]}".contains(b)).unwrap_or(0);
                bytes.splice(begin..begin + length, MORSELS[random.below(MORSELS.len())].bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn try_out(document: &str) -> bool {
    let Ok(value) = serde_json::from_str(document) else { return false };
    let Ok(job) = read_preview(&value) else { return false };
    let put_at = job.now.unwrap_or(Timestamp::UNIX_EPOCH);
    let start = Start { start_at: job.start_at, put_at };
    let timetable = match &job.rule {
        None => Timetable::once(start),
        Some(rule) => rule.check().expect("what was read was checked").timetable(start),
    };
    let _ = timetable.describe();
    let mut last = None;
    for at in timetable.occurrences().take(5) {
        assert!(last.is_none_or(|last| last < at), "{document}: {at} follows {last:?}");
        assert!(timetable.contains(at), "{document}: {at}");
        let _ = timetable.clock_note(at);
        last = Some(at);
    }
    true
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the length of a fuzzing run is real time")]
fn fuzzed_jobs_never_panic_and_answer_in_order() {
    let seconds = std::env::var_os("PUNCTUAL_FUZZ_SECONDS").and_then(|text| text.to_str()?.parse().ok());
    let seeds: Vec<&str> = include_str!("../../../recurrence/vectors/recurrence_utc.jsonl")
        .lines()
        .chain(include_str!("../../../recurrence/vectors/recurrence_zones.jsonl").lines())
        .map(|line| line.split(", \"occurrences\"").next().unwrap())
        .collect();
    let begin = Instant::now();
    let seed = seconds.map_or(0x5eed, |_: u64| u64::from(std::process::id()) << 17 | 1);
    let mut random = Random(seed);
    let (mut tried, mut valid) = (0u64, 0u64);
    let mut slowest = Duration::ZERO;
    while seconds.map_or(tried < 20_000, |seconds| begin.elapsed() < Duration::from_secs(seconds)) {
        let seed_line = seeds[random.below(seeds.len())];
        let document = mutate(&mut random, &format!("{seed_line}}}"));
        let one = Instant::now();
        let outcome = std::panic::catch_unwind(|| try_out(&document));
        slowest = slowest.max(one.elapsed());
        assert!(one.elapsed() < Duration::from_secs(5), "took {:?}: {document}", one.elapsed());
        match outcome {
            Ok(was_valid) => valid += u64::from(was_valid),
            Err(_) => panic!("seed {seed}: {document}"),
        }
        tried += 1;
    }
    println!("{tried} documents, {valid} of them valid, the slowest took {slowest:?}");
    assert!(
        valid * 20 > tried,
        "only {valid} of {tried} were valid: the mutations are too wild to find much"
    );
}
