//! The right that each operation takes: the one table that says so.
//!
//! It has an arm for every endpoint and none for "all others", so that a new one does not compile before its right
//! is written down here. Each right is checked before the body is read. What depends on the body is checked by
//! whoever has read it: an operator's PATCH in the edit layer, the grants of a new token in its endpoint.

use punctual_arm::ApiError;
use punctual_model::Scope;
use punctual_model::access::{Caller, Role};

use crate::operation::{Operation, Route};
use crate::route::Endpoint;

/// What a caller must have for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Nothing: nobody is asked who they are.
    Open,
    /// To say who one is, and nothing more.
    Known,
    /// A role on all of the scope that the path names.
    On(Role),
    /// A role on that scope or on something in it. The operation shows and changes no more than that.
    Within(Role),
}

impl Route {
    /// The least that a caller must have.
    pub fn right(&self) -> Right {
        use Endpoint::*;
        match self.endpoint {
            Live | Ready => Right::Open,
            // Clients ask these before they can say who they are.
            CloudMetadata | OpenIdConfiguration | ListSigningKeys | Webfinger | IssueToken => Right::Open,
            // This is how people say so.
            ListSignInWays | SignIn | BeginOpenIdSignIn | FinishOpenIdSignIn => Right::Open,
            // Everybody may know who they are, and leave.
            Me | SignOut => Right::Known,
            // Says nothing of what is on the server.
            Welcome => Right::Within(Role::Reader),
            Doctor | Metrics | Describe | ListNodes => Right::On(Role::Reader),
            // Clients ask these first, whatever the caller may do in the subscription.
            ListTenants | ListSubscriptions | GetSubscription | ListLocations => Right::Within(Role::Reader),
            ListProviders | GetProvider | GetGroupOperation => Right::Within(Role::Reader),
            RegisterProvider | UnregisterProvider => Right::On(Role::Contributor),
            ListGroups | ListCollectionsOfSubscription | ListCollectionsOfGroup => {
                Right::Within(Role::Reader)
            }
            ListResourcesOfSubscription | ListResourcesOfGroup => Right::Within(Role::Reader),
            // They show what is in the scopes of the reader, and ask for the scope that the query names.
            SearchJobs | GetStats | GetAgenda | ListAgendaJobs => Right::Within(Role::Reader),
            GetGroup | ProbeGroup | GetCollection | ProbeCollection | ListJobs | GetJob | ProbeJob => {
                Right::On(Role::Reader)
            }
            ListHistory | ListOccurrences | PreviewJob | DiffJob => Right::On(Role::Reader),
            EnableCollection | DisableCollection | RunJob | RerunOccurrence => Right::On(Role::Operator),
            // The edit layer asks for more if more than the state is changed.
            PatchCollection | PatchJob => Right::On(Role::Operator),
            PutGroup | DeleteGroup | PutCollection | DeleteCollection | PutJob | DeleteJob => {
                Right::On(Role::Contributor)
            }
            // It shows what concerns the scopes of the owner.
            ListAudit => Right::Within(Role::Owner),
            VerifyAudit => Right::On(Role::Owner),
            // They seal what is in all scopes.
            ListKeys | RotateKeys | RetireKey => Right::On(Role::Owner),
            // Who fires concerns all scopes.
            DrainNode | UndrainNode => Right::On(Role::Owner),
            ListSessions | EndSessions | EndSession => Right::On(Role::Owner),
            ListTokens | CreateToken | GetToken | RevokeToken | RotateToken => Right::Within(Role::Owner),
        }
    }
}

impl Right {
    /// Whether a caller has it on a scope.
    pub fn held_by(self, caller: &Caller, scope: &Scope) -> bool {
        match self {
            Self::Open | Self::Known => true,
            Self::On(role) => caller.may(role, scope),
            Self::Within(role) => caller.may_below(role, scope),
        }
    }
}

impl Operation {
    /// Refuses a caller that lacks the right. Nothing was read yet, so that the answer does not tell whether what
    /// the path names is there.
    pub(crate) fn check(&self, caller: &Caller) -> Result<(), ApiError> {
        if self.route.right().held_by(caller, &self.scope) {
            return Ok(());
        }
        Err(denied(caller, &self.route.action(), &self.scope))
    }
}

/// 403 for a caller that may not do something to a scope.
pub(crate) fn denied(caller: &Caller, action: &str, scope: &Scope) -> ApiError {
    ApiError::authorization_failed(&caller.name, &caller.id, action, scope)
}
