//! DynamoDB in the process: dynoxide, on SQLite.
//!
//! - It runs on a thread of its own: its calls block, and would hold up the functions that wait for them.
//! - Its file is not synced to the disk. What survives a crash of this process may not survive one of the machine; the
//!   local stack loads its content again anyway.

use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use dynoxide::Database;
use dynoxide::server::serve_with_shutdown;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::loopback::{ListenError, STOP_GRACE, listen};

/// The database's name in the data folder.
const FILE: &str = "dynamodb.sqlite";

/// How long DynamoDB keeps a stream's records.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html>
const STREAM_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Longer than any statement of dynoxide's takes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the embedded DynamoDB does not start or stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DynamoDbError {
    /// It cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Its file cannot be opened or prepared.
    #[error("DynamoDB's file {}: {message}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// Its thread could not start, or its server failed.
    #[error("DynamoDB: {0}")]
    Server(String),
}

/// A running DynamoDB. Dropping it stops it too, without waiting.
#[derive(Debug)]
pub struct DynamoDb {
    /// Its address, `http://127.0.0.1:PORT`.
    pub endpoint: String,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), String>>,
}

impl DynamoDb {
    /// Starts it on 127.0.0.1:`port` (0: any that is free), with its tables in a file in the folder `data`, which
    /// keeps them between runs.
    ///
    /// # Errors
    ///
    /// [`DynamoDbError`]: the port is taken, the folder cannot be written, the file is not a database of ours.
    pub fn start(port: u16, data: &Path) -> Result<Self, DynamoDbError> {
        let (listener, address) = listen("DynamoDB", port)?;
        let file = data.join(FILE);
        let database = open(&file).map_err(|message| DynamoDbError::File { file, message })?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("dynamodb".to_owned())
            .spawn(move || serve(listener, database, stopped))
            .map_err(|error| DynamoDbError::Server(error.to_string()))?;
        Ok(Self { endpoint: format!("http://{address}"), stop, thread })
    }

    /// Lets running requests finish, closes the connections and the file.
    ///
    /// # Errors
    ///
    /// [`DynamoDbError::Server`] if its server had failed.
    pub async fn stop(self) -> Result<(), DynamoDbError> {
        drop(self.stop);
        let ended = tokio::task::spawn_blocking(|| self.thread.join()).await;
        match ended {
            Ok(Ok(served)) => served.map_err(DynamoDbError::Server),
            Ok(Err(_)) | Err(_) => Err(DynamoDbError::Server("its thread panicked".to_owned())),
        }
    }
}

fn serve(
    listener: std::net::TcpListener,
    database: Database,
    stopped: oneshot::Receiver<()>,
) -> Result<(), String> {
    // One thread: the database serves one call at a time, and a second thread only waits for its lock.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
        let (stop, told) = oneshot::channel::<()>();
        let server = serve_with_shutdown(listener, database, async {
            // An error means that the sender is gone, which is how it is told to stop.
            told.await.ok();
        });
        tokio::pin!(server);
        tokio::select! {
            ended = &mut server => return ended,
            _ = stopped => drop(stop),
        }
        // A client that never finishes its request must not keep the process alive: the runtime's end closes it.
        tokio::time::timeout(STOP_GRACE, server).await.unwrap_or(Ok(()))
    })
}

/// Opens the file, makes writes to it cheap, and trims its streams.
///
/// dynoxide numbers a stream record by the highest number so far, which it looks for without an index: loads would be
/// quadratic. Its tables stand once it has opened the file, so the index is made here, over a second connection.
fn open(file: &Path) -> Result<Database, String> {
    let name = file.to_str().ok_or("the path is not valid Unicode")?;
    let database = Database::new(name).map_err(|error| error.to_string())?;
    database.enable_bulk_loading().map_err(|error| error.to_string())?;
    index_streams(file).map_err(|error| error.to_string())?;
    Ok(database)
}

fn index_streams(file: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(
        "CREATE INDEX IF NOT EXISTS waymark_stream_order
         ON _stream_records (table_name, CAST(sequence_number AS INTEGER))",
    )?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let oldest = i64::try_from(now.saturating_sub(STREAM_RETENTION).as_secs()).unwrap_or(i64::MAX);
    connection.execute("DELETE FROM _stream_records WHERE created_at < ?1", [oldest])?;
    Ok(())
}
