//! Shows an error and its causes in one line.

use std::error::Error;
use std::fmt;

/// Displays an error and all its sources, separated by colons. Logs print errors through this: the text of an
/// error never repeats that of its source.
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_ref().map(|layer| &**layer as _)
        }
    }

    #[test]
    fn all_causes_are_shown_outermost_first() {
        let error = Layer("could not write", Some(Box::new(Layer("disk error", None))));
        assert_eq!(Chain(&error).to_string(), "could not write: disk error");
        assert_eq!(Chain(&Layer("alone", None)).to_string(), "alone");
    }
}
