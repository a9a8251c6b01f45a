//! Statistics, written with what they count.

use std::collections::HashMap;

use punctual_model::statistics::{Statistics, floor};
use punctual_store::HOUR;
use punctual_store::columns::{statistics_bytes, statistics_from};
use punctual_store::instant::to_ticks;
use rusqlite::params;

use super::{EncodedSettlement, WriterState, expect_rows};
use crate::error::SqliteError;
use crate::standing::instant;
use crate::stats::ALL;
use crate::{query, row};

impl WriterState {
    /// Adds what settlements count: one row for each collection and minute of the batch, and one for all collections.
    pub(super) fn count(&mut self, settled: &[&EncodedSettlement]) -> Result<(), SqliteError> {
        let mut sums: HashMap<(i64, i64), Statistics> = HashMap::new();
        for one in settled {
            let Some(collection) = self.cached_collection(&one.collection)? else { continue };
            for count in &one.counts {
                let minute = to_ticks(count.minute_at);
                sums.entry((collection.id, minute)).or_default().count(count);
                sums.entry((ALL, minute)).or_default().count(count);
            }
        }
        for ((collection, minute), sum) in sums {
            self.add_stats(query::stats_minute, query::put_stats_minute, collection, minute, sum)?;
        }
        Ok(())
    }

    /// Adds to a row. There is one writer, so nobody else writes in between.
    fn add_stats(
        &self,
        read: &str,
        put: &str,
        collection: i64,
        begins_at: i64,
        mut sum: Statistics,
    ) -> Result<(), SqliteError> {
        let known = row::one(&self.conn, read, [collection, begins_at], |row| {
            Ok(statistics_from(row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?))
        })?;
        // What can't be read is counted anew: no firing stops for that.
        if let Some(known) = known.flatten() {
            sum.add(&known);
        }
        let row = params![collection, begins_at, statistics_bytes(&sum)];
        expect_rows(1, self.conn.prepare_cached(put)?.execute(row)?)
    }

    /// Makes hours of old minutes, and deletes old hours.
    pub(crate) fn roll_up_stats(
        &mut self,
        minutes_before: i64,
        hours_before: i64,
        limit: usize,
    ) -> Result<usize, SqliteError> {
        let place = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let bounds = params![minutes_before, row::bound(limit)];
        let mut old = row::many(&self.conn, query::old_stats_minutes, bounds, place)?;
        let row_count = old.len();
        // A minute that was copied from a store of several writers has a row of each.
        old.sort_unstable();
        old.dedup();
        let mut sums: HashMap<(i64, i64), Statistics> = HashMap::new();
        for (collection, minute) in &old {
            // All of them, because all are deleted.
            let writers = params![collection, minute, minute + 1, i64::MAX];
            let known = row::many(&self.conn, query::stats_minutes_between, writers, |row| {
                Ok(statistics_from(row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?))
            })?;
            let hour = to_ticks(floor(instant(*minute)?, HOUR));
            for known in known.into_iter().flatten() {
                sums.entry((*collection, hour)).or_default().add(&known);
            }
            self.conn.prepare_cached(query::delete_stats_minutes)?.execute([collection, minute])?;
        }
        for ((collection, hour), sum) in sums {
            self.add_stats(query::stats_hour, query::put_stats_hour, collection, hour, sum)?;
        }
        let bounds = params![hours_before, row::bound(limit)];
        let ancient = row::many(&self.conn, query::old_stats_hours, bounds, place)?;
        for (collection, hour) in &ancient {
            self.conn.prepare_cached(query::delete_stats_hours)?.execute([collection, hour])?;
        }
        Ok(row_count + ancient.len())
    }
}
