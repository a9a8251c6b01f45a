//! The table of all operations, and the endpoint of each.
//!
//! A request is answered by the endpoint of the line with its method and path; without such a line there is no
//! such operation. Tests compare `docs/reference/api.md` and `openapi.json` with this table.

use punctual_arm::ApiError;
use punctual_model::{Level, Scope};

use crate::answer::Answer;
use crate::operation::{Operation, Route, Verb};
use crate::request::{Call, UnreadBody};
use crate::state::ApiState;
use crate::{
    audit, collection, doctor, group, health, job, keys, me, metrics, node, openapi, provider, resource,
    session, sign_in, subscription, token, view,
};

const GET: &[&str] = &["GET"];
const GET_OR_HEAD: &[&str] = &["GET", "HEAD"];
const HEAD: &[&str] = &["HEAD"];
const PUT: &[&str] = &["PUT"];
const PATCH: &[&str] = &["PATCH"];
const DELETE: &[&str] = &["DELETE"];
const POST: &[&str] = &["POST"];

const SIGN_IN: &str = "Punctual/signIn";
const SESSIONS: &str = "Punctual/sessions";
const SUBSCRIPTIONS: &str = "Microsoft.Resources/subscriptions";
const TENANTS: &str = "Microsoft.Resources/tenants";
const LOCATIONS: &str = "Microsoft.Resources/subscriptions/locations";
const RESOURCES: &str = "Microsoft.Resources/subscriptions/resources";
const AUDIT: &str = "Punctual/audit";
const KEYS: &str = "Punctual/keys";
const NODES: &str = "Punctual/nodes";
const TOKENS: &str = "Punctual/tokens";
const PROVIDER: &str = "Microsoft.Scheduler";
const PROVIDERS: &str = "Microsoft.Resources/subscriptions/providers";
const GROUPS: &str = "Microsoft.Resources/subscriptions/resourceGroups";
const GROUP_OPERATIONS: &str = "Microsoft.Resources/subscriptions/operationresults";
const COLLECTIONS: &str = "Microsoft.Scheduler/jobcollections";
const JOBS: &str = "Microsoft.Scheduler/jobcollections/jobs";
const STATS: &str = "Punctual/stats";
const AGENDA: &str = "Punctual/agenda";
const HISTORIES: &str = "Microsoft.Scheduler/jobcollections/jobs/jobhistories";
const OCCURRENCES: &str = "Microsoft.Scheduler/jobcollections/jobs/occurrences";

/// Every operation: its endpoint, its name, its methods, the level of its scope, the rest of its path, its
/// verb, and its resource.
#[rustfmt::skip]
pub const ROUTES: &[Route] = {
    use Endpoint::*;
    use Level::*;
    use Verb::{Delete, Disable, Enable, Preview, Probe, Read, Register, Rerun, Retire, Rotate, Run, Unregister, Write};
    &[
        route(Welcome, "welcome", GET_OR_HEAD, Everything, "", Read, "Punctual/server"),
        route(Live, "live", GET_OR_HEAD, Everything, "healthz", Probe, "Punctual/health"),
        route(Ready, "ready", GET_OR_HEAD, Everything, "readyz", Probe, "Punctual/health"),
        route(Doctor, "doctor", GET_OR_HEAD, Everything, "doctor", Read, "Punctual/doctor"),
        route(Metrics, "metrics", GET_OR_HEAD, Everything, "metrics", Read, "Punctual/metrics"),
        route(Describe, "describe", GET_OR_HEAD, Everything, "openapi.json", Read, "Punctual/openapi"),

        route(CloudMetadata, "cloudMetadata", GET, Everything, "metadata/endpoints", Probe, SIGN_IN),
        route(OpenIdConfiguration, "openIdConfiguration", GET, Everything,
            "{tenant}/.well-known/openid-configuration", Probe, SIGN_IN),
        route(ListSigningKeys, "listSigningKeys", GET, Everything, "{tenant}/discovery/keys", Probe, SIGN_IN),
        route(Webfinger, "webfinger", GET, Everything, ".well-known/webfinger", Probe, SIGN_IN),
        route(IssueToken, "issueToken", POST, Everything, "{tenant}/oauth2/token", Verb::SignIn, SIGN_IN),

        route(Me, "me", GET, Everything, "me", Read, "Punctual/callers"),
        route(SignIn, "signIn", POST, Everything, "session", Verb::SignIn, SESSIONS),
        route(SignOut, "signOut", DELETE, Everything, "session", Verb::SignOut, SESSIONS),
        route(ListSignInWays, "listSignInWays", GET, Everything, "session/ways", Probe, SESSIONS),
        route(BeginOpenIdSignIn, "beginOpenIdSignIn", GET, Everything, "session/openid", Probe, SESSIONS),
        route(FinishOpenIdSignIn, "finishOpenIdSignIn", GET, Everything, "session/callback", Verb::SignIn, SESSIONS),
        route(ListSessions, "listSessions", GET, Everything, "sessions", Read, SESSIONS),
        route(EndSessions, "endSessions", DELETE, Everything, "sessions", Delete, SESSIONS),
        route(EndSession, "endSession", DELETE, Everything, "sessions/{sessionId}", Delete, SESSIONS),

        route(ListTokens, "listTokens", GET, Everything, "tokens", Read, TOKENS),
        route(CreateToken, "createToken", POST, Everything, "tokens", Write, TOKENS),
        route(GetToken, "getToken", GET, Everything, "tokens/{tokenId}", Read, TOKENS),
        route(RevokeToken, "revokeToken", DELETE, Everything, "tokens/{tokenId}", Delete, TOKENS),
        route(RotateToken, "rotateToken", POST, Everything, "tokens/{tokenId}/rotate", Rotate, TOKENS),

        route(ListKeys, "listKeys", GET, Everything, "keys", Read, KEYS),
        route(RotateKeys, "rotateKeys", POST, Everything, "keys/rotate", Rotate, KEYS),
        route(RetireKey, "retireKey", POST, Everything, "keys/{keyId}/retire", Retire, KEYS),

        route(ListNodes, "listNodes", GET, Everything, "nodes", Read, NODES),
        route(DrainNode, "drainNode", POST, Everything, "nodes/{nodeName}/drain", Disable, NODES),
        route(UndrainNode, "undrainNode", POST, Everything, "nodes/{nodeName}/undrain", Enable, NODES),

        route(ListTenants, "listTenants", GET, Everything, "tenants", Read, TENANTS),
        route(ListSubscriptions, "listSubscriptions", GET, Everything, "subscriptions", Read, SUBSCRIPTIONS),
        route(GetSubscription, "getSubscription", GET, Subscription, "", Read, SUBSCRIPTIONS),
        route(ListLocations, "listLocations", GET, Subscription, "locations", Read, LOCATIONS),
        route(ListResourcesOfSubscription, "listResourcesOfSubscription", GET, Subscription, "resources", Read,
            RESOURCES),
        route(ListResourcesOfGroup, "listResourcesOfGroup", GET, Group, "resources", Read, RESOURCES),
        route(ListAudit, "listAudit", GET, Everything, "audit", Read, AUDIT),
        route(VerifyAudit, "verifyAudit", GET, Everything, "audit/verification", Read, AUDIT),

        route(SearchJobs, "searchJobs", GET, Everything, "jobs", Read, JOBS),
        route(GetStats, "getStats", GET, Everything, "stats", Read, STATS),
        route(GetAgenda, "getAgenda", GET, Everything, "agenda", Read, AGENDA),
        route(ListAgendaJobs, "listAgendaJobs", GET, Everything, "agenda/jobs", Read, AGENDA),

        route(ListProviders, "listProviders", GET, Subscription, "providers", Read, PROVIDERS),
        route(GetProvider, "getProvider", GET, Subscription, "providers/Microsoft.Scheduler", Read, PROVIDERS),
        route(RegisterProvider, "registerProvider", POST, Subscription,
            "providers/Microsoft.Scheduler/register", Register, PROVIDER),
        route(UnregisterProvider, "unregisterProvider", POST, Subscription,
            "providers/Microsoft.Scheduler/unregister", Unregister, PROVIDER),

        route(ListGroups, "listGroups", GET, Subscription, "resourcegroups", Read, GROUPS),
        route(GetGroup, "getGroup", GET, Group, "", Read, GROUPS),
        route(ProbeGroup, "probeGroup", HEAD, Group, "", Read, GROUPS),
        route(PutGroup, "putGroup", PUT, Group, "", Write, GROUPS),
        route(DeleteGroup, "deleteGroup", DELETE, Group, "", Delete, GROUPS),
        route(GetGroupOperation, "getGroupOperation", GET, Subscription,
            "operationresults/{operationId}", Read, GROUP_OPERATIONS),

        route(ListCollectionsOfSubscription, "listCollectionsOfSubscription", GET, Subscription,
            "providers/Microsoft.Scheduler/jobCollections", Read, COLLECTIONS),
        route(ListCollectionsOfGroup, "listCollectionsOfGroup", GET, Group,
            "providers/Microsoft.Scheduler/jobCollections", Read, COLLECTIONS),
        route(GetCollection, "getCollection", GET, Collection, "", Read, COLLECTIONS),
        route(ProbeCollection, "probeCollection", HEAD, Collection, "", Read, COLLECTIONS),
        route(PutCollection, "putCollection", PUT, Collection, "", Write, COLLECTIONS),
        route(PatchCollection, "patchCollection", PATCH, Collection, "", Write, COLLECTIONS),
        route(DeleteCollection, "deleteCollection", DELETE, Collection, "", Delete, COLLECTIONS),
        route(EnableCollection, "enableCollection", POST, Collection, "enable", Enable, COLLECTIONS),
        route(DisableCollection, "disableCollection", POST, Collection, "disable", Disable, COLLECTIONS),

        route(PreviewJob, "previewJob", POST, Collection, "preview", Preview, JOBS),
        route(ListJobs, "listJobs", GET, Collection, "jobs", Read, JOBS),
        route(GetJob, "getJob", GET, Job, "", Read, JOBS),
        route(ProbeJob, "probeJob", HEAD, Job, "", Read, JOBS),
        route(PutJob, "putJob", PUT, Job, "", Write, JOBS),
        route(PatchJob, "patchJob", PATCH, Job, "", Write, JOBS),
        route(DeleteJob, "deleteJob", DELETE, Job, "", Delete, JOBS),
        route(DiffJob, "diffJob", POST, Job, "diff", Preview, JOBS),
        route(RunJob, "runJob", POST, Job, "run", Run, JOBS),
        route(ListHistory, "listHistory", GET, Job, "history", Read, HISTORIES),
        route(ListOccurrences, "listOccurrences", GET, Job, "occurrences", Read, OCCURRENCES),
        route(RerunOccurrence, "rerunOccurrence", POST, Job, "occurrences/{dueTime}/rerun", Rerun, OCCURRENCES),
    ]
};

/// The endpoint that answers an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Welcome,
    Live,
    Ready,
    Doctor,
    Metrics,
    Describe,
    CloudMetadata,
    OpenIdConfiguration,
    ListSigningKeys,
    Webfinger,
    IssueToken,
    Me,
    SignIn,
    SignOut,
    ListSignInWays,
    BeginOpenIdSignIn,
    FinishOpenIdSignIn,
    ListSessions,
    EndSessions,
    EndSession,
    ListTokens,
    CreateToken,
    GetToken,
    RevokeToken,
    RotateToken,
    ListKeys,
    RotateKeys,
    RetireKey,
    ListNodes,
    DrainNode,
    UndrainNode,
    ListTenants,
    ListSubscriptions,
    GetSubscription,
    ListLocations,
    ListResourcesOfSubscription,
    ListResourcesOfGroup,
    ListAudit,
    VerifyAudit,
    SearchJobs,
    GetStats,
    GetAgenda,
    ListAgendaJobs,
    ListProviders,
    GetProvider,
    RegisterProvider,
    UnregisterProvider,
    ListGroups,
    GetGroup,
    ProbeGroup,
    PutGroup,
    DeleteGroup,
    GetGroupOperation,
    ListCollectionsOfSubscription,
    ListCollectionsOfGroup,
    GetCollection,
    ProbeCollection,
    PutCollection,
    PatchCollection,
    DeleteCollection,
    EnableCollection,
    DisableCollection,
    PreviewJob,
    ListJobs,
    GetJob,
    ProbeJob,
    PutJob,
    PatchJob,
    DeleteJob,
    DiffJob,
    RunJob,
    ListHistory,
    ListOccurrences,
    RerunOccurrence,
}

/// Answers an operation.
pub(crate) async fn answer(
    asked: &Operation,
    state: &ApiState,
    call: &Call<'_>,
    body: UnreadBody,
) -> Result<Answer, ApiError> {
    match asked.route.endpoint {
        Endpoint::Welcome => health::welcome(),
        Endpoint::Live => health::live(),
        Endpoint::Ready => health::ready(state).await,
        Endpoint::Doctor => doctor::get(state).await,
        Endpoint::Metrics => metrics::get(state, call).await,
        Endpoint::Describe => openapi::get(),
        Endpoint::CloudMetadata => sign_in::metadata(state, call),
        Endpoint::OpenIdConfiguration => sign_in::configuration(state, call),
        Endpoint::ListSigningKeys => sign_in::keys(state).await,
        Endpoint::Webfinger => sign_in::webfinger(state, call),
        Endpoint::IssueToken => sign_in::token(state, call, body).await,
        Endpoint::Me => me::get(state, call),
        Endpoint::SignIn => session::sign_in(state, call, body).await,
        Endpoint::SignOut => session::sign_out(state, call).await,
        Endpoint::ListSignInWays => session::ways(state, call),
        Endpoint::BeginOpenIdSignIn => session::begin(state, call).await,
        Endpoint::FinishOpenIdSignIn => session::finish(state, call).await,
        Endpoint::ListSessions => session::list(state, call).await,
        Endpoint::EndSessions => session::end_all(state, call).await,
        Endpoint::EndSession => session::end(state, call).await,
        Endpoint::ListTokens => token::list(state, call).await,
        Endpoint::CreateToken => token::create(state, asked, call, body).await,
        Endpoint::GetToken => token::get(state, asked, call).await,
        Endpoint::RevokeToken => token::revoke(state, asked, call).await,
        Endpoint::RotateToken => token::rotate(state, asked, call, body).await,
        Endpoint::ListKeys => keys::list(state, call).await,
        Endpoint::RotateKeys => keys::rotate(state, call).await,
        Endpoint::RetireKey => keys::retire(state, call).await,
        Endpoint::ListNodes => node::list(state, call).await,
        Endpoint::DrainNode => node::drain(state, call).await,
        Endpoint::UndrainNode => node::undrain(state, call).await,
        Endpoint::ListTenants => subscription::tenants(state, call),
        Endpoint::ListSubscriptions => subscription::list(state, call).await,
        Endpoint::GetSubscription => subscription::get(state, call, asked.subscription()).await,
        Endpoint::ListLocations => subscription::locations(state, call, asked.subscription()),
        Endpoint::ListResourcesOfSubscription => {
            resource::list(state, call, asked.subscription(), None).await
        }
        Endpoint::ListResourcesOfGroup => {
            let group = asked.group();
            resource::list(state, call, &group.subscription, Some(&group.name)).await
        }
        Endpoint::ListAudit => audit::list(state, call).await,
        Endpoint::VerifyAudit => audit::verify(state, call).await,
        Endpoint::SearchJobs => view::jobs(state, asked, call).await,
        Endpoint::GetStats => view::stats(state, asked, call).await,
        Endpoint::GetAgenda => view::agenda(state, asked, call).await,
        Endpoint::ListAgendaJobs => view::agenda_jobs(state, asked, call).await,
        Endpoint::ListProviders => provider::list(state, call, asked.subscription()).await,
        Endpoint::GetProvider => provider::get(state, call, asked.subscription()).await,
        Endpoint::RegisterProvider => provider::register(state, call, asked.subscription(), true).await,
        Endpoint::UnregisterProvider => provider::register(state, call, asked.subscription(), false).await,
        Endpoint::ListGroups => group::list(state, call, asked.subscription()).await,
        Endpoint::GetGroup => group::get(state, call, asked.group()).await,
        Endpoint::ProbeGroup => group::head(state, call, asked.group()).await,
        Endpoint::PutGroup => group::put(state, call, body, asked.group()).await,
        Endpoint::DeleteGroup => group::delete(state, call, asked.group()).await,
        Endpoint::GetGroupOperation => group::operation(call),
        Endpoint::ListCollectionsOfSubscription => {
            collection::list(state, call, asked.subscription(), None).await
        }
        Endpoint::ListCollectionsOfGroup => {
            let group = asked.group();
            collection::list(state, call, &group.subscription, Some(&group.name)).await
        }
        Endpoint::GetCollection => collection::get(state, call, asked.collection()).await,
        Endpoint::ProbeCollection => collection::head(state, call, asked.collection()).await,
        Endpoint::PutCollection => collection::put(state, call, body, asked.collection()).await,
        Endpoint::PatchCollection => collection::patch(state, call, body, asked.collection()).await,
        Endpoint::DeleteCollection => collection::delete(state, call, asked.collection()).await,
        Endpoint::EnableCollection => collection::switch(state, call, asked.collection(), true).await,
        Endpoint::DisableCollection => collection::switch(state, call, asked.collection(), false).await,
        Endpoint::PreviewJob => job::preview(state, call, body, asked.collection()).await,
        Endpoint::ListJobs => job::list(state, call, asked.collection()).await,
        Endpoint::GetJob => job::get(state, call, asked.job()).await,
        Endpoint::ProbeJob => job::head(state, call, asked.job()).await,
        Endpoint::PutJob => job::put(state, call, body, asked.job()).await,
        Endpoint::PatchJob => job::patch(state, call, body, asked.job()).await,
        Endpoint::DeleteJob => job::delete(state, call, asked.job()).await,
        Endpoint::DiffJob => job::diff(state, call, body, asked.job()).await,
        Endpoint::RunJob => job::run(state, call, asked.job()).await,
        Endpoint::ListHistory => job::history(state, call, asked.job()).await,
        Endpoint::RerunOccurrence => job::rerun(state, call, asked.job()).await,
        Endpoint::ListOccurrences => job::occurrences(state, call, asked.job()).await,
    }
}

/// What writing a scope is called as a right.
pub(crate) fn write_action(scope: &Scope) -> &'static str {
    match scope {
        Scope::Everything | Scope::Subscription(_) => "Microsoft.Resources/subscriptions/write",
        Scope::Group(_) => "Microsoft.Resources/subscriptions/resourceGroups/write",
        Scope::Collection(_) => "Microsoft.Scheduler/jobcollections/write",
        Scope::Job(_) => "Microsoft.Scheduler/jobcollections/jobs/write",
    }
}

const fn route(
    endpoint: Endpoint,
    name: &'static str,
    methods: &'static [&'static str],
    level: Level,
    tail: &'static str,
    verb: Verb,
    resource: &'static str,
) -> Route {
    Route { name, methods, level, tail, verb, resource, endpoint }
}
