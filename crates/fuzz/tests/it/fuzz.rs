//! Inputs that were kept, changed a little: without a fuzzer, and the same ones each time.

use punctual_arm::read_preview;
use punctual_fuzz::{TARGETS, target};

use crate::corpus::inputs;

/// A small generator of its own, so that a seed says everything.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % limit.max(1)
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

fn mutate(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(2) {
        let at = random.below(bytes.len());
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
    bytes
}

/// Runs a target, and shows the input that does not hold.
fn hold(name: &str, bytes: &[u8]) {
    let target = target(name).unwrap();
    let outcome = std::panic::catch_unwind(|| (target.run)(bytes));
    assert!(outcome.is_ok(), "{name}: {:?}", String::from_utf8_lossy(bytes));
}

#[test]
fn inputs_that_are_changed_a_little_hold() {
    for target in TARGETS {
        // Each of these is a connection.
        let count = if ["amqp", "http_answer"].contains(&target.name) { 200 } else { 2_000 };
        let (inputs, mut random) = (inputs(target.name), Random(0x5eed));
        for _ in 0..count {
            let (_, seed) = &inputs[random.below(inputs.len())];
            hold(target.name, &mutate(&mut random, seed));
        }
    }
}

#[test]
fn changed_recurrences_of_the_vectors_hold() {
    let seeds: Vec<String> = include_str!("../../../recurrence/vectors/recurrence_utc.jsonl")
        .lines()
        .chain(include_str!("../../../recurrence/vectors/recurrence_zones.jsonl").lines())
        .map(|line| format!("{}}}", line.split(", \"occurrences\"").next().unwrap()))
        .collect();
    let mut random = Random(0x5eed);
    let (count, mut valid) = (20_000, 0);
    for _ in 0..count {
        let seed = &seeds[random.below(seeds.len())];
        let document = mutate(&mut random, seed.as_bytes());
        hold("recurrence", &document);
        valid +=
            usize::from(serde_json::from_slice(&document).is_ok_and(|value| read_preview(&value).is_ok()));
    }
    assert!(
        valid * 20 > count,
        "only {valid} of {count} were valid: the mutations are too wild to find much"
    );
}
