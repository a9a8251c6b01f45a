//! Looks at the sizes of the frames that a broker sends, before the AMQP library reads them.
//!
//! The library takes it for granted that a frame has the eight bytes of its header, and panics otherwise. A size that
//! can't be true is an error of the stream instead, so that it is a failure of the attempt like any other.

use std::io;

/// The bytes of a frame's header, its size among them; also those of a protocol header.
const HEADER_LENGTH: u32 = 8;

/// The bytes of a size.
const SIZE_LENGTH: usize = 4;

/// How a protocol header begins, which comes where a frame could. As a size it would be more than a gigabyte.
const PROTOCOL: [u8; SIZE_LENGTH] = *b"AMQP";

/// Follows a stream of frames.
#[derive(Debug, Default)]
pub(super) struct FrameGuard {
    size: [u8; SIZE_LENGTH],
    /// How many bytes of the size were seen.
    size_seen: usize,
    /// How many bytes of the frame are to come after its size.
    rest: usize,
}

impl FrameGuard {
    /// Looks at the next bytes of the stream.
    pub(super) fn check(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let skipped = self.rest.min(bytes.len());
            self.rest -= skipped;
            bytes = &bytes[skipped..];
            let Some((first, others)) = bytes.split_first() else { break };
            self.size[self.size_seen] = *first;
            self.size_seen += 1;
            bytes = others;
            if self.size_seen == SIZE_LENGTH {
                self.size_seen = 0;
                self.rest = self.rest_of_frame()?;
            }
        }
        Ok(())
    }

    fn rest_of_frame(&self) -> io::Result<usize> {
        let size = if self.size == PROTOCOL { HEADER_LENGTH } else { u32::from_be_bytes(self.size) };
        if size < HEADER_LENGTH {
            let message =
                format!("the broker sent a frame of {size} bytes, and the shortest has {HEADER_LENGTH}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(size as usize - SIZE_LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &[u8] = b"AMQP\x03\x01\x00\x00\x00\x00\x00\x08\x02\x01\x00\x00AMQP\x00\x01\x00\x00\x00\x00\x00\x0a\x02\x00\x00\x00\x00\x00";

    #[test]
    fn frames_may_come_in_pieces_of_any_size() {
        for length in 1..=GOOD.len() {
            let mut guard = FrameGuard::default();
            for piece in GOOD.chunks(length) {
                guard.check(piece).unwrap();
            }
        }
    }

    #[test]
    fn a_frame_that_is_shorter_than_its_header_is_an_error_wherever_it_is_cut() {
        for size in 0..HEADER_LENGTH {
            let bytes = [GOOD, &size.to_be_bytes(), b"\x02\x00\x00"].concat();
            for length in 1..=bytes.len() {
                let mut guard = FrameGuard::default();
                let checked: io::Result<()> = bytes.chunks(length).try_for_each(|piece| guard.check(piece));
                let message = checked.unwrap_err().to_string();
                assert_eq!(
                    message,
                    format!("the broker sent a frame of {size} bytes, and the shortest has 8")
                );
            }
        }
    }
}
