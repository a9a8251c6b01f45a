//! Opens connections.

use tokio_postgres::error::SqlState;

use crate::connection::Connection;
use crate::error::PgError;
use crate::session;
use crate::tls::Tls;
use crate::url::ServerUrl;

/// Opens connections to the server of a URL.
pub(crate) struct Connector {
    url: ServerUrl,
    tls: Tls,
    prepare: bool,
}

impl Connector {
    pub(crate) fn new(url: ServerUrl, tls: Tls, prepare: bool) -> Self {
        Self { url, tls, prepare }
    }

    /// A new connection, with the settings of a session.
    pub(crate) async fn connect(&self) -> Result<Connection, PgError> {
        let mut config = self.url.config.clone();
        let own = config.get_options().map(|own| format!("{own} ")).unwrap_or_default();
        config.options(format!("{own}{}", session::options()));
        let opened = config.connect(self.tls.clone()).await;
        // A pooler refuses options; whether the settings hold all the same is checked when the store is opened.
        let refused = |error: &tokio_postgres::Error| {
            error.as_db_error().is_some_and(|error| {
                *error.code() == SqlState::PROTOCOL_VIOLATION && error.message().contains("startup parameter")
            })
        };
        let (client, driver) = match opened {
            Err(error) if refused(&error) => self.url.config.connect(self.tls.clone()).await?,
            opened => opened?,
        };
        let driver = tokio::spawn(async move {
            // Whoever uses the connection is told what happened to it.
            if let Err(error) = driver.await {
                tracing::debug!(%error, "a connection to the database ended");
            }
        });
        Ok(Connection::new(client, driver.abort_handle(), self.prepare))
    }
}
