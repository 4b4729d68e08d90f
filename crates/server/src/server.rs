//! A server: resumes what was under way, serves until it is told to stop, and stops in order.

use std::time::Duration;

use guildhall::{Hall, HallError};
use tokio::net::TcpListener;

use crate::activity::Activities;
use crate::app::{App, Endings, Settings};
use crate::connection;
use crate::offer::Offer;
use crate::routes::router;

/// How long calls that are under way may take after the server was told to stop.
const LAST_CALLS_MAX: Duration = Duration::from_secs(20);

/// Why a server can't be prepared.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The team of an offer can't work.
    #[error("the offer {name}: {source}")]
    Offer {
        /// The name of the offer.
        name: String,
        /// The reason.
        source: HallError,
    },
    /// The journal can't be read.
    #[error(transparent)]
    Hall(#[from] HallError),
}

/// A server that is ready to serve.
pub struct Server {
    app: App,
    endings: Endings,
}

impl Server {
    /// Prepares a server. `activities` must be what the halls of the offers report to: see [`Activities::watcher`].
    pub async fn new(
        hall: Hall,
        offers: Vec<Offer>,
        activities: Activities,
        settings: Settings,
    ) -> Result<Server, ServerError> {
        let (app, endings) = App::new(hall, offers, activities, settings).await?;
        Ok(Server { app, endings })
    }

    /// Serves until `stop` is done. Then no new call leaves, streams end, and calls that are under way get 20 seconds. Everything
    /// that has not ended is resumed by the next server.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Result<(), HallError> {
        let Server { app, endings } = self;
        let _books = app.hall().keep_books().await?;
        let serving = connection::serve(&app, listener, router(app.clone()));
        let mut serving = std::pin::pin!(serving);
        let mut noting = std::pin::pin!(app.note_endings(endings));
        // Many sessions take a while, and those who watch do not have to wait for it.
        let resuming = async {
            app.resume_all().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = stop => {}
            () = serving.as_mut() => {}
            () = noting.as_mut() => {}
            () = resuming => {}
        }
        app.stop();
        let stopped = async {
            serving.await;
            app.finish_changes().await;
        };
        let stopped = async { tokio::join!(stopped, app.keeper().shut_down(LAST_CALLS_MAX)) };
        tokio::select! {
            _ = stopped => {}
            () = noting => {}
        }
        Ok(())
    }
}
