//! The routes, and their description in `OpenAPI`, which is made from the same functions and types.

pub(crate) mod events;
pub(crate) mod money;
pub(crate) mod offers;
pub(crate) mod operator;
pub(crate) mod reading;
mod tree_schema;
pub(crate) mod viewers;
pub(crate) mod work;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::activity::{Activity, Does};
use crate::app::App;
use crate::events::Cast;
use crate::guard::guard;
use crate::page;
use crate::problem::Problem;

/// Where the description of the routes is.
const OPENAPI: &str = "/api/openapi.json";

fn documented() -> OpenApiRouter<App> {
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(TOKEN)).build();
    let components =
        ComponentsBuilder::new().security_scheme("token", SecurityScheme::Http(token)).schema_from::<Problem>();
    let components = components.schema_from::<Cast<'_>>().schema_from::<Activity<'_>>().schema_from::<Does>().build();
    let info = InfoBuilder::new()
        .title("Guildhall")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Sessions in which agents hire agents: fund, ask, watch, steer, get the change back."))
        .build();
    let api = OpenApiBuilder::new().info(info).components(Some(components)).build();
    OpenApiRouter::with_openapi(api)
        .routes(routes!(offers::offers))
        .routes(routes!(offers::make_session, operator::sessions))
        .routes(routes!(reading::session))
        .routes(routes!(reading::tree))
        .routes(routes!(reading::ledger))
        .routes(routes!(reading::transcript))
        .routes(routes!(reading::text))
        .routes(routes!(events::events))
        .routes(routes!(work::request))
        .routes(routes!(work::stop))
        .routes(routes!(work::message))
        .routes(routes!(work::top_up))
        .routes(routes!(money::fund))
        .routes(routes!(money::settle))
        .routes(routes!(money::refund))
        .routes(routes!(viewers::list, viewers::add))
        .routes(routes!(viewers::revoke))
        .routes(routes!(operator::health))
        .routes(routes!(operator::metrics))
}

const TOKEN: &str = "The operator's token, or the token of a session's owner or viewer.";

/// Returns the description of the routes, as JSON.
pub fn openapi() -> String {
    let (_, api): (Router<App>, OpenApi) = documented().split_for_parts();
    let mut text = api.to_pretty_json().expect("the description is JSON");
    text.push('\n');
    text
}

/// Returns the routes with everything that each request passes.
pub(crate) fn router(app: App) -> Router {
    let (router, _) = documented().split_for_parts();
    let description = openapi();
    let description = move || async move { ([("content-type", "application/json")], description.clone()) };
    router
        .route(OPENAPI, get(description))
        .route("/", get(page::index))
        .route("/assets/{name}", get(page::asset))
        .fallback(async || Problem::not_found("There is nothing at this address."))
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", "This address does not take this method.")
                .into_response()
        })
        .layer(from_fn_with_state(app.clone(), guard))
        .with_state(app)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::openapi;

    /// `GOLDEN=write cargo test -p guildhall-server` writes the file again.
    #[test]
    fn the_committed_description_is_the_one_of_the_routes() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        if std::env::var("GOLDEN").as_deref() == Ok("write") {
            fs::write(&path, openapi()).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap();
        let same = "docs/openapi.json is old: GOLDEN=write cargo test -p guildhall-server";
        assert!(committed == openapi(), "{same}");
    }
}
