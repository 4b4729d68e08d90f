//! The page of the server: the Hall, whose files are built by `cargo xtask web` and are part of the binary. It is served only from here:
//! its policy forbids everything from another host, and every script or style that is not a file of its own.

use std::io::Read;
use std::sync::{LazyLock, OnceLock};

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;

use crate::app::App;
use crate::caller::take_public;
use crate::problem::Problem;

/// A file of the page.
struct File {
    /// The path, without the first slash.
    name: &'static str,
    /// The hash of its contents.
    hash: &'static str,
    /// Its contents, compressed.
    gzip: &'static [u8],
    /// Its contents. They are unpacked when the first client needs them.
    plain: OnceLock<Bytes>,
}

/// All files of the page.
static FILES: LazyLock<Box<[File]>> = LazyLock::new(|| Box::new(include!("../assets/files.rs")));

const INDEX: &str = "index.html";

/// What the page may load: only files of this server, and images that it draws itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page itself.
pub(crate) async fn index(State(app): State<App>, parts: Parts) -> Result<Response, Problem> {
    take_public(&parts, &app)?;
    respond(INDEX, &parts.headers)
}

/// A file of the page.
pub(crate) async fn asset(State(app): State<App>, Path(name): Path<String>, parts: Parts) -> Result<Response, Problem> {
    take_public(&parts, &app)?;
    respond(&format!("assets/{name}"), &parts.headers)
}

fn respond(name: &str, headers: &HeaderMap) -> Result<Response, Problem> {
    let nothing = || Problem::not_found("There is nothing at this address.");
    let file = FILES.iter().find(|file| file.name == name).ok_or_else(nothing)?;
    let mut response =
        if is_known(file.hash, headers) { StatusCode::NOT_MODIFIED.into_response() } else { contents(file, headers) };
    let own = response.headers_mut();
    // Weak: the compressed form and the other one have the same tag.
    let tag = format!("W/\"{}\"", file.hash);
    own.insert(ETAG, HeaderValue::from_str(&tag).expect("a hash is a valid header"));
    own.insert(VARY, HeaderValue::from_static("accept-encoding"));
    // The browser asks each time whether the file has changed: a new binary may have other files.
    own.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    own.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    own.insert(CONTENT_TYPE, HeaderValue::from_static(kind(file.name)));
    Ok(response)
}

/// Whether the client has the file with this hash.
fn is_known(hash: &str, headers: &HeaderMap) -> bool {
    let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim).any(|tag| {
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        tag == "*" || tag.trim_matches('"') == hash
    })
}

fn contents(file: &'static File, headers: &HeaderMap) -> Response {
    if takes_gzip(headers) {
        let mut response = Body::from(file.gzip).into_response();
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return response;
    }
    let plain = file.plain.get_or_init(|| {
        let mut unpacked = Vec::new();
        GzDecoder::new(file.gzip).read_to_end(&mut unpacked).expect("the files of the page are valid gzip");
        unpacked.into()
    });
    Body::from(plain.clone()).into_response()
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && parts.all(|weight| !matches!(weight, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("woff2") => "font/woff2",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use axum::http::header::{
        ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    };
    use axum::http::{HeaderMap, HeaderValue, StatusCode};
    use flate2::read::GzDecoder;

    use super::{FILES, INDEX, POLICY, kind, respond, takes_gzip};

    fn headers(name: axum::http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn every_file_can_be_reached_has_a_type_and_can_be_unpacked() {
        assert!(FILES.iter().any(|file| file.name == INDEX));
        for file in &**FILES {
            let is_reached =
                file.name == INDEX || file.name.strip_prefix("assets/").is_some_and(|name| !name.contains('/'));
            assert!(is_reached, "no route leads to {}", file.name);
            assert_ne!(kind(file.name), "application/octet-stream", "{}", file.name);
            assert!(GzDecoder::new(file.gzip).read_to_end(&mut Vec::new()).unwrap() > 0, "{}", file.name);
        }
    }

    #[test]
    fn the_policy_of_the_development_server_is_the_same() {
        assert!(include_str!("../../../web/vite.config.ts").contains(POLICY));
    }

    #[test]
    fn a_client_gets_what_it_takes_and_only_what_is_new() {
        let status = |name: &str, headers: &HeaderMap| respond(name, headers).map(|reply| reply.status().as_u16());
        let packed = respond(INDEX, &headers(ACCEPT_ENCODING, "br, gzip;q=0.5")).unwrap();
        assert_eq!((packed.status(), packed.headers()[CONTENT_ENCODING].to_str().unwrap()), (StatusCode::OK, "gzip"));
        assert_eq!(packed.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
        assert_eq!(packed.headers()[CONTENT_SECURITY_POLICY], POLICY);
        let plain = respond(INDEX, &HeaderMap::new()).unwrap();
        assert_eq!((plain.status(), plain.headers().get(CONTENT_ENCODING)), (StatusCode::OK, None));
        let tag = plain.headers()[ETAG].to_str().unwrap();
        for known in [tag, tag.trim_start_matches("W/"), &format!("\"old\", {tag}"), "*"] {
            assert_eq!(status(INDEX, &headers(IF_NONE_MATCH, known)).unwrap(), 304, "{known}");
        }
        assert_eq!(status(INDEX, &headers(IF_NONE_MATCH, "\"old\"")).unwrap(), 200);
        assert_eq!(status("assets/../Cargo.toml", &HeaderMap::new()).unwrap_err().status, 404);
    }

    #[test]
    fn a_weight_of_zero_refuses() {
        for (list, takes) in [("gzip", true), ("GZIP", true), ("gzip;q=0", false), ("br", false), ("", false)] {
            assert_eq!(takes_gzip(&headers(ACCEPT_ENCODING, list)), takes, "{list}");
        }
    }
}
