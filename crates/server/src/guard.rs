//! What every request passes: its host and origin must be ours, its caller must keep to a rate, and the response forbids everything
//! that a page of another site could do with it. The log has the route, never the address, a text or a token.

use std::net::SocketAddr;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::caller::too_many;
use crate::peer::Peer;
use crate::problem::{ForLog, OverRate, Problem};

/// The headers of every response that does not have its own.
const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let method = name_of(request.method());
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or_else(|| "(unknown)".to_owned(), |matched| matched.as_str().to_owned());
    let response = match check(&app, &request) {
        Ok(()) if request.method().is_safe() => next.run(request).await,
        // A client that goes in the middle of a request must not leave it half done.
        Ok(()) => {
            let finished = app.finish(next.run(request)).await;
            finished.unwrap_or_else(|| Problem::internal("the request panicked").into_response())
        }
        Err(problem) => problem.into_response(),
    };
    let response = with_headers(response);
    let (status, took) = (response.status().as_u16(), start.elapsed());
    app.metrics().request(method, &route, status, took);
    // Requests above the rate are counted, but have no lines: they would fill the disk with the log.
    if response.extensions().get::<OverRate>().is_none() {
        let why = response.extensions().get::<ForLog>().map(|ForLog(why)| format!(": {why}")).unwrap_or_default();
        app.log_request(&format!("{method} {route} {status} {:.1} ms{why}", took.as_secs_f64() * 1000.0));
    }
    response
}

/// The name of a method. Clients can make up others without end.
fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}

fn check(app: &App, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    // An address with a host counts instead of the header.
    let host = request.uri().authority().map(Authority::as_str).or_else(|| single(headers, &HOST));
    if !host.is_some_and(|host| app.sites().is_host(host)) {
        return Err(Problem::forbidden("This server does not serve this host."));
    }
    if headers.contains_key(ORIGIN) && !single(headers, &ORIGIN).is_some_and(|origin| app.sites().is_origin(origin)) {
        return Err(Problem::forbidden("This server does not take requests from pages of this site."));
    }
    app.take(request.extensions().get::<Peer>().copied()).map_err(too_many)
}

/// The value of a header that comes exactly once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() { None } else { Some(value) }
}

fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// The hosts and origins that are ours.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Why an origin can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not an origin: write it as https://HOST or http://HOST:PORT, without a path")]
pub struct OriginError(String);

impl Sites {
    /// The names of this machine itself, at a port, and the address at which the server listens.
    pub fn of_machine(address: SocketAddr) -> Sites {
        let names = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{}", address.port()));
        let mut hosts: Vec<String> = names.into_iter().chain([address.to_string()]).collect();
        // Browsers leave the usual port out.
        let usual: Vec<String> = hosts.iter().filter_map(|host| host.strip_suffix(":80").map(str::to_owned)).collect();
        hosts.extend(usual);
        let origins = hosts.iter().map(|host| format!("http://{host}")).collect();
        Sites { hosts, origins }
    }

    /// Adds an origin under which others reach this server.
    pub fn with_origin(mut self, origin: &str) -> Result<Sites, OriginError> {
        let origin = origin.trim_end_matches('/').to_ascii_lowercase();
        let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://")).unwrap_or_default();
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host) {
            return Err(OriginError(origin));
        }
        self.hosts.push(host.to_owned());
        self.origins.push(origin);
        Ok(self)
    }

    fn is_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    fn is_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin)
    }
}

#[cfg(test)]
mod tests {
    use super::Sites;

    #[test]
    fn only_our_hosts_and_origins_are_ours() {
        let sites = Sites::of_machine("127.0.0.1:8787".parse().unwrap()).with_origin("https://Hall.example/").unwrap();
        for host in ["127.0.0.1:8787", "LOCALHOST:8787", "[::1]:8787", "hall.example"] {
            assert!(sites.is_host(host), "{host}");
        }
        for host in ["127.0.0.1", "127.0.0.1:80", "evil.example:8787", "hall.example.evil.example", ""] {
            assert!(!sites.is_host(host), "{host}");
        }
        assert!(sites.is_origin("https://hall.example") && sites.is_origin("http://localhost:8787"));
        for origin in ["http://hall.example", "null", "https://hall.example:8787", "http://localhost"] {
            assert!(!sites.is_origin(origin), "{origin}");
        }
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for wrong in ["", "hall.example", "ftp://hall.example", "https://", "https://a/b", "https://a?b", "https://a b"]
        {
            assert!(Sites::default().with_origin(wrong).is_err(), "{wrong}");
        }
    }
}
