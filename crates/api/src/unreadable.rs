//! Rows that a list leaves out because they can't be read: the answer names them in a header, the log has the
//! reason, and the inspector examines them.

use http::HeaderName;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use punctual_store::Unreadable;

use crate::answer::Answer;
use crate::state::ApiState;

/// The header that names the missing rows.
const HEADER: HeaderName = HeaderName::from_static("x-punctual-unreadable");

/// The most rows that are named in the header; of the others it has the number.
const NAMED_MAX: usize = 20;

/// The characters that are escaped in the header: `,` and `;` separate the names.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%').add(b',').add(b';');

/// Reports rows that are not in this answer.
pub(crate) fn tell(state: &ApiState, answer: Answer, unreadable: &[Unreadable]) -> Answer {
    if unreadable.is_empty() {
        return answer;
    }
    for row in unreadable {
        state.inspection.suspect(row.subject.clone());
    }
    let rows: Vec<String> = unreadable.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    tracing::error!(
        count = unreadable.len(),
        rows = rows.join("; "),
        "a list leaves out what can't be read; `punctual doctor` says what to do"
    );
    answer.with_header(HEADER, &header(unreadable))
}

fn header(unreadable: &[Unreadable]) -> String {
    let names =
        unreadable.iter().take(NAMED_MAX).map(|row| utf8_percent_encode(&row.what, ENCODED).to_string());
    let names = names.collect::<Vec<_>>().join(", ");
    match unreadable.len().saturating_sub(NAMED_MAX) {
        0 => names,
        more => format!("{names}; and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::JobId;
    use punctual_model::inspect::Subject;

    use super::*;

    #[test]
    fn the_header_names_some_and_counts_the_others() {
        let row = |number: i64, name: &str| Unreadable {
            subject: Subject::Job(JobId(number)),
            what: format!("job {number} 'c/{name}'"),
            detail: String::new(),
        };
        let check = |rows: &[Unreadable], expected: &str| assert_eq!(header(rows), expected);
        check(&[row(1, "a")], "job 1 'c/a'");
        check(&[row(1, "a"), row(2, "b c")], "job 1 'c/a', job 2 'c/b c'");
        check(&[row(3, "a,b;Zoë\n")], "job 3 'c/a%2Cb%3BZo%C3%AB%0A'");
        let many: Vec<Unreadable> = (0..23).map(|number| row(number, "x")).collect();
        assert!(header(&many).ends_with("job 19 'c/x'; and 3 more"), "{}", header(&many));
    }
}
