//! Pages of lists. A row that can't be read does not prevent others from being listed: it is named beside them.

use std::fmt;

use punctual_model::inspect::Subject;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, C> {
    /// What could be read, in the order of the list.
    pub items: Vec<T>,
    /// Rows of the page that can't be read.
    pub unreadable: Vec<Unreadable>,
    /// Where the next page begins; none if there is no more.
    pub next: Option<C>,
}

/// A row that can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// What it is.
    pub subject: Subject,
    /// What it is, for people: its kind, its name if that can be read, its number.
    pub what: String,
    /// Why it can't be read; never a secret.
    pub detail: String,
}

/// A row of a list, as a store has read it.
#[derive(Debug)]
pub struct PageRow<T, C> {
    /// What it holds, or why it can't be read.
    pub item: Result<T, Unreadable>,
    /// The cursor of a page that begins after it; none if not even that can be read.
    pub cursor: Option<C>,
}

impl<T, C> Page<T, C> {
    /// A page of at most `limit` rows. If the list has more, `rows` has one more than that.
    pub fn new(rows: Vec<PageRow<T, C>>, limit: usize) -> Self {
        let more = rows.len() > limit;
        let mut page = Self { items: Vec::with_capacity(rows.len()), unreadable: Vec::new(), next: None };
        for row in rows.into_iter().take(limit) {
            page.next = row.cursor.or(page.next);
            match row.item {
                Ok(item) => page.items.push(item),
                Err(unreadable) => page.unreadable.push(unreadable),
            }
        }
        page.next = page.next.filter(|_| more);
        page
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.detail)
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::JobId;

    use super::*;

    fn bad(number: i64) -> Unreadable {
        Unreadable { subject: Subject::Job(JobId(number)), what: String::new(), detail: String::new() }
    }

    #[test]
    fn a_page_goes_on_behind_its_last_row_readable_or_not() {
        let check = |rows: &[(bool, bool)], limit: usize, items: &[i64], next: Option<i64>| {
            let count = rows.len().min(limit);
            let rows = rows.iter().zip(1..).map(|(&(readable, placed), number)| PageRow {
                item: if readable { Ok(number) } else { Err(bad(number)) },
                cursor: placed.then_some(number),
            });
            let page = Page::new(rows.collect(), limit);
            assert_eq!((&*page.items, page.next), (items, next));
            assert_eq!(page.items.len() + page.unreadable.len(), count);
        };
        let (good, damaged, lost) = ((true, true), (false, true), (false, false));
        check(&[], 2, &[], None);
        check(&[good, good], 2, &[1, 2], None);
        check(&[good, good, good], 2, &[1, 2], Some(2));
        check(&[good, damaged, good], 2, &[1], Some(2));
        check(&[damaged, damaged, good], 2, &[], Some(2));
        check(&[good, lost, good], 2, &[1], Some(1));
        check(&[good, good, damaged], 2, &[1, 2], Some(2));
        check(&[good], 0, &[], None);
    }
}
