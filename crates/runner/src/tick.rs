//! The steps one after another: for tests and simulations, which drive the clock.

use punctual_store::{ClaimAsk, Trouble};

use crate::runner::Runner;
use crate::{attempt, recorder};

/// How many entries one tick takes.
const BATCH_MAX: usize = 1_024;

/// What a tick did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Entries claimed.
    pub claimed_count: usize,
    /// Attempts made and recorded.
    pub settled_count: usize,
}

impl Runner {
    /// Claims what is due now, fires it, settles and records it. Fires nothing ahead of time. On trouble
    /// the claims that were not settled stay claimed, as after a crash; release them by opening the
    /// store anew.
    pub async fn tick(&self) -> Result<Report, Trouble> {
        let parts = &self.parts;
        let ask = ClaimAsk { until: parts.clock.now(), limit: BATCH_MAX, passed_over: Vec::new() };
        let claims = parts.store.claim(&ask).await?;
        let claimed_count = claims.len();
        let fences: Vec<_> = claims.iter().map(|claim| claim.fence).collect();
        let holds = parts.store.begin(&fences).await?;
        let mut settled_count = 0;
        for (claim, _) in claims.into_iter().zip(holds).filter(|(_, holds)| *holds) {
            let fired = attempt::fire(claim, parts).await;
            recorder::settle(parts, vec![fired]).await.map_err(|(trouble, _)| trouble)?;
            settled_count += 1;
        }
        Ok(Report { claimed_count, settled_count })
    }

    /// Lets go of what is old, once; whether there may be more.
    pub async fn keep_house(&self) -> Result<bool, Trouble> {
        crate::housekeeping::clean(&self.parts).await
    }
}
