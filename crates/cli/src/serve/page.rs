//! The files of the web page, which `build.rs` has taken from `ui/dist`.

use std::sync::Arc;

use punctual_api::{Page, PageFile};

use crate::config::Server;

// `INDEX` and `FILES`.
include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The page, unless the settings say that there is none.
pub(super) fn open(settings: &Server) -> Option<Arc<Page>> {
    let public_url = Some(settings.public_url.as_str()).filter(|url| !url.is_empty());
    settings.page.then(|| Arc::new(Page::new(INDEX, FILES, public_url)))
}
