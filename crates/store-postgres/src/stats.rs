//! Statistics: what settlements count, and reading it within a budget of rows.
//!
//! Rows belong to whoever writes them, so that each writes the whole row anew: a statement whose answer is lost may be repeated, and
//! settlements that run at once don't wait for one another. What was settled by a statement that settled only a part of its batch
//! is written with the next batch of that writer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::SignedDuration;
use punctual_model::Scope;
use punctual_model::statistics::{Count, Statistics, floor};
use punctual_store::columns::{statistics_bytes, statistics_from};
use punctual_store::instant::to_ticks;
use punctual_store::{HOUR, StatsAsk, StatsPage, windows};

use crate::columns::instant;
use crate::connection::Connection;
use crate::error::PgError;
use crate::param::{Param, param, params};
use crate::query;
use crate::row::bound;

/// The number under which all collections are counted together.
const ALL: i64 = 0;

/// The most collections whose statistics are added up.
const COLLECTIONS_MAX: usize = 10_000;

/// How many rows a writer knows; then it goes on with others.
const KNOWN_MAX: usize = 4_096;

/// How much of the minutes, and of the hours, is read at once.
const MINUTES_WINDOW: SignedDuration = HOUR;
const HOURS_WINDOW: SignedDuration = SignedDuration::from_hours(10 * 24);

/// A collection and a minute.
type Place = (i64, i64);

/// What one of the settling connections has counted.
#[derive(Debug)]
pub(crate) struct StatsWriter {
    writer: i64,
    known: HashMap<Place, Statistics>,
    /// What is not written yet.
    unwritten: BTreeSet<Place>,
}

/// The rows that a batch writes.
#[derive(Debug, Default)]
pub(crate) struct StatsRows {
    collections: Vec<i64>,
    begins_at: Vec<i64>,
    counts: Vec<Vec<u8>>,
    writer: i64,
    /// How many settlements they are right for.
    expected: i64,
}

impl StatsRows {
    pub(crate) fn params(&self) -> [Param<'_>; 5] {
        [
            param(&self.collections),
            param(&self.begins_at),
            param(&self.counts),
            param(&self.writer),
            param(&self.expected),
        ]
    }
}

impl StatsWriter {
    /// A writer of this number, which no other has.
    pub(crate) fn new(writer: i64) -> Self {
        Self { writer, known: HashMap::new(), unwritten: BTreeSet::new() }
    }

    /// Whether it knows too many rows to go on with.
    pub(crate) fn is_full(&self) -> bool {
        self.known.len() > KNOWN_MAX && self.unwritten.is_empty()
    }

    /// The rows to write with a batch, if all of it is settled.
    pub(crate) fn rows(&self, batch: &[(i64, Vec<Count>)]) -> StatsRows {
        let mut sums: BTreeMap<Place, Statistics> = BTreeMap::new();
        let batched = batch.iter().flat_map(|(collection, counts)| places_of(*collection, counts));
        for place in batched.map(|(place, _)| place).chain(self.unwritten.iter().copied()) {
            sums.entry(place).or_insert_with(|| self.known.get(&place).cloned().unwrap_or_default());
        }
        for (place, count) in batch.iter().flat_map(|(collection, counts)| places_of(*collection, counts)) {
            sums.entry(place).or_default().count(count);
        }
        let mut rows =
            StatsRows { writer: self.writer, expected: bound(batch.len()), ..StatsRows::default() };
        for ((collection, minute), sum) in sums {
            rows.collections.push(collection);
            rows.begins_at.push(minute);
            rows.counts.push(statistics_bytes(&sum));
        }
        rows
    }

    /// Takes in what was settled; `written` if the rows of that batch were.
    pub(crate) fn settled<'a>(
        &mut self,
        settled: impl Iterator<Item = &'a (i64, Vec<Count>)>,
        written: bool,
    ) {
        for (place, count) in settled.flat_map(|(collection, counts)| places_of(*collection, counts)) {
            self.known.entry(place).or_default().count(count);
            if !written {
                self.unwritten.insert(place);
            }
        }
        if written {
            self.unwritten.clear();
        }
    }
}

/// Where each count goes: to its collection, and to all.
fn places_of(collection: i64, counts: &[Count]) -> impl Iterator<Item = (Place, &Count)> {
    counts.iter().flat_map(move |count| {
        let minute = to_ticks(count.minute_at);
        [((collection, minute), count), ((ALL, minute), count)]
    })
}

pub(crate) async fn page(connection: &Connection, ask: &StatsAsk) -> Result<StatsPage, PgError> {
    let collections = collections(connection, &ask.scopes).await?;
    let mut page = StatsPage::default();
    // Minutes are later than hours.
    for (sql, extent, length) in [
        (query::stats_minutes_between, query::stats_minutes_extent, MINUTES_WINDOW),
        (query::stats_hours_between, query::stats_hours_extent, HOURS_WINDOW),
    ] {
        let Some(there) = connection.one(extent, params![]).await? else { continue };
        let Some((first, end)) = ask.within((there.try_get(0)?, there.try_get(1)?)) else { continue };
        for (from, to) in windows(first, end, length) {
            let left = ask.row_max.saturating_sub(page.row_count);
            let (first, last, limit) = (to_ticks(from), to_ticks(to), bound(left.saturating_add(1)));
            let rows = connection.rows(sql, params![collections, first, last, limit]).await?;
            if rows.len() > left {
                page.unread_before = Some(to);
                return Ok(page);
            }
            for row in &rows {
                let counts = statistics_from(row.try_get(1)?).ok_or(PgError::invalid("statistics"))?;
                page.add(instant(row.try_get(0)?)?, &counts, ask.step);
            }
        }
    }
    Ok(page)
}

/// The numbers of the collections in some scopes.
async fn collections(connection: &Connection, scopes: &[Scope]) -> Result<Vec<i64>, PgError> {
    let mut found = Vec::new();
    for scope in scopes {
        let Some(subscription) = scope.subscription() else { return Ok(vec![ALL]) };
        let subscription = subscription.folded();
        let group = scope.group().map(|key| key.name.folded());
        let name = scope.collection().map(|key| key.name.folded());
        let left = bound(COLLECTIONS_MAX.saturating_sub(found.len()));
        for row in connection.rows(query::scope_collections, params![subscription, group, name, left]).await?
        {
            found.push(row.try_get(0)?);
        }
    }
    Ok(found)
}

/// Makes hours of old minutes, and deletes old hours.
pub(crate) async fn roll_up(
    connection: &Connection,
    minutes_before: i64,
    hours_before: i64,
    limit: usize,
) -> Result<usize, PgError> {
    connection.begin().await?;
    let rows = connection.rows(query::take_stats_minutes, params![minutes_before, bound(limit)]).await?;
    let mut sums: BTreeMap<Place, Statistics> = BTreeMap::new();
    for row in &rows {
        let hour = to_ticks(floor(instant(row.try_get(1)?)?, HOUR));
        // What can't be read goes: nothing else could be done with it.
        if let Some(counts) = statistics_from(row.try_get(2)?) {
            sums.entry((row.try_get(0)?, hour)).or_default().add(&counts);
        }
    }
    let (collections, hours): (Vec<i64>, Vec<i64>) = sums.keys().copied().unzip();
    for row in connection.rows(query::stats_hours_locked, params![collections, hours]).await? {
        let place: Place = (row.try_get(0)?, row.try_get(1)?);
        if let (Some(sum), Some(known)) = (sums.get_mut(&place), statistics_from(row.try_get(2)?)) {
            sum.add(&known);
        }
    }
    let counts: Vec<Vec<u8>> = sums.values().map(statistics_bytes).collect();
    connection.execute(query::put_stats_hours, params![collections, hours, counts]).await?;
    let pruned = connection.execute(query::prune_stats_hours, params![hours_before, bound(limit)]).await?;
    connection.commit().await?;
    Ok(rows.len() + usize::try_from(pruned).unwrap_or(0))
}
