//! The operation of a request: a verb on a scope, found once from method and path.
//!
//! Dispatch, logs, metrics and authorization all use it, so that they agree.

use punctual_arm::{collapsed, sign_in, split_path};
use punctual_model::{CollectionKey, GroupKey, JobKey, Level, Name, Scope};

use crate::route::{Endpoint, ROUTES};

/// The operation of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) route: &'static Route,
    pub(crate) scope: Scope,
}

/// One line of [`ROUTES`]: an operation of the API, for any scope.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// Its name: `operationId` in the description. It never changes.
    pub name: &'static str,
    /// Its methods, in capitals.
    pub methods: &'static [&'static str],
    /// The level of the scope that its path names.
    pub level: Level,
    /// The rest of its path after the scope, without slashes around it; `{…}` is any one segment.
    pub tail: &'static str,
    /// What it does.
    pub verb: Verb,
    /// What it is done to, as ARM calls it.
    pub resource: &'static str,
    /// What answers it.
    pub(crate) endpoint: Endpoint,
}

/// What is done to a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Asks whether the server is there; reads nothing of its content.
    Probe,
    /// Changes nothing.
    Read,
    /// Says what a change would do; changes nothing, and has a body that no safe method may have.
    Preview,
    /// Creates, replaces or changes.
    Write,
    /// Deletes, with all content.
    Delete,
    /// Runs a job once.
    Run,
    /// Runs what a job did once more.
    Rerun,
    /// Switches on.
    Enable,
    /// Switches off.
    Disable,
    /// Registers a subscription with the provider.
    Register,
    /// Takes that back.
    Unregister,
    /// Gives another secret, or has another key seal.
    Rotate,
    /// Lets a key go.
    Retire,
    /// Gives a token, or a session, to whoever shows who they are.
    SignIn,
    /// Ends a session.
    SignOut,
}

/// Why a request has no operation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoOperation {
    /// No operation has this path.
    Path,
    /// The path exists, but not with this method; these are its methods.
    Method { allowed: String },
}

impl Operation {
    /// The operation of a method and a path.
    pub(crate) fn find(method: &str, path: &str) -> Result<Self, NoOperation> {
        let path = collapsed(path);
        let (scope, tail) = split_path(&path).ok_or(NoOperation::Path)?;
        let level = scope.level();
        let canonical = (level == Level::Everything).then(|| sign_in::canonical_tail(tail)).flatten();
        let tail = canonical.as_deref().unwrap_or(tail);
        let mut here =
            ROUTES.iter().filter(|route| route.level == level && fits(route.tail, tail)).peekable();
        if here.peek().is_none() {
            return Err(NoOperation::Path);
        }
        match here.clone().find(|route| route.methods.contains(&method)) {
            Some(route) => Ok(Self { route, scope }),
            None => {
                let methods: Vec<&str> = here.flat_map(|route| route.methods).copied().collect();
                Err(NoOperation::Method { allowed: methods.join(", ") })
            }
        }
    }

    /// The subscription of an operation whose route has one.
    pub(crate) fn subscription(&self) -> &Name {
        match &self.scope {
            Scope::Subscription(name) => name,
            Scope::Everything | Scope::Group(_) | Scope::Collection(_) | Scope::Job(_) => self.misrouted(),
        }
    }

    /// The group of an operation whose route has one.
    pub(crate) fn group(&self) -> &GroupKey {
        match &self.scope {
            Scope::Group(key) => key,
            Scope::Everything | Scope::Subscription(_) | Scope::Collection(_) | Scope::Job(_) => {
                self.misrouted()
            }
        }
    }

    /// The collection of an operation whose route has one.
    pub(crate) fn collection(&self) -> &CollectionKey {
        match &self.scope {
            Scope::Collection(key) => key,
            Scope::Everything | Scope::Subscription(_) | Scope::Group(_) | Scope::Job(_) => self.misrouted(),
        }
    }

    /// The job of an operation whose route has one.
    pub(crate) fn job(&self) -> &JobKey {
        match &self.scope {
            Scope::Job(key) => key,
            Scope::Everything | Scope::Subscription(_) | Scope::Group(_) | Scope::Collection(_) => {
                self.misrouted()
            }
        }
    }

    /// A test requests every route once, so this is not reached.
    fn misrouted(&self) -> ! {
        panic!("the endpoint of {} is called with another scope than its route has", self.route.name)
    }
}

impl Route {
    /// The permission that it requires, as ARM calls it, such as
    /// `Microsoft.Scheduler/jobcollections/jobs/run/action`.
    pub fn action(&self) -> String {
        let done = match self.verb {
            Verb::Probe | Verb::Read => "read",
            Verb::Preview => "preview/action",
            Verb::Write => "write",
            Verb::Delete => "delete",
            Verb::Run => "run/action",
            Verb::Rerun => "rerun/action",
            Verb::Enable => "enable/action",
            Verb::Disable => "disable/action",
            Verb::Register => "register/action",
            Verb::Unregister => "unregister/action",
            Verb::Rotate => "rotate/action",
            Verb::Retire => "retire/action",
            Verb::SignIn => "signIn/action",
            Verb::SignOut => "signOut/action",
        };
        format!("{}/{done}", self.resource)
    }
}

/// Whether a tail matches that of a route; fixed segments match in any letter case.
fn fits(pattern: &str, tail: &str) -> bool {
    let (mut expected, mut segments) = (pattern.split('/'), tail.split('/'));
    loop {
        match (expected.next(), segments.next()) {
            (None, None) => return true,
            (Some(expected), Some(segment)) if expected.starts_with('{') && !segment.is_empty() => {}
            (Some(expected), Some(segment)) if expected.eq_ignore_ascii_case(segment) => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A path of a route, with names that stand for themselves.
    fn path(route: &Route) -> String {
        let scope = match route.level {
            Level::Everything => "",
            Level::Subscription => "/subscriptions/s",
            Level::Group => "/subscriptions/s/resourceGroups/g",
            Level::Collection => {
                "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c"
            }
            Level::Job => {
                "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j"
            }
        };
        format!("{scope}/{}", route.tail)
    }

    #[test]
    fn every_route_is_found_by_its_methods_and_its_path_in_any_letter_case() {
        for route in ROUTES {
            for method in route.methods {
                let found = Operation::find(method, &path(route)).unwrap();
                assert_eq!((found.route.name, found.scope.level()), (route.name, route.level));
                for spelt in [path(route).to_uppercase(), path(route).to_lowercase()] {
                    assert_eq!(Operation::find(method, &spelt), Ok(found.clone()), "{spelt}");
                }
            }
        }
    }

    #[test]
    fn names_and_methods_of_a_path_are_each_given_once() {
        let names: HashSet<_> = ROUTES.iter().map(|route| route.name).collect();
        assert_eq!(names.len(), ROUTES.len());
        let ways = ROUTES.iter().flat_map(|route| route.methods.iter().map(|method| (method, path(route))));
        let count = ways.clone().count();
        assert_eq!(ways.collect::<HashSet<_>>().len(), count);
    }

    #[test]
    fn what_reads_has_a_method_that_is_safe_and_nothing_else_has() {
        for route in ROUTES {
            // A provider sends people back by a GET; whether it is their own sign-in is shown by a cookie.
            if route.name == "finishOpenIdSignIn" {
                continue;
            }
            let safe = route.methods.iter().all(|method| ["GET", "HEAD"].contains(method));
            assert_eq!(safe, matches!(route.verb, Verb::Probe | Verb::Read), "{}", route.name);
        }
    }

    #[test]
    fn actions_are_named_as_arm_named_them() {
        let check = |name: &str, expected: &str| {
            let route = ROUTES.iter().find(|route| route.name == name).unwrap();
            assert_eq!(route.action(), expected, "{name}");
        };
        check("listCollectionsOfSubscription", "Microsoft.Scheduler/jobcollections/read");
        check("patchCollection", "Microsoft.Scheduler/jobcollections/write");
        check("deleteCollection", "Microsoft.Scheduler/jobcollections/delete");
        check("enableCollection", "Microsoft.Scheduler/jobcollections/enable/action");
        check("disableCollection", "Microsoft.Scheduler/jobcollections/disable/action");
        check("listJobs", "Microsoft.Scheduler/jobcollections/jobs/read");
        check("putJob", "Microsoft.Scheduler/jobcollections/jobs/write");
        check("deleteJob", "Microsoft.Scheduler/jobcollections/jobs/delete");
        check("runJob", "Microsoft.Scheduler/jobcollections/jobs/run/action");
        check("listHistory", "Microsoft.Scheduler/jobcollections/jobs/jobhistories/read");
        check("putGroup", "Microsoft.Resources/subscriptions/resourceGroups/write");
        check("registerProvider", "Microsoft.Scheduler/register/action");
        check("createToken", "Punctual/tokens/write");
        check("rotateToken", "Punctual/tokens/rotate/action");
        check("signIn", "Punctual/sessions/signIn/action");
        check("signOut", "Punctual/sessions/signOut/action");
    }

    #[test]
    fn a_path_that_is_not_in_the_table_is_not_found() {
        let base = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
        for path in [
            "",
            "/x",
            "/healthz/x",
            "/tenants/t",
            "/adfs/token",
            "/adfs/t/u/oauth2/token",
            "/subscriptions/s/oauth2/token",
            "/subscriptions/s/x",
            "/subscriptions/s/operationresults",
            "/subscriptions/s/providers/Microsoft.Storage",
            "/subscriptions/s/resourceGroups/g/x",
            &format!("{base}/c/jobs/j/stop"),
            &format!("{base}/c/jobs/j/run/1"),
            &format!("{base}/c/jobs/%ff"),
            &format!("{base}/c/tasks/j"),
        ] {
            assert_eq!(Operation::find("GET", path), Err(NoOperation::Path), "{path}");
        }
    }

    #[test]
    fn a_path_is_found_in_every_way_that_clients_write_it() {
        let check = |method: &str, path: &str, name: &str| {
            let found = Operation::find(method, path);
            assert_eq!(found.map(|found| found.route.name), Ok(name), "{path}");
        };
        for tenant in ["t", "adfs", "ADFS/t", "adfs/my.org", "/adfs", "subscription"] {
            check("POST", &format!("/{tenant}/oauth2/token"), "issueToken");
            check("POST", &format!("/{tenant}/OAUTH2/v2.0/token/"), "issueToken");
            check("GET", &format!("/{tenant}/v2.0/.well-known/openid-configuration"), "openIdConfiguration");
            check("GET", &format!("/{tenant}/discovery/v2.0/keys"), "listSigningKeys");
        }
        check("GET", "//metadata/endpoints/", "cloudMetadata");
        check("GET", "/subscriptions/", "listSubscriptions");
        check("GET", "//subscriptions//s//", "getSubscription");
        let group = "/subscriptions/s/resourcegroups/g/providers/Microsoft.Scheduler";
        check("HEAD", &format!("{group}//jobCollections/c"), "probeCollection");
        check("PUT", &format!("{group}/jobCollections//c/jobs//j/"), "putJob");
    }

    #[test]
    fn a_method_that_a_path_does_not_have_is_told_which_it_has() {
        let check = |method: &str, path: &str, allowed: &str| {
            let expected = NoOperation::Method { allowed: allowed.to_owned() };
            assert_eq!(Operation::find(method, path), Err(expected), "{method} {path}");
        };
        check("PUT", "/healthz", "GET, HEAD");
        check("get", "/healthz", "GET, HEAD");
        check("PATCH", "/subscriptions/s/resourceGroups/g", "GET, HEAD, PUT, DELETE");
        let base = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections";
        check("POST", &format!("{base}/c/jobs/j"), "GET, HEAD, PUT, PATCH, DELETE");
        check("GET", &format!("{base}/c/jobs/j/run"), "POST");
    }
}
