//! Queries: filters, pages, and the `$skiptoken` of links to next pages.

use punctual_arm::{
    AuditQuery, CollectionsPage, HistoryPage, JobsPage, OccurrencesPage, Query, ResourcesPage, TokensPage,
};

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let query = Query::decode(text);
    check_link(&query);
    if let Ok(page) = JobsPage::read(&query) {
        assert!((1..=1000).contains(&page.limit), "{page:?}");
        if let Some(name) = &page.after {
            let again = with_token(&JobsPage::token(name));
            assert_eq!(JobsPage::read(&again).ok().and_then(|page| page.after).as_ref(), Some(name));
        }
    }
    if let Ok(page) = HistoryPage::read(&query) {
        assert!((1..=500).contains(&page.limit), "{page:?}");
        if let Some((at, sequence)) = page.after {
            let again = with_token(&HistoryPage::token(at, sequence));
            assert_eq!(HistoryPage::read(&again).ok().and_then(|page| page.after), Some((at, sequence)));
        }
    }
    if let Ok(CollectionsPage { after: Some((group, name)), .. }) = CollectionsPage::read(&query) {
        let again = with_token(&CollectionsPage::token(&group, &name));
        assert_eq!(CollectionsPage::read(&again).ok().and_then(|page| page.after), Some((group, name)));
    }
    if let Ok(TokensPage { after: Some(name), .. }) = TokensPage::read(&query) {
        let again = with_token(&TokensPage::token(name.as_str()));
        assert_eq!(TokensPage::read(&again).ok().and_then(|page| page.after), Some(name));
    }
    if let Ok(page) = OccurrencesPage::read(&query) {
        assert!(
            (1..=500).contains(&page.limit) && page.from.zip(page.to).is_none_or(|(from, to)| from <= to)
        );
        if let Some(after) = page.after {
            let again = with_token(&OccurrencesPage::token(after));
            assert_eq!(OccurrencesPage::read(&again).ok().and_then(|page| page.after), Some(after));
        }
    }
    if let Ok(AuditQuery { before: Some(before), limit, .. }) = AuditQuery::read(&query) {
        assert!((1..=100).contains(&limit));
        let again = with_token(&AuditQuery::token(before));
        assert_eq!(AuditQuery::read(&again).ok().and_then(|page| page.before), Some(before));
    }
    if let Ok(page) = ResourcesPage::read(&query) {
        assert!((1..=1000).contains(&page.limit), "{page:?}");
    }
}

/// The link to the next page keeps what was asked for, and says where the page begins.
fn check_link(query: &Query) {
    let link = query.next_link("http://localhost/x", "$skiptoken", "a b&c=d%");
    let (_, raw) = link.split_once('?').expect("a link has a query");
    assert!(link.bytes().all(|byte| byte.is_ascii_graphic()), "{link}");
    let next = Query::decode(raw);
    assert_eq!(next.get("$skiptoken"), Some("a b&c=d%"), "{link}");
    assert_eq!(next.get("$skip"), None, "{link}");
    for name in ["$filter", "$top", "api-version", "from", "to", "scope", "caller"] {
        assert_eq!(next.get(name), query.get(name), "{link}");
    }
}

fn with_token(token: &str) -> Query {
    let link = Query::default().next_link("", "$skiptoken", token);
    Query::decode(link.trim_start_matches('?'))
}
