//! DynamoDB in this process: dynoxide, on SQLite.
//!
//! - It runs on a thread of its own, because its calls block and would delay the functions that wait for them.
//! - It listens on HTTP behind the `guard`, like every server of the stack that accepts writes. dynoxide's own server is
//!   `hidden`. The clients of this process reach the database without HTTP: see `client`.
//! - Its file is not synced to the disk. Data that survives a crash of this process may not survive one of the machine. The local
//!   stack loads its content again anyway.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use dynoxide::Database;
use hyper::service::service_fn;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::guard::guarded;
use crate::loopback::{ListenError, Server, listen};

pub(crate) mod calls;
pub(crate) mod client;
#[cfg(test)]
mod differences;
mod empty_keys;
pub(crate) mod expiry;
mod hidden;
pub(crate) mod idempotency;
mod shards;
mod watch;

use calls::{Call, Calls};
use hidden::{Hidden, accept};
use watch::Beside;

/// Its name in messages.
const NAME: &str = "DynamoDB";
/// The database's name in the data folder.
const FILE: &str = "dynamodb.sqlite";

/// The time for which DynamoDB keeps a stream's records.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html>
const STREAM_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Longer than any statement of dynoxide's takes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Why the embedded DynamoDB failed to start or stop.
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
        /// The problem.
        message: String,
    },
    /// Its file was not written by the local stack, or is damaged.
    #[error(
        "DynamoDB's file {} is damaged, or the local stack did not make it: {message}. Move it away and start again. What it held is \
         lost: load the content again with --content", file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// SQLite's message.
        message: String,
    },
    /// Its thread could not start, or its server failed.
    #[error("DynamoDB: {0}")]
    Server(String),
}

/// A running DynamoDB. Dropping it also stops it, without waiting.
#[derive(Debug)]
pub struct DynamoDb {
    /// Its address, `http://127.0.0.1:PORT`.
    pub endpoint: String,
    /// Sends calls to its thread.
    pub(crate) calls: Calls,
    server: Server,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), String>>,
}

impl DynamoDb {
    /// Starts it on 127.0.0.1:`port` (0 for any free port). Its tables are in a file in the folder `data`, which keeps them
    /// between runs.
    ///
    /// # Errors
    ///
    /// [`DynamoDbError`] if the port is in use, the folder cannot be written, or the file is not a database of the local stack.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(port: u16, data: &Path) -> Result<Self, DynamoDbError> {
        let listening = listen(NAME, port)?;
        let file = data.join(FILE);
        examine(&file)?;
        let opened = open(&file).and_then(|database| {
            let beside = Beside::open(&file).map_err(|error| error.to_string())?;
            Ok((database, beside))
        });
        let (database, beside) = opened.map_err(|message| DynamoDbError::File { file, message })?;
        let (stop, stopped) = oneshot::channel();
        let (sender, called) = mpsc::unbounded_channel();
        let calls = Calls {
            sender,
            beside,
            turn: Arc::default(),
        };
        let (hidden, doors) = Hidden::begin(calls.clone());
        let thread = std::thread::Builder::new()
            .name("dynamodb".to_owned())
            .spawn({
                let turn = calls.turn.clone();
                move || {
                    serve(
                        &database,
                        (called, turn),
                        accept(database.clone(), doors),
                        stopped,
                    )
                }
            })
            .map_err(|error| DynamoDbError::Server(error.to_string()))?;
        let service = service_fn(move |request| hidden.clone().forward(request));
        let server = Server::on(NAME, listening, guarded(service))?;
        Ok(Self {
            endpoint: format!("http://{}", server.address),
            calls,
            server,
            stop,
            thread,
        })
    }

    /// Lets running requests finish, closes the connections and the file.
    ///
    /// # Errors
    ///
    /// [`DynamoDbError::Server`] if its server had failed.
    pub async fn stop(self) -> Result<(), DynamoDbError> {
        self.server.stop().await;
        drop(self.stop);
        let ended = tokio::task::spawn_blocking(|| self.thread.join()).await;
        match ended {
            Ok(Ok(served)) => served.map_err(DynamoDbError::Server),
            Ok(Err(_)) | Err(_) => Err(DynamoDbError::Server("its thread panicked".to_owned())),
        }
    }
}

fn serve(
    database: &Database,
    (mut called, turn): (mpsc::UnboundedReceiver<Call>, Arc<Mutex<()>>),
    accepting: impl Future<Output = ()> + Send + 'static,
    stopped: oneshot::Receiver<()>,
) -> Result<(), String> {
    // One thread, because the database handles one call at a time, and a second thread would only wait for its lock.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let direct = database.clone();
        // Both end with the runtime.
        tokio::spawn(async move {
            while let Some(call) = called.recv().await {
                let _turn = turn.lock().await;
                call(&direct);
            }
        });
        tokio::spawn(accepting);
        // An error means that the sender was dropped, which is the signal to stop.
        stopped.await.ok();
    });
    Ok(())
}

/// Looks for damage before the file is used. Otherwise some later call would fail because of it.
fn examine(file: &Path) -> Result<(), DynamoDbError> {
    if !file.exists() {
        return Ok(());
    }
    let checked = Connection::open(file).and_then(|connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    });
    let is_damage = |code| matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase);
    let file = file.to_owned();
    match checked {
        Ok(found) if found == "ok" => Ok(()),
        Ok(message) => Err(DynamoDbError::Damaged { file, message }),
        Err(error) => {
            let message = error.to_string();
            Err(match error.sqlite_error_code().is_some_and(is_damage) {
                true => DynamoDbError::Damaged { file, message },
                false => DynamoDbError::File { file, message },
            })
        }
    }
}

/// Opens the file, makes its writes cheap, and trims its streams.
///
/// dynoxide numbers a stream record by the highest number so far, which it finds without an index, so loads would be quadratic.
/// Its tables exist once it has opened the file, so the index is created here, over a second connection.
fn open(file: &Path) -> Result<Database, String> {
    let name = file.to_str().ok_or("the path is not valid Unicode")?;
    let database = Database::new(name).map_err(|error| error.to_string())?;
    let connection = Connection::open(file).map_err(|error| error.to_string())?;
    if !is_built_for_this(&connection).map_err(|error| error.to_string())? {
        database
            .enable_bulk_loading()
            .map_err(|error| error.to_string())?;
    }
    index_streams(&connection).map_err(|error| error.to_string())?;
    Ok(database)
}

/// Returns whether SQLite was built with the settings of `.cargo/config.toml`, which are faster than dynoxide's. A build from
/// outside the checkout does not read them.
fn is_built_for_this(connection: &Connection) -> rusqlite::Result<bool> {
    let synchronous =
        connection.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0))?;
    Ok(synchronous == 0)
}

fn index_streams(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(
        "CREATE INDEX IF NOT EXISTS waymark_stream_order
         ON _stream_records (table_name, CAST(sequence_number AS INTEGER))",
    )?;
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let oldest = i64::try_from(now.saturating_sub(STREAM_RETENTION).as_secs()).unwrap_or(i64::MAX);
    connection.execute(
        "DELETE FROM _stream_records WHERE created_at < ?1",
        [oldest],
    )?;
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use aws_sdk_dynamodb::Client;
    use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
    use aws_sdk_dynamodb::types::{
        AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType,
        ScalarAttributeType, StreamSpecification, StreamViewType,
    };

    use super::*;

    pub(crate) fn client(endpoint: &str) -> Client {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("any", "secret", None, None, "test"))
            .endpoint_url(endpoint)
            .build();
        Client::from_conf(config)
    }

    pub(crate) async fn create_table(client: &Client) {
        let attribute = AttributeDefinition::builder()
            .attribute_name("id")
            .attribute_type(ScalarAttributeType::S);
        let key = KeySchemaElement::builder()
            .attribute_name("id")
            .key_type(KeyType::Hash);
        let stream = StreamSpecification::builder()
            .stream_enabled(true)
            .stream_view_type(StreamViewType::KeysOnly);
        client
            .create_table()
            .table_name("table")
            .attribute_definitions(attribute.build().expect("an attribute"))
            .key_schema(key.build().expect("a key"))
            .billing_mode(BillingMode::PayPerRequest)
            .stream_specification(stream.build().expect("a stream"))
            .send()
            .await
            .expect("created");
    }

    async fn put(client: &Client, id: &str) {
        let id = AttributeValue::S(id.to_owned());
        client
            .put_item()
            .table_name("table")
            .item("id", id)
            .send()
            .await
            .expect("put");
    }

    fn stream_records(data: &Path) -> i64 {
        let connection = Connection::open(data.join(FILE)).expect("opened");
        let count =
            connection.query_row("SELECT count(*) FROM _stream_records", [], |row| row.get(0));
        count.expect("counted")
    }

    #[test]
    fn sqlite_has_the_settings_of_the_checkout() {
        let connection = Connection::open_in_memory().expect("opened");
        assert!(is_built_for_this(&connection).expect("asked"));
    }

    #[tokio::test]
    async fn items_and_the_last_day_s_stream_are_there_after_a_restart() {
        let data = tempfile::tempdir().expect("a folder");
        let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
        let first = client(&dynamodb.endpoint);
        create_table(&first).await;
        put(&first, "old").await;
        put(&first, "new").await;
        dynamodb.stop().await.expect("it stops");

        let connection = Connection::open(data.path().join(FILE)).expect("opened");
        let aged = "UPDATE _stream_records SET created_at = created_at - 90000 WHERE keys_json LIKE '%old%'";
        assert_eq!(connection.execute(aged, []).expect("aged"), 1);
        drop(connection);

        let dynamodb = DynamoDb::start(0, data.path()).expect("it starts again");
        let second = client(&dynamodb.endpoint);
        let items = second
            .scan()
            .table_name("table")
            .send()
            .await
            .expect("scanned");
        assert_eq!(items.count, 2);
        dynamodb.stop().await.expect("it stops");
        assert_eq!(stream_records(data.path()), 1);
    }

    #[tokio::test]
    async fn the_next_number_of_a_stream_is_found_by_the_index() {
        let data = tempfile::tempdir().expect("a folder");
        let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
        let connection = Connection::open(data.path().join(FILE)).expect("opened");
        let plan = connection.query_row(
            "EXPLAIN QUERY PLAN SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1
             FROM _stream_records WHERE table_name = ?1",
            ["table"],
            |row| row.get::<_, String>("detail"),
        );
        let plan = plan.expect("planned");
        assert!(
            plan.contains("COVERING INDEX waymark_stream_order"),
            "{plan}"
        );
        dynamodb.stop().await.expect("it stops");
    }

    #[tokio::test]
    async fn a_port_in_use_and_a_file_that_is_none_of_ours_are_named() {
        let data = tempfile::tempdir().expect("a folder");
        let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
        let port: u16 = dynamodb
            .endpoint
            .rsplit(':')
            .next()
            .expect("a port")
            .parse()
            .expect("a number");
        let error = DynamoDb::start(port, data.path())
            .expect_err("taken")
            .to_string();
        assert!(error.contains(&format!("port {port} is in use")), "{error}");
        dynamodb.stop().await.expect("it stops");
        DynamoDb::start(port, data.path())
            .expect("free again")
            .stop()
            .await
            .expect("it stops");

        // A file that is not a database, an incomplete one, and one with a damaged page.
        let whole = std::fs::read(data.path().join(FILE)).expect("read");
        let mut torn = whole.clone();
        let middle = torn.len() / 2 / 4096 * 4096;
        torn[middle..middle + 8192].fill(0xA5);
        for bytes in [b"not a database".to_vec(), whole[..20_000].to_vec(), torn] {
            let other = tempfile::tempdir().expect("a folder");
            let file = other.path().join(FILE);
            std::fs::write(&file, &bytes).expect("written");
            let error = DynamoDb::start(0, other.path())
                .expect_err("refused")
                .to_string();
            for said in [FILE, "is damaged", "Move it away", "--content"] {
                assert!(error.contains(said), "{said} in {error}");
            }
            assert_eq!(std::fs::read(&file).expect("read"), bytes, "it was changed");
        }
    }

    #[tokio::test]
    async fn a_client_that_never_finishes_does_not_hold_up_the_stop() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let data = tempfile::tempdir().expect("a folder");
        let dynamodb = DynamoDb::start(0, data.path()).expect("it starts");
        let address = dynamodb.endpoint.trim_start_matches("http://").to_owned();
        let mut stream = tokio::net::TcpStream::connect(address)
            .await
            .expect("connected");
        let head =
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
        stream.write_all(head).await.expect("sent");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.expect("answered");
        assert_eq!(&answer, b"HTTP/1.1 100");
        tokio::time::timeout(crate::loopback::STOP_GRACE * 2, dynamodb.stop())
            .await
            .expect("in time")
            .expect("it stops");
    }
}
