//! The signals that end a stack: Ctrl-C, and those of a service manager or a closed terminal.

use std::io;

/// Waits for one of them.
pub(crate) struct Ends(Vec<tokio::signal::unix::Signal>);

impl Ends {
    /// Listens for the signals. From now on they no longer kill the process.
    ///
    /// # Errors
    ///
    /// If the system does not allow it.
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        // `nohup` ignores it, so that the stack outlives its terminal.
        let hangup = SignalKind::hangup();
        if !is_ignored(hangup.as_raw_value()) {
            kinds.push(hangup);
        }
        kinds
            .into_iter()
            .map(signal)
            .collect::<io::Result<_>>()
            .map(Self)
    }

    /// Returns at the first of them.
    pub(crate) async fn wait(&mut self) {
        let signals = self.0.iter_mut().map(|signal| Box::pin(signal.recv()));
        futures::future::select_all(signals).await;
    }
}

/// Returns whether this process was started with a signal ignored. Only Linux can say; on other systems it returns `false`.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
