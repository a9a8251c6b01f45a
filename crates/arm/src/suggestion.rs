//! Suggests the name that was probably meant: the nearest known one.

/// A longer name is no typing mistake, and not worth the comparison.
const NAME_CHARS_MAX: usize = 60;

/// The known name with the smallest distance to a given one, if it is near enough: a third of its letters may
/// be wrong, missing, too many or swapped. The first of several with the same distance.
pub(crate) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given: Vec<char> = given.to_lowercase().chars().take(NAME_CHARS_MAX + 1).collect();
    if given.is_empty() || given.len() > NAME_CHARS_MAX {
        return None;
    }
    let distance_max = given.len().max(3) / 3;
    let near = known.into_iter().map(|name| {
        let letters: Vec<char> = name.to_lowercase().chars().collect();
        (distance(&given, &letters), name)
    });
    near.filter(|(distance, _)| *distance <= distance_max)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, it)| it)
}

/// The optimal string alignment distance: how many letters must be changed, added, removed or swapped with
/// their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    // Rows of the usual table: the one before the last, the last, and the one that is being filled.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, letter) in a.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in b.iter().enumerate() {
            let changed = last[column] + usize::from(letter != other);
            let mut least = changed.min(last[column + 1] + 1).min(next[column] + 1);
            let swapped = row > 0 && column > 0 && *letter == b[column - 1] && a[row - 1] == *other;
            if swapped {
                least = least.min(before[column - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_what_must_be_changed() {
        let check = |a: &str, b: &str, expected| {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(distance(&letters(a), &letters(b)), expected, "{a} {b}");
            assert_eq!(distance(&letters(b), &letters(a)), expected, "{b} {a}");
        };
        check("", "", 0);
        check("", "abc", 3);
        check("recurrence", "recurrance", 1);
        check("type", "tpye", 1);
        check("kitten", "sitting", 3);
        check("abcdef", "badcfe", 3);
    }

    #[test]
    fn the_nearest_name_is_suggested_if_it_is_near() {
        let known = ["startTime", "action", "recurrence", "state", "status"];
        let check = |given: &str, expected: Option<&str>| {
            assert_eq!(nearest(given, known), expected, "{given}");
        };
        check("recurrance", Some("recurrence"));
        check("RECURRENCE", Some("recurrence"));
        check("acton", Some("action"));
        check("strat_time", Some("startTime"));
        check("statuss", Some("status"));
        check("body", None);
        check("x", None);
        check("", None);
        check(&"recurrence".repeat(7), None);
    }
}
