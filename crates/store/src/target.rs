//! Whom an action calls, as a short text by which slots are counted.

use punctual_model::{ActionKind, Job};

/// The target of the step that the job's entry is at.
pub(crate) fn of_job(job: &Job) -> String {
    let step = job.progress.entry.map_or(0, |entry| entry.step);
    let action = job.spec.action.step(step).unwrap_or(&job.spec.action);
    match &action.kind {
        ActionKind::Http(http) => authority(&http.uri),
        ActionKind::StorageQueue(queue) => format!("queue:{}", queue.storage_account.to_lowercase()),
        ActionKind::ServiceBusQueue(message) | ActionKind::ServiceBusTopic(message) => {
            format!("bus:{}", message.namespace.to_lowercase())
        }
    }
}

/// The part of a URI between the scheme and the path, without user information, in lower case.
fn authority(uri: &str) -> String {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::authority;

    #[test]
    fn authority_is_host_and_port_in_lower_case() {
        let check = |uri, expected: &str| assert_eq!(authority(uri), expected, "{uri}");
        check("http://Example.com/a", "example.com");
        check("https://user:pw@example.com:8443?x", "example.com:8443");
        check("http://[::1]:80/", "[::1]:80");
        check("nonsense", "nonsense");
    }
}
