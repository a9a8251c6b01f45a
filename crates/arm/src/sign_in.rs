//! Sign-in of service principals: what clients ask before they have a token, and the token endpoint.
//!
//! The clients of Azure take a server whose authority is `/adfs` for an AD FS of their own, and ask nobody else whether
//! it is genuine. So that is the authority which the metadata names; `/{tenant}` and `/adfs/{tenant}` are served
//! alike, for any tenant.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use punctual_model::Secret;
use serde_json::{Value, json};

use crate::{ApiError, ApiVersion, Query};

/// What the metadata calls this cloud. It must not be that of a real one.
const CLOUD: &str = "Punctual";

/// The path of the authority that clients don't ask others about.
const ADFS: &str = "adfs";

/// The segment by which clients name the newer of two equal protocols.
const V2: &str = "v2.0";

/// The ends of the paths that clients write in several ways.
const ENDS: [&[&str]; 3] =
    [&[".well-known", "openid-configuration"], &["discovery", "keys"], &["oauth2", "token"]];

/// The segments of a path without a scope, in the one form that the table of operations has: without `v2.0`, and
/// without `adfs` in front of a tenant. None if it has that form already, or if it is not one of signing in.
pub fn canonical_tail(tail: &str) -> Option<String> {
    let plain: Vec<&str> = tail.split('/').filter(|segment| !segment.eq_ignore_ascii_case(V2)).collect();
    let kept = match plain[..] {
        [first, ref rest @ ..] if rest.len() == 3 && first.eq_ignore_ascii_case(ADFS) => rest,
        ref all => all,
    };
    let ends = |end: &[&str]| {
        let last = kept.len().checked_sub(end.len()).filter(|front| *front > 0).map(|front| &kept[front..]);
        last.is_some_and(|last| last.iter().zip(end).all(|(one, other)| one.eq_ignore_ascii_case(other)))
    };
    (kept.len() != tail.split('/').count() && ENDS.iter().any(|end| ends(end))).then(|| kept.join("/"))
}

/// The authority that a request names by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Such as `/adfs`, as it was written.
    path: String,
    /// Whether that is all of it, without a tenant.
    adfs: bool,
    v2: bool,
}

impl Authority {
    /// Reads it from a path such as `/adfs/.well-known/openid-configuration`.
    pub fn of_path(path: &str) -> Self {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let v2 = segments.iter().skip(1).any(|segment| segment.eq_ignore_ascii_case(V2));
        let count = segments.iter().filter(|segment| !segment.eq_ignore_ascii_case(V2)).count();
        let named = if count == 4 { 2 } else { 1 };
        let adfs = named == 1 && segments.first().is_some_and(|first| first.eq_ignore_ascii_case(ADFS));
        let path = segments.iter().take(named).flat_map(|segment| ["/", segment]).collect();
        Self { path, adfs, v2 }
    }

    /// Who issues its tokens. Clients read the tenant's id from it, whatever they called the tenant.
    pub fn issuer(&self, base: &str, tenant: &str) -> String {
        if self.adfs { format!("{base}/{ADFS}") } else { format!("{base}/{tenant}") }
    }

    /// The OpenID Connect configuration.
    pub fn configuration(&self, base: &str, tenant: &str) -> Value {
        let protocol = if self.v2 { "oauth2/v2.0" } else { "oauth2" };
        let endpoint = |name: &str| format!("{base}{}/{protocol}/{name}", self.path);
        json!({
            "issuer": self.issuer(base, tenant),
            "authorization_endpoint": endpoint("authorize"),
            "token_endpoint": endpoint("token"),
            "jwks_uri": format!("{base}/common/discovery/keys"),
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
            "grant_types_supported": ["client_credentials"],
            "response_types_supported": ["token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }
}

/// Where the parts of this cloud are, in the shape of an api-version.
pub fn metadata(version: Option<&str>, base: &str) -> Result<Value, ApiError> {
    ApiVersion::require_any(version)?;
    let version = version.unwrap_or_default();
    let (login, audience) = (format!("{base}/{ADFS}"), format!("{base}/"));
    // `1.0` and the dates are in order as texts.
    if version < "2019" {
        return Ok(json!({
            "galleryEndpoint": base,
            "graphEndpoint": base,
            "portalEndpoint": base,
            "authentication": {"loginEndpoint": login, "audiences": [audience]},
        }));
    }
    let cloud = json!({
        "name": CLOUD,
        "resourceManager": base,
        "microsoftGraphResourceId": base,
        "graph": base,
        "portal": base,
        "authentication": {
            "loginEndpoint": login, "audiences": [audience], "tenant": ADFS, "identityProvider": "ADFS",
        },
        "suffixes": {},
    });
    Ok(if version < "2022" { json!([cloud]) } else { cloud })
}

/// Says that this host trusts itself, which MSAL.NET asks of an AD FS.
pub fn webfinger(base: &str) -> Value {
    json!({
        "subject": base,
        "links": [{"rel": "http://schemas.microsoft.com/rel/trusted-realm", "href": base}],
    })
}

/// The keys that verify what the token endpoint issues.
pub fn key_set(keys: &[&Value]) -> Value {
    json!({ "keys": keys })
}

/// Who asks the token endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCredentials {
    /// The id of a token.
    pub client_id: String,
    /// What must be its secret.
    pub client_secret: Secret,
}

/// An error of the token endpoint, which has an envelope of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInError {
    /// The HTTP status.
    pub status: u16,
    code: &'static str,
    description: String,
}

impl SignInError {
    /// 400: the request is no request for a token.
    pub fn invalid_request(description: impl Into<String>) -> Self {
        Self { status: 400, code: "invalid_request", description: description.into() }
    }

    /// The same for what could not be read at all.
    pub fn unreadable(error: &ApiError) -> Self {
        Self { status: error.status, ..Self::invalid_request(error.message.clone()) }
    }

    /// 400: another way of signing in.
    fn unsupported_grant() -> Self {
        let description = "Only the grant_type client_credentials is served: the client id is the id of a token, the client \
                           secret the token itself.";
        Self { status: 400, code: "unsupported_grant_type", description: description.to_owned() }
    }

    /// 401, which clients don't remember, as they do a 400.
    fn invalid_client(description: &str) -> Self {
        Self { status: 401, code: "invalid_client", description: description.to_owned() }
    }

    /// 401: there is no such client, or this is not its secret.
    pub fn unknown_client() -> Self {
        Self::invalid_client(
            "The client id and the client secret don't belong to a token of this server: the id is that which `punctual \
             token list` shows, the secret begins with pct_. The token may have been revoked or rotated.",
        )
    }

    /// 401: the secret was good until then.
    pub fn expired_client(expired_at: Timestamp) -> Self {
        Self::invalid_client(&format!("The token has expired at {expired_at}: rotate it, or make a new one."))
    }

    /// The body of the answer.
    pub fn to_json(&self) -> Value {
        json!({"error": self.code, "error_description": self.description})
    }
}

/// Reads a request for a token: a form, and the header `Authorization` if the client shows who it is by that.
pub fn read_token_request(
    form: &[u8],
    authorization: Option<&str>,
) -> Result<ClientCredentials, SignInError> {
    let form =
        std::str::from_utf8(form).map_err(|_| SignInError::invalid_request("The body is not UTF-8."))?;
    let form = Query::decode(form);
    for name in ["grant_type", "client_id", "client_secret"] {
        if form.count(name) > 1 {
            return Err(SignInError::invalid_request(format!("The body has {name} more than once.")));
        }
    }
    match form.get("grant_type") {
        None => {
            let description = "The body must be a form with grant_type, client_id and client_secret.";
            return Err(SignInError::invalid_request(description));
        }
        Some("client_credentials") => {}
        Some(_) => return Err(SignInError::unsupported_grant()),
    }
    if form.get("client_assertion").is_some() {
        return Err(SignInError::invalid_client("Certificates are not served: use a client secret."));
    }
    if let Some((client_id, client_secret)) = authorization.and_then(read_basic) {
        return Ok(ClientCredentials { client_id, client_secret });
    }
    match (form.get("client_id"), form.get("client_secret")) {
        (Some(client_id), Some(secret)) => {
            Ok(ClientCredentials { client_id: client_id.to_owned(), client_secret: Secret::new(secret) })
        }
        _ => Err(SignInError::invalid_client("The body has no client_id or no client_secret.")),
    }
}

/// Id and secret of HTTP's basic authentication, as RFC 6749 wants them.
fn read_basic(authorization: &str) -> Option<(String, Secret)> {
    let (scheme, encoded) = authorization.split_once(' ')?;
    let decoded = STANDARD.decode(encoded.trim()).ok().filter(|_| scheme.eq_ignore_ascii_case("Basic"))?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    let plain = |text: &str| percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned);
    Some((plain(id)?, Secret::new(plain(secret)?)))
}

/// What a token that is to be issued says.
#[derive(Clone, Debug)]
pub struct NewAccessToken<'a> {
    /// The base URL of this server.
    pub base: &'a str,
    /// The authority that was asked.
    pub authority: &'a Authority,
    /// The tenant's id.
    pub tenant: &'a str,
    /// The id of the client.
    pub client_id: &'a str,
    /// Tells secrets of the client apart.
    pub secret_fingerprint: &'a str,
    /// When it is issued.
    pub issued_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// The claim by which a token is known to come from the present secret of its client.
const FINGERPRINT: &str = "secret_fingerprint";

/// The claims of a new token.
pub fn claims(new: &NewAccessToken<'_>) -> Value {
    let issued_at = new.issued_at.as_second();
    json!({
        "aud": format!("{}/", new.base),
        "iss": new.authority.issuer(new.base, new.tenant),
        "iat": issued_at,
        "nbf": issued_at,
        "exp": new.expires_at.as_second(),
        "tid": new.tenant,
        "oid": new.client_id,
        "sub": new.client_id,
        "appid": new.client_id,
        "ver": "1.0",
        FINGERPRINT: new.secret_fingerprint,
    })
}

/// The names of the claims that say whose token it is: the client's id, and the fingerprint of its secret.
pub const CLIENT_CLAIMS: (&str, &str) = ("appid", FINGERPRINT);

/// The answer of the token endpoint.
pub fn token_answer(token: &str, issued_at: Timestamp, expires_at: Timestamp) -> Value {
    json!({
        "token_type": "Bearer",
        // A number: az can't use a text.
        "expires_in": expires_at.as_second() - issued_at.as_second(),
        "expires_on": expires_at.as_second().to_string(),
        "access_token": token,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_an_authority_are_one() {
        let check = |tail: &str, expected: Option<&str>| {
            assert_eq!(canonical_tail(tail).as_deref(), expected, "{tail}");
        };
        check("t/oauth2/token", None);
        check("adfs/oauth2/token", None);
        check("t/oauth2/v2.0/token", Some("t/oauth2/token"));
        check("adfs/oauth2/V2.0/token", Some("adfs/oauth2/token"));
        check("ADFS/t/oauth2/token", Some("t/oauth2/token"));
        check("adfs/t/oauth2/v2.0/token", Some("t/oauth2/token"));
        check("t/v2.0/.well-known/openid-configuration", Some("t/.well-known/openid-configuration"));
        check("adfs/t/.well-known/openid-configuration", Some("t/.well-known/openid-configuration"));
        check("healthz", None);
        check("", None);
        // Nothing else has several spellings.
        for other in ["v2.0", "v2.0/", "v2.0/tokens", "tokens/v2.0", "oauth2/v2.0/token", "adfs/a/b/c"] {
            check(other, None);
        }
    }

    #[test]
    fn a_configuration_names_the_endpoints_of_its_authority() {
        let check = |path: &str, issuer: &str, token: &str| {
            let document = Authority::of_path(path).configuration("https://h:1", "T");
            assert_eq!(
                (&document["issuer"], &document["token_endpoint"]),
                (&json!(issuer), &json!(token)),
                "{path}"
            );
        };
        let name = ".well-known/openid-configuration";
        check(&format!("/adfs/{name}"), "https://h:1/adfs", "https://h:1/adfs/oauth2/token");
        check(&format!("/my.org/v2.0/{name}"), "https://h:1/T", "https://h:1/my.org/oauth2/v2.0/token");
        check(&format!("//x/{name}/"), "https://h:1/T", "https://h:1/x/oauth2/token");
        check(
            &format!("/adfs/my.org/v2.0/{name}"),
            "https://h:1/T",
            "https://h:1/adfs/my.org/oauth2/v2.0/token",
        );
    }

    #[test]
    fn metadata_has_three_shapes() {
        let of = |version: &str| metadata(Some(version), "https://h").unwrap();
        for version in ["1.0", "2015-01-01", "2018-01-01"] {
            let found = of(version);
            assert_eq!(found["authentication"]["loginEndpoint"], "https://h/adfs", "{version}");
            assert_eq!(
                (&found["galleryEndpoint"], found.get("name")),
                (&json!("https://h"), None),
                "{version}"
            );
        }
        for version in ["2019-05-01", "2020-06-01"] {
            assert_eq!(of(version)[0], of("2022-09-01"), "{version}");
        }
        assert_eq!(of("2022-09-01")["authentication"]["audiences"], json!(["https://h/"]));
        assert_eq!(metadata(None, "https://h").unwrap_err().code, "MissingApiVersionParameter");
    }

    #[test]
    fn a_request_for_a_token_is_read() {
        let read = |form: &str, header: Option<&str>| {
            let read = read_token_request(form.as_bytes(), header);
            read.map(|found| format!("{}:{}", found.client_id, found.client_secret.expose()))
                .map_err(|error| (error.status, error.code))
        };
        let form =
            "grant_type=client_credentials&client_id=a&client_secret=b%2Bc&scope=x%2F%2F.default&unknown=1";
        assert_eq!(read(form, None), Ok("a:b+c".to_owned()));
        let grant = "grant_type=client_credentials";
        // a%3A:b%20c
        assert_eq!(read(grant, Some("basic YSUzQTpiJTIwYw==")), Ok("a::b c".to_owned()));
        assert_eq!(read(grant, Some("Bearer x")), Err((401, "invalid_client")));
        assert_eq!(read("", None), Err((400, "invalid_request")));
        assert_eq!(read("{}", None), Err((400, "invalid_request")));
        assert_eq!(read("grant_type=password&username=a", None), Err((400, "unsupported_grant_type")));
        assert_eq!(read(&format!("{grant}&client_id=a"), None), Err((401, "invalid_client")));
        assert_eq!(read(&format!("{form}&client_secret=d"), None), Err((400, "invalid_request")));
        assert_eq!(read(&format!("{form}&client_assertion=d"), None), Err((401, "invalid_client")));
        assert_eq!(read_token_request(b"\xff", None).unwrap_err().status, 400);
    }

    #[test]
    fn the_answer_has_a_number_where_az_wants_one() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let answer = token_answer("x", at(100), at(3_700));
        let expected =
            json!({"token_type": "Bearer", "expires_in": 3_600, "expires_on": "3700", "access_token": "x"});
        assert_eq!(answer, expected);
    }
}
