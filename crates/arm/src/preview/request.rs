//! What a preview, or the effect of a change, is asked for with.

use jiff::Timestamp;

use crate::job::DraftMethod;
use crate::reader::{Object, Path, Problems, parse_object};
use crate::shape::{DIFF, Member, PREVIEW, Unknown};
use crate::{ApiError, ApiVersion};

/// The most occurrences that may be asked for.
pub const COUNT_MAX: i64 = 100;

/// The number of occurrences without `count`.
const COUNT_DEFAULT: usize = 10;

/// What a preview is asked for with, beside the definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewRequest {
    /// The name of the job; if there is such a job, its stored secrets are assumed.
    pub name: Option<String>,
    /// The assumed time of the change.
    pub now: Option<Timestamp>,
    /// The number of occurrences to show.
    pub count: usize,
    /// How the definition is going to be written, if that is said.
    pub method: Option<DraftMethod>,
}

impl PreviewRequest {
    /// Reads the body of a preview without the definition itself.
    pub fn read(body: &[u8]) -> Result<Self, ApiError> {
        read(body, PREVIEW, |object, problems| {
            let count = object.integer("count", problems).and_then(|count| {
                let fits = (1..=COUNT_MAX).contains(&count);
                if !fits {
                    object.note("count", format!("must be from 1 to {COUNT_MAX}, not {count}"), problems);
                }
                usize::try_from(count).ok().filter(|_| fits)
            });
            Self {
                name: object.text("name", problems).map(str::to_owned),
                now: object.instant("now", problems),
                count: count.unwrap_or(COUNT_DEFAULT),
                method: method(object, problems),
            }
        })
    }
}

/// What the effect of a change is asked for with, beside the definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffRequest {
    /// How the definition is going to be written.
    pub method: DraftMethod,
}

impl DiffRequest {
    /// Reads the body without the definition itself.
    pub fn read(body: &[u8]) -> Result<Self, ApiError> {
        read(body, DIFF, |object, problems| Self {
            method: method(object, problems).unwrap_or(DraftMethod::Patch),
        })
    }
}

fn method(object: &Object<'_>, problems: &mut Problems) -> Option<DraftMethod> {
    object.name_of("method", &[("PUT", DraftMethod::Put), ("PATCH", DraftMethod::Patch)], problems)
}

/// Reads what is around the definition, or reports all its problems. The definition itself may have any.
fn read<T>(
    body: &[u8],
    shape: &'static [Member],
    read: impl FnOnce(&Object<'_>, &mut Problems) -> T,
) -> Result<T, ApiError> {
    let document = parse_object(body).map_err(ApiError::bad_request)?;
    let mut problems = Problems::default();
    Unknown::of(&document, shape, ApiVersion::V2026_11).add_to(&mut problems);
    let read = Object::of(&document, Path::Root, &mut problems).map(|object| {
        if object.get("properties").is_none() {
            object.note("properties", "is required", &mut problems);
        }
        read(&object, &mut problems)
    });
    match read {
        Some(read) if problems.is_empty() => Ok(read),
        _ => Err(ApiError::invalid(&problems.into_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_around_the_definition_are_named_at_once() {
        let error = PreviewRequest::read(
            br#"{"count": 101, "now": "soon", "name": 1, "method": "POST", "propertys": {}}"#,
        );
        let message = error.unwrap_err().message;
        for path in ["propertys: ", "properties: is required", "count: ", "now: ", "name: ", "method: "] {
            assert!(message.contains(path), "{path} {message}");
        }
        assert_eq!(DiffRequest::read(b"[]").unwrap_err().status, 400);
        assert_eq!(DiffRequest::read(br#"{"properties": 1, "count": 1}"#).unwrap_err().status, 400);
        let read = PreviewRequest::read(br#"{"properties": 1, "count": 100, "method": "put"}"#).unwrap();
        assert_eq!((read.count, read.method), (100, Some(DraftMethod::Put)));
        let read = DiffRequest::read(br#"{"properties": {}}"#).unwrap();
        assert_eq!(read.method, DraftMethod::Patch);
    }
}
