//! Connections: accepts them, up to a limit, and serves HTTP/1 on each. A client that sends its request too slowly, or that does not
//! read, loses its connection, so that it can't keep memory for ever.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};
use tower_service::Service;

use crate::app::{App, until_stop};
use crate::peer::Peer;
use crate::places::Places;

/// How many connections are open at once.
const CONNECTIONS_MAX: usize = 4096;

/// How many connections remain for requests when all streams are open.
const FOR_REQUESTS: usize = 1024;

/// The most streams of events that a server can have.
pub const STREAMS_MAX: usize = CONNECTIONS_MAX - FOR_REQUESTS;

/// How long a client may take to send the head of a request.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a client may read nothing while there is something to send.
const STALL_TIME_MAX: Duration = Duration::from_mins(1);

/// How many bytes of a connection's requests are kept in memory: the head of a request must fit.
const BUFFER_BYTES_MAX: usize = 16 * 1024;

/// The pause after the system could not accept a connection, for example because too many files are open.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// How long open requests may take after the stop.
const LAST_REQUESTS_MAX: Duration = Duration::from_secs(5);

/// Serves connections until `stop` changes, and then waits a short time for open requests.
pub(crate) async fn serve(app: &App, listener: TcpListener, router: Router) {
    let mut stop = app.stopping();
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let clients = Places::new(usize::MAX, app.limits().streams_each_max.saturating_add(FOR_REQUESTS));
    let mut connections = JoinSet::new();
    loop {
        let accept = async {
            let slot = Arc::clone(&slots).acquire_owned().await.expect("the slots are never closed");
            (slot, listener.accept().await)
        };
        let (slot, accepted) = tokio::select! {
            accepted = accept => accepted,
            () = until_stop(&mut stop) => break,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, address)) => {
                let (router, stop, peer) = (router.clone(), stop.clone(), Peer(address.ip()));
                // A client with too many connections loses the new one. The others are served.
                let Ok(place) = clients.take(peer.network()) else {
                    app.metrics().connections_refused.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                connections.spawn(async move {
                    connection(stream, peer, router, stop).await;
                    drop((slot, place));
                });
            }
            Err(_) => sleep(AFTER_ERROR).await,
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    // After the time, the connections that are left are closed.
    let _ = tokio::time::timeout(LAST_REQUESTS_MAX, ended).await;
}

async fn connection(stream: TcpStream, peer: Peer, router: Router, mut stop: watch::Receiver<bool>) {
    // Without this, an event could wait for the acknowledgement of the one before. If it fails, events are only later.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let mut router = router.clone();
        async move { router.call(request).await }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME_MAX).max_buf_size(BUFFER_BYTES_MAX);
    let serving = builder.serve_connection(TokioIo::new(Stalling::new(stream)), service);
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        // A connection that fails concerns its client alone.
        _ = serving.as_mut() => return,
        () = until_stop(&mut stop) => serving.as_mut().graceful_shutdown(),
    }
    // As above.
    let _ = serving.await;
}

/// A stream that fails when nothing could be written for a while.
struct Stalling<S> {
    stream: S,
    /// Present while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Stalling<S> {
    fn new(stream: S) -> Stalling<S> {
        Stalling { stream, stalled: None }
    }

    /// Passes on what a write returned, unless writes have waited too long.
    fn limit<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL_TIME_MAX)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stalling<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.limit(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::{Instant, sleep};

    use super::{STALL_TIME_MAX, Stalling};

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_reads_loses_its_connection() {
        let (server, _client) = duplex(16);
        let mut server = Stalling::new(server);
        server.write_all(&[0; 16]).await.unwrap();
        let start = Instant::now();
        let stalled = server.write_all(b"x").await.unwrap_err();
        assert_eq!((stalled.kind(), start.elapsed()), (ErrorKind::TimedOut, STALL_TIME_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_keeps_its_connection() {
        let (server, mut client) = duplex(16);
        let mut server = Stalling::new(server);
        let reading = tokio::spawn(async move {
            for _ in 0..10 {
                sleep(STALL_TIME_MAX.mul_f32(0.9)).await;
                client.read_exact(&mut [0; 16]).await.unwrap();
            }
        });
        server.write_all(&[0; 160]).await.unwrap();
        reading.await.unwrap();
    }
}
