//! Callers, and what they may do.

use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::Scope;

/// What a caller may do in a scope. Each role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Read everything but secrets.
    Reader,
    /// Run jobs, and switch jobs and collections on and off.
    Operator,
    /// Create, change and delete jobs, collections and groups.
    Contributor,
    /// Grant roles to others, read the audit log, change the settings of the server.
    Owner,
}

impl Role {
    /// All of them, the least first.
    pub const ALL: [Self; 4] = [Self::Reader, Self::Operator, Self::Contributor, Self::Owner];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Operator => "operator",
            Self::Contributor => "contributor",
            Self::Owner => "owner",
        }
    }

    /// The role of a name, in any letter case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A role on a scope.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grant {
    /// What the caller may do.
    pub role: Role,
    /// Where.
    pub scope: Scope,
}

/// How a caller authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKind {
    /// Not at all: the server requires no authentication.
    Anonymous,
    /// With a token of this server.
    Token,
    /// With a JWT that our token endpoint issued for a client id and its secret.
    ServicePrincipal,
    /// With a JWT of an OpenID Connect issuer.
    OpenId,
}

impl CallerKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Token => "token",
            Self::ServicePrincipal => "service principal",
            Self::OpenId => "openid",
        }
    }
}

/// The sender of a request, and its grants. Cheap to clone, because every request has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name of the caller.
    pub name: Arc<str>,
    /// A GUID for tokens of this server, the subject for callers of an issuer.
    pub id: Arc<str>,
    /// How the caller authenticated.
    pub kind: CallerKind,
    /// All grants of the caller.
    pub grants: Arc<[Grant]>,
}

/// Made once, since one of them goes with every request.
static ANONYMOUS: LazyLock<Caller> = LazyLock::new(|| Caller {
    name: "anonymous".into(),
    id: "00000000-0000-0000-0000-000000000000".into(),
    kind: CallerKind::Anonymous,
    grants: [Grant { role: Role::Owner, scope: Scope::Everything }].into(),
});

static NOBODY: LazyLock<Caller> =
    LazyLock::new(|| Caller { name: "nobody".into(), grants: Arc::default(), ..Caller::anonymous() });

impl Caller {
    /// The caller of a server that requires no authentication.
    pub fn anonymous() -> Self {
        ANONYMOUS.clone()
    }

    /// Somebody of whom nothing is known, and who may do nothing.
    pub fn nobody() -> Self {
        NOBODY.clone()
    }

    /// Whether the caller has this role, or one that includes it, on a whole scope.
    pub fn may(&self, role: Role, scope: &Scope) -> bool {
        self.grants.iter().any(|grant| grant.role >= role && grant.scope.covers(scope))
    }

    /// Whether the caller has this role on a scope or on something below it. Then a list over the scope is
    /// shown, with what the caller may read.
    pub fn may_below(&self, role: Role, scope: &Scope) -> bool {
        self.grants
            .iter()
            .any(|grant| grant.role >= role && (grant.scope.covers(scope) || scope.covers(&grant.scope)))
    }
}

impl Caller {
    /// The widest parts of a scope on which the caller has a role, in order: the scope itself if it has the
    /// role on all of it, none if it has it nowhere in it. No part is within another.
    pub fn parts(&self, role: Role, scope: &Scope) -> Vec<Scope> {
        if self.may(role, scope) {
            return vec![scope.clone()];
        }
        let below = self.grants.iter().filter(|grant| grant.role >= role && scope.covers(&grant.scope));
        let mut parts: Vec<Scope> = below.map(|grant| grant.scope.clone()).collect();
        parts.sort_by(Scope::by_place);
        // A scope is followed by the scopes in it.
        parts.dedup_by(|inner, outer| outer.covers(inner));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CollectionKey, GroupKey};

    fn caller(grants: &[(Role, Scope)]) -> Caller {
        let grants = grants.iter().map(|(role, scope)| Grant { role: *role, scope: scope.clone() }).collect();
        Caller { name: "ci".into(), id: "1".into(), kind: CallerKind::Token, grants }
    }

    fn subscription(name: &str) -> Scope {
        Scope::Subscription(name.into())
    }

    fn group(name: &str) -> Scope {
        Scope::Group(GroupKey { subscription: "s1".into(), name: name.into() })
    }

    fn collection() -> Scope {
        Scope::Collection(CollectionKey::new("s1", "g1", "c1"))
    }

    #[test]
    fn a_role_includes_the_ones_before_it() {
        for granted in Role::ALL {
            let caller = caller(&[(granted, Scope::Everything)]);
            for asked in Role::ALL {
                assert_eq!(caller.may(asked, &Scope::Everything), asked <= granted, "{granted} for {asked}");
            }
        }
    }

    #[test]
    fn a_grant_holds_in_its_scope_and_below_and_nowhere_else() {
        let caller = caller(&[(Role::Contributor, group("g1"))]);
        assert!(caller.may(Role::Contributor, &group("g1")));
        assert!(caller.may(Role::Reader, &collection()));
        assert!(!caller.may(Role::Reader, &subscription("s1")));
        assert!(!caller.may(Role::Reader, &group("g2")));
        assert!(!caller.may(Role::Owner, &group("g1")));
    }

    #[test]
    fn several_grants_do_not_add_up_to_a_higher_role() {
        let caller = caller(&[(Role::Reader, Scope::Everything), (Role::Operator, collection())]);
        assert!(caller.may(Role::Operator, &collection()));
        assert!(!caller.may(Role::Operator, &group("g1")));
        assert!(caller.may(Role::Reader, &group("g1")));
    }

    #[test]
    fn a_list_is_shown_to_whoever_may_read_something_in_it() {
        let caller = caller(&[(Role::Reader, collection())]);
        for (scope, expected) in [
            (Scope::Everything, true),
            (subscription("s1"), true),
            (group("g1"), true),
            (collection(), true),
            (group("g2"), false),
            (subscription("s2"), false),
        ] {
            assert_eq!(caller.may_below(Role::Reader, &scope), expected, "{scope:?}");
        }
        assert!(!caller.may_below(Role::Operator, &group("g1")));
    }

    #[test]
    fn the_parts_of_a_scope_are_the_widest_ones_in_order() {
        let other = Scope::Collection(CollectionKey::new("s1", "a", "z"));
        let grants = [
            (Role::Reader, collection()),
            (Role::Operator, group("g2")),
            (Role::Reader, Scope::Collection(CollectionKey::new("s1", "G2", "c1"))),
            (Role::Owner, other.clone()),
            (Role::Reader, collection()),
            (Role::Reader, subscription("s2")),
        ];
        let caller = caller(&grants);
        let check = |role, scope: Scope, expected: &[Scope]| {
            assert_eq!(caller.parts(role, &scope), expected, "{role} {scope:?}");
        };
        check(Role::Reader, subscription("s1"), &[other.clone(), collection(), group("g2")]);
        check(Role::Operator, subscription("s1"), &[other.clone(), group("g2")]);
        check(Role::Reader, group("g1"), &[collection()]);
        check(Role::Reader, subscription("s2"), &[subscription("s2")]);
        check(Role::Reader, collection(), &[collection()]);
        check(Role::Contributor, group("g1"), &[]);
    }

    #[test]
    fn without_grants_nothing_is_allowed() {
        let caller = caller(&[]);
        assert!(!caller.may(Role::Reader, &Scope::Everything));
        assert!(!caller.may_below(Role::Reader, &Scope::Everything));
    }

    #[test]
    fn a_role_is_read_in_any_letter_case() {
        for role in Role::ALL {
            assert_eq!(Role::parse(&role.name().to_uppercase()), Some(role));
        }
        assert_eq!(Role::parse("admin"), None);
    }
}
