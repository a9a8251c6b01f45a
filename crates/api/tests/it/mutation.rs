//! Requests that are nearly right: bodies in which a few values were replaced.

/// A small generator of its own, so that a seed says everything.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % limit.max(1)
    }

    pub(crate) fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Values that ask for much: edges of numbers and times, long lists, deep nesting.
pub(crate) fn morsels() -> Vec<String> {
    let numbers: Vec<String> = (0..60).map(|number| number.to_string()).collect();
    let mut morsels: Vec<String> = [
        "0",
        "-1",
        "1",
        "78",
        "1000",
        "9223372036854775807",
        "1e308",
        "null",
        "true",
        "[]",
        "{}",
        "\"\"",
        "\"Year\"",
        "\"minute\"",
        "\"Europe/Berlin\"",
        "\"9999-12-31T23:59:59Z\"",
        "\"0001-01-01\"",
        "\"P1D\"",
        "********",
    ]
    .map(str::to_owned)
    .to_vec();
    morsels.push(format!("[{}]", numbers.join(",")));
    morsels.push(format!("\"{}\"", "x".repeat(20_000)));
    morsels.push(format!("\"{}\"", "\\u00e4".repeat(5_000)));
    morsels.push("[".repeat(120) + &"]".repeat(120));
    morsels
        .push(format!("{{{}}}", (0..2_000).map(|n| format!("\"m{n}\":{n}")).collect::<Vec<_>>().join(",")));
    morsels.push(format!("[{}]", vec!["1"; 20_000].join(",")));
    morsels
}

/// Changes a few places of a text: mostly values of JSON, which say more than names.
pub(crate) fn mutate(random: &mut Random, seed: &str, morsels: &[String]) -> Vec<u8> {
    let mut bytes = seed.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(10) {
            0 if !bytes.is_empty() => bytes[at] = u8::try_from(random.below(256)).unwrap(),
            1 if !bytes.is_empty() => drop(bytes.drain(at..(at + random.below(12)).min(bytes.len()))),
            2 => drop(bytes.splice(at..at, random.of(morsels).bytes())),
            _ => {
                let Some(begin) = bytes[at..].iter().position(|byte| b":[".contains(byte)) else { continue };
                let begin = at + begin + 1;
                let length = bytes[begin..].iter().position(|byte| b",]}".contains(byte)).unwrap_or(0);
                bytes.splice(begin..begin + length, random.of(morsels).bytes());
            }
        }
    }
    bytes
}
