//! Processes with a limit: a test must not hang.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than any process here takes, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(300);

/// What ends within a limit, or fails its test.
pub(crate) trait Limited {
    /// Returns the status, and what was written to stdout and stderr, of which only what is piped is read.
    fn output_in_time(self) -> Output;
}

impl Limited for Child {
    fn output_in_time(mut self) -> Output {
        let out = self.stdout.take().map(read);
        let errors = self.stderr.take().map(read);
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.try_wait().expect("a process of ours") {
                break status;
            }
            if began.elapsed() > LIMIT {
                self.kill().expect("a process of ours");
                panic!("process {} does not end within {LIMIT:?}", self.id());
            }
            thread::sleep(Duration::from_millis(5));
        };
        let all = |reading: Option<thread::JoinHandle<Vec<u8>>>| {
            reading.map_or_else(Vec::new, |reading| reading.join().expect("it reads"))
        };
        Output {
            status,
            stdout: all(out),
            stderr: all(errors),
        }
    }
}

impl Limited for &mut Command {
    fn output_in_time(self) -> Output {
        let child = self.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.unwrap_or_else(|error| panic!("{self:?} does not start: {error}"));
        child.output_in_time()
    }
}

/// Reads all of a pipe meanwhile: a full one would hold its writer up.
fn read(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).expect("a pipe of ours");
        bytes
    })
}

/// What the command has done.
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Runs the command in a folder.
pub(crate) fn waymark(folder: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_waymark"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("RUST_LOG")
        .stdin(Stdio::null())
        .output_in_time();
    Outcome {
        status: output.status.code().expect("no signal ended it"),
        output: String::from_utf8(output.stdout).expect("text"),
        errors: String::from_utf8(output.stderr).expect("text"),
    }
}
