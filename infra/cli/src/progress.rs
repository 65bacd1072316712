//! How far something long is: a bar on a terminal, elsewhere a line every ten seconds, on stderr.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

use crate::output::note;
use crate::text::escaped;

/// The time between two lines where there is no terminal.
const LINES_EVERY: Duration = Duration::from_secs(10);

/// The time between two looks whether a line is due.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Things of this name.
    Things(&'static str),
}

impl Unit {
    fn of(self, count: u64) -> String {
        match self {
            Self::Bytes => HumanBytes(count).to_string(),
            Self::Things(_) => HumanCount(count).to_string(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "",
            Self::Things(name) => name,
        }
    }
}

/// The progress of one thing. Dropping it clears the bar.
#[derive(Debug)]
pub struct Progress {
    what: String,
    unit: Unit,
    total: Option<u64>,
    began: Instant,
    /// The terminal's bar, or when the next line is due.
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    Bar(ProgressBar),
    Lines(Instant),
}

impl Progress {
    /// Begins. Without a total there is no estimate.
    #[must_use]
    pub fn begin(what: &str, unit: Unit, total: Option<u64>) -> Self {
        let began = Instant::now();
        let shown = if io::stderr().is_terminal() {
            let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
            bar.set_style(style(unit, total.is_some()));
            bar.set_prefix(escaped(what).into_owned());
            Shown::Bar(bar)
        } else {
            Shown::Lines(began + LINES_EVERY)
        };
        let what = what.to_owned();
        Self {
            what,
            unit,
            total,
            began,
            shown,
        }
    }

    /// Shows that so much is done.
    pub fn reach(&mut self, done: u64) {
        let now = Instant::now();
        match &mut self.shown {
            Shown::Bar(bar) => bar.set_position(self.total.map_or(done, |total| done.min(total))),
            Shown::Lines(next) if now < *next => {}
            Shown::Lines(next) => {
                *next = now + LINES_EVERY;
                note(line(
                    &self.what,
                    self.unit,
                    done,
                    self.total,
                    now - self.began,
                ));
            }
        }
    }
}

impl Progress {
    /// Says from now on that something else is under way.
    pub fn rename(&mut self, what: &str) {
        if self.what == what {
            return;
        }
        what.clone_into(&mut self.what);
        if let Shown::Bar(bar) = &self.shown {
            bar.set_prefix(escaped(what).into_owned());
        }
    }

    /// Waits for something, and shows meanwhile that so much is done.
    pub async fn while_waiting<T>(&mut self, done: u64, future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        loop {
            self.reach(done);
            match tokio::time::timeout(LOOK_EVERY, &mut future).await {
                Ok(outcome) => return outcome,
                Err(_) => continue,
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn style(unit: Unit, estimates: bool) -> ProgressStyle {
    let template = match (unit, estimates) {
        (Unit::Bytes, true) => "{prefix} {wide_bar} {bytes}/{total_bytes} {eta}".to_owned(),
        (Unit::Bytes, false) => "{prefix} {spinner} {bytes}".to_owned(),
        (Unit::Things(name), true) => {
            format!("{{prefix}} {{wide_bar}} {{human_pos}}/{{human_len}} {name} {{eta}}")
        }
        (Unit::Things(name), false) => format!("{{prefix}} {{spinner}} {{human_pos}} {name}"),
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn line(what: &str, unit: Unit, done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let of_total = total.map_or(String::new(), |total| {
        format!(" of {}", unit.of(total.max(done)))
    });
    let left = total.and_then(|total| left(done, total, elapsed));
    let left = left.map_or(String::new(), |left| {
        format!(", about {} left", HumanDuration(left))
    });
    let space = if unit.name().is_empty() { "" } else { " " };
    format!(
        "{what}: {}{of_total}{space}{}{left}",
        unit.of(done),
        unit.name()
    )
}

/// How long the rest takes if it goes on as so far.
fn left(done: u64, total: u64, elapsed: Duration) -> Option<Duration> {
    if done == 0 {
        return None;
    }
    let rest = total.saturating_sub(done) as f64;
    // To the second.
    let seconds = (elapsed.as_secs_f64() * rest / done as f64).round();
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_done_of_how_much_and_how_long_the_rest_takes() {
        let ten = Duration::from_secs(10);
        let mib = 1024 * 1024;
        for (unit, done, total, expected) in [
            (
                Unit::Bytes,
                mib,
                Some(4 * mib),
                "1.00 MiB of 4.00 MiB, about 30 seconds left",
            ),
            (Unit::Bytes, mib, None, "1.00 MiB"),
            (
                Unit::Things("records"),
                1_000,
                Some(13_000),
                "1,000 of 13,000 records, about 2 minutes left",
            ),
            (
                Unit::Things("records"),
                0,
                Some(13_000),
                "0 of 13,000 records",
            ),
            (
                Unit::Things("records"),
                7,
                Some(3),
                "7 of 7 records, about 0 seconds left",
            ),
        ] {
            assert_eq!(line("x", unit, done, total, ten), format!("x: {expected}"));
        }
    }
}
