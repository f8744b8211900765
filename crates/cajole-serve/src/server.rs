//! The server: a socket, connections within limits, and an orderly shutdown.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use cajole_infer::Registry;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use crate::app::App;
use crate::compute;
use crate::guard::{Guard, Peers};
use crate::limits::{DRAIN_TIME, HEAD_TIME, MOST_CONNECTIONS, MOST_HEAD_BYTES};
use crate::models::{Models, ModelsError};
use crate::options::Options;
use crate::router::router;
use crate::rulebook::{Rulebook, RulebookError};
use crate::socket::{Socket, hung_up, linger};

/// Threads of the event loop; they only move bytes.
const LOOP_THREADS: usize = 2;

/// How long a server that was told to end still takes requests, each the last of its connection, so
/// that no request in flight is lost.
const LAST_CALL: Duration = Duration::from_secs(1);

/// A service that is ready to run.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    threads: usize,
    remote: Remote,
}

/// Tells a server that runs what to do.
#[derive(Clone)]
pub struct Remote {
    app: Arc<App>,
    stop: watch::Sender<bool>,
}

/// Why a service cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The models cannot be served.
    #[error(transparent)]
    Models(#[from] ModelsError),
    /// The rules cannot be used.
    #[error(transparent)]
    Rules(#[from] RulebookError),
    /// Other machines could call it without a token.
    #[error(
        "{0} can be reached from other machines: give a --token-file, or --no-auth to do without"
    )]
    Open(SocketAddr),
    /// It cannot listen on the address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Threads or sockets cannot be created.
    #[error("cannot start the service: {0}")]
    Start(#[from] io::Error),
}

impl Remote {
    /// Ends the server once the requests in progress are answered.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Reads the folder of rules again; returns the number of files. If it cannot be read, rules
    /// stay as they were.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn reload(&self) -> Result<usize, RulebookError> {
        let reloaded = self.app.rulebook.reload();
        match &reloaded {
            Ok(files) => tracing::info!(files, "rules were read again"),
            Err(error) => tracing::error!(%error, "rules stay as they were"),
        }
        reloaded
    }
}

impl Server {
    /// Listens, but answers nobody yet.
    ///
    /// # Errors
    /// If a setting cannot be used.
    pub fn bind(registry: Arc<Registry>, options: &Options) -> Result<Server, ServeError> {
        let address = options.listen;
        if !address.ip().is_loopback() && options.token.is_none() && !options.no_auth {
            return Err(ServeError::Open(address));
        }
        let models = Models::new(registry, &options.models, options.max_tokens)?;
        let rulebook = Rulebook::new(options.rules.as_deref())?;
        let listen = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let app = Arc::new(App::new(models, rulebook, Guard::new(options), options));
        let remote = Remote { app: app.clone(), stop: watch::channel(false).0 };
        Ok(Server { app, listener, threads: options.threads, remote })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Tells it what to do while it runs.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Answers requests until it is told to stop. Returns whether all requests that had arrived
    /// were answered.
    ///
    /// # Errors
    /// If threads cannot be created.
    pub fn run(self) -> Result<bool, ServeError> {
        allow_files();
        let app = self.app.clone();
        let threads = compute::start(&app.queue, &app.metrics, self.threads)?;
        // The runtime would panic if its first thread did not start.
        std::thread::Builder::new().spawn(|| {})?.join().ok();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(LOOP_THREADS)
            .max_blocking_threads(8)
            .enable_all()
            .build()?;
        let is_drained = runtime.block_on(self.accept())?;
        app.queue.close();
        if is_drained {
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        runtime.shutdown_timeout(Duration::from_secs(1));
        Ok(is_drained)
    }

    /// Accepts connections until told to stop, then waits for the last ones. Returns whether all
    /// ended.
    async fn accept(self) -> Result<bool, ServeError> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let mut connections = Connections::new(self.app.clone());
        let mut stop = self.remote.stop.subscribe();
        let mut last_call = None;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop), if last_call.is_none() => {
                    self.app.is_draining.store(true, Ordering::Relaxed);
                    last_call = Some(Box::pin(sleep(LAST_CALL)));
                    continue;
                }
                () = async { if let Some(call) = &mut last_call { call.await } },
                    if last_call.is_some() => break,
                Some(_) = connections.tasks.join_next() => continue,
            };
            match accepted {
                Ok((stream, client)) => connections.admit(stream, client),
                Err(error) => {
                    // For example too many open files, which is temporary.
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(Duration::from_millis(50)).await;
                }
            }
        }
        // Connections that have arrived, but were not accepted yet.
        for _ in 0..MOST_CONNECTIONS {
            match timeout(Duration::ZERO, listener.accept()).await {
                Ok(Ok((stream, client))) => connections.admit(stream, client),
                _ => break,
            }
        }
        drop(listener);
        Ok(connections.drain().await)
    }
}

/// The open connections.
struct Connections {
    app: Arc<App>,
    router: axum::Router,
    places: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Connections {
    fn new(app: Arc<App>) -> Connections {
        Connections {
            router: router(app.clone()),
            app,
            places: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            closing: watch::channel(false).0,
            tasks: JoinSet::new(),
        }
    }

    /// Serves a client, if there is room for it.
    fn admit(&mut self, stream: TcpStream, client: SocketAddr) {
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            self.tasks.spawn(turn_away(stream));
            return;
        };
        let (app, router) = (self.app.clone(), self.router.clone());
        let closing = self.closing.subscribe();
        self.tasks.spawn(async move {
            serve(&app, stream, client, router, closing).await;
            drop(place);
        });
    }

    /// Waits for all connections to end. Returns whether they did.
    async fn drain(mut self) -> bool {
        self.closing.send_replace(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        timeout(DRAIN_TIME, all).await.is_ok()
    }
}

/// One connection, to its end.
async fn serve(
    app: &App,
    stream: TcpStream,
    client: SocketAddr,
    router: axum::Router,
    mut closing: watch::Receiver<bool>,
) {
    let Ok(local) = stream.local_addr() else { return };
    let _ = stream.set_nodelay(true);
    let stream = Arc::new(stream);
    let peers = Peers { client, local };
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peers);
        router.clone().oneshot(request)
    });
    app.metrics.connections.fetch_add(1, Ordering::Relaxed);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MOST_HEAD_BYTES);
    let connection = builder.serve_connection(TokioIo::new(Socket::new(stream.clone())), service);
    let mut connection = std::pin::pin!(connection);
    // How a connection ends is the client's business; requests are logged. A request in flight when
    // the server ends is still answered, as the last one.
    let last_call = async {
        let _ = closing.wait_for(|closing| *closing).await;
        sleep(LAST_CALL).await;
    };
    // Read what a client sends before checking whether it has hung up: that saves a system call.
    let is_open = tokio::select! {
        biased;
        _ = connection.as_mut() => false,
        () = hung_up(&stream) => false,
        () = last_call => true,
    };
    if is_open {
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            biased;
            _ = connection.as_mut() => {}
            () = hung_up(&stream) => {}
        }
    }
    linger(&stream).await;
    app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
}

/// Tells a client that there is no room for it.
async fn turn_away(mut stream: TcpStream) {
    const ANSWER: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
        Content-Length: 0\r\nConnection: close\r\n\r\n";
    let _ = timeout(Duration::from_secs(1), stream.write_all(ANSWER)).await;
}

/// Raises the limit of open files to the system's maximum: every connection is a file.
#[cfg(unix)]
fn allow_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If not, fewer connections are accepted at a time.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

#[cfg(not(unix))]
fn allow_files() {}
