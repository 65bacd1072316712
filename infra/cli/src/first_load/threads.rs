//! Work on several threads whose results come in the order of the input.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Jobs that wait for a thread, or for their turn behind it.
const AHEAD: usize = 2;

/// Returns how many threads work is divided among.
pub(super) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Works on each input on one of the threads, and gives the results to `take` in the order of the inputs.
///
/// # Errors
///
/// The first of an input or of `take`. Nothing is taken behind it.
pub(super) fn in_order<T: Send, U: Send, E>(
    threads: usize,
    inputs: impl Iterator<Item = Result<T, E>>,
    work: impl Fn(T) -> U + Sync,
    mut take: impl FnMut(U) -> Result<(), E>,
) -> Result<(), E> {
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<(SyncSender<T>, Receiver<U>)> = (0..threads.max(1))
            .map(|_| {
                let (send, inputs) = sync_channel::<T>(AHEAD);
                let (results, receive) = sync_channel(AHEAD);
                scope.spawn(move || {
                    for input in inputs {
                        if results.send(work(input)).is_err() {
                            return;
                        }
                    }
                });
                (send, receive)
            })
            .collect();
        let (mut given, mut taken) = (0, 0);
        let mut take_next = |taken: usize| match workers[taken % workers.len()].1.recv() {
            Ok(result) => take(result),
            // Its panic goes on when the scope ends.
            Err(_) => panic!("a thread of a build has ended"),
        };
        for input in inputs {
            let input = input?;
            if given - taken == AHEAD * workers.len() {
                take_next(taken)?;
                taken += 1;
            }
            if workers[given % workers.len()].0.send(input).is_err() {
                panic!("a thread of a build has ended");
            }
            given += 1;
        }
        for taken in taken..given {
            take_next(taken)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_until_one_is_refused() {
        for threads in [1, 3] {
            let mut taken = Vec::new();
            let inputs = (0..100_u64).map(Ok);
            let slow = |n: u64| {
                std::thread::sleep(std::time::Duration::from_micros(n % 7 * 50));
                n * 2
            };
            let result = in_order(threads, inputs, slow, |n| {
                taken.push(n);
                if n == 120 { Err("enough") } else { Ok(()) }
            });
            assert_eq!(result, Err("enough"));
            assert_eq!(taken, (0..=60).map(|n| n * 2).collect::<Vec<_>>());
        }
        let inputs = [Ok(1), Err("unreadable"), Ok(2)].into_iter();
        let mut taken = 0;
        let result = in_order(
            2,
            inputs,
            |n| n,
            |n| {
                taken += n;
                Ok(())
            },
        );
        assert_eq!(result, Err("unreadable"));
    }
}
