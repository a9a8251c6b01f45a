//! Finds out what became of a write whose answer was lost.
//!
//! A transaction that edits begins with a receipt: a row with a random key. If the answer to its COMMIT is lost, the same
//! row is inserted once more. That waits for the first transaction to end: if the row is there then, it has happened;
//! if not, it never will. Reading and comparing could not tell: a run that was asked for
//! leaves nothing to compare.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use punctual_model::RandomSource;
use tokio::time::timeout;

use crate::connection::Connection;
use crate::error::PgError;
use crate::param::params;
use crate::pool::{Pool, Work, work};
use crate::query;

/// How long to look for a receipt, before the caller is told that nobody knows.
const SEARCH: Duration = Duration::from_secs(10);

/// How often an edit is made again that is known not to have happened.
const TRIES: usize = 2;

/// Runs an edit in a transaction with a receipt. `work` may be called several times; the last call counts.
pub(crate) async fn edit<T, W>(pool: &Arc<Pool>, random: &dyn RandomSource, work: W) -> Result<T, PgError>
where
    T: Send + 'static,
    W: for<'c> FnMut(&'c Connection) -> Work<'c, T> + Send + 'static,
{
    let work = Arc::new(tokio::sync::Mutex::new(work));
    for _ in 0..TRIES {
        let key = random.random().to_be_bytes().to_vec();
        // What to answer, known before it is committed.
        let decided = Arc::new(Mutex::new(None));
        let (receipt, answer, work) = (key.clone(), Arc::clone(&decided), Arc::clone(&work));
        let transaction = work!(|connection| with receipt, answer, work; {
            connection.begin().await?;
            connection.execute_for(1, query::insert_receipt, params![receipt]).await?;
            let made = (*work.lock().await)(connection);
            let done = made.await?;
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            connection.commit().await
        });
        let take = || decided.lock().unwrap_or_else(PoisonError::into_inner).take();
        match pool.run(transaction).await {
            Ok(()) => return take().ok_or(PgError::Panicked),
            Err(PgError::Unsure) => match timeout(SEARCH, find(pool, key)).await {
                Ok(Ok(true)) => return take().ok_or(PgError::Panicked),
                // It never will be, so it can be made again.
                Ok(Ok(false)) => {}
                Ok(Err(_)) | Err(_) => return Err(PgError::Unsure),
            },
            Err(error) => return Err(error),
        }
    }
    Err(PgError::Unsure)
}

/// Whether the transaction with this receipt was committed. It has ended when there is an answer. Nothing is left
/// behind, so that a search whose own answer is lost can be repeated.
async fn find(pool: &Arc<Pool>, key: Vec<u8>) -> Result<bool, PgError> {
    let search = work!(|connection| with key; {
        connection.begin().await?;
        let made = connection.execute(query::find_receipt, params![key]).await?;
        connection.roll_back().await?;
        Ok(made == 0)
    });
    pool.run(search).await
}
