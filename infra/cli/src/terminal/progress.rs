//! Shows the progress of long work on stderr: a bar on a terminal, elsewhere a line every ten seconds.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressStyle};

use crate::terminal::output::note;
use crate::terminal::text::escaped;

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
    /// Whether there may be more than the total.
    is_about: bool,
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
    /// Begins to show progress. Without a total there is no estimate.
    #[must_use]
    pub fn begin(what: &str, unit: Unit, total: Option<u64>) -> Self {
        let began = Instant::now();
        let shown = if io::stderr().is_terminal() {
            let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
            bar.set_style(style(unit, total.is_some(), false));
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
            is_about: false,
            began,
            shown,
        }
    }

    /// Begins to show something else. Where there is no terminal, the next line comes when it would have come.
    pub fn turn(&mut self, what: &str, unit: Unit, total: Option<u64>) {
        what.clone_into(&mut self.what);
        self.unit = unit;
        self.is_about = false;
        self.began = Instant::now();
        if let Shown::Bar(bar) = &self.shown {
            bar.set_prefix(escaped(what).into_owned());
            bar.reset_elapsed();
            bar.reset_eta();
        }
        self.set_total(total);
    }

    /// Begins to show something else, with a total that may be wrong. Once more than that is done, there is no estimate any more.
    pub fn turn_about(&mut self, what: &str, unit: Unit, about: Option<u64>) {
        self.turn(what, unit, about.filter(|about| *about > 0));
        self.is_about = true;
        self.restyle();
    }

    fn set_total(&mut self, total: Option<u64>) {
        self.total = total;
        if let Shown::Bar(bar) = &self.shown {
            bar.set_position(0);
            match total {
                Some(total) => bar.set_length(total),
                None => bar.unset_length(),
            }
        }
        self.restyle();
    }

    fn restyle(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.set_style(style(self.unit, self.total.is_some(), self.is_about));
        }
    }

    /// Shows that so much is done.
    pub fn reach(&mut self, done: u64) {
        if self.is_about && self.total.is_some_and(|total| done > total) {
            self.set_total(None);
        }
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
                    self.total.map(|total| (total, self.is_about)),
                    now - self.began,
                ));
            }
        }
    }
}

impl Progress {
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

fn style(unit: Unit, estimates: bool, is_about: bool) -> ProgressStyle {
    let about = if is_about { "about " } else { "" };
    let template = match (unit, estimates) {
        (Unit::Bytes, true) => "{prefix} {wide_bar} {bytes}/{total_bytes} {eta}".to_owned(),
        (Unit::Bytes, false) => "{prefix} {spinner} {bytes}".to_owned(),
        (Unit::Things(name), true) => {
            format!("{{prefix}} {{wide_bar}} {{human_pos}}/{about}{{human_len}} {name} {{eta}}")
        }
        (Unit::Things(name), false) => format!("{{prefix}} {{spinner}} {{human_pos}} {name}"),
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Formats the progress as a line. `total` is how much there is, and whether that is only an estimate.
fn line(
    what: &str,
    unit: Unit,
    done: u64,
    total: Option<(u64, bool)>,
    elapsed: Duration,
) -> String {
    let of_total = total.map_or(String::new(), |(total, is_about)| {
        let about = if is_about { "about " } else { "" };
        format!(" of {about}{}", unit.of(total.max(done)))
    });
    let left = total.and_then(|(total, _)| left(done, total, elapsed));
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

/// Estimates how long the rest takes at the average speed so far.
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
    fn what_goes_beyond_about_so_much_has_no_estimate() {
        let mut progress = Progress::begin("a", Unit::Things("rows"), Some(5));
        progress.reach(7);
        assert_eq!(progress.total, Some(5));
        progress.turn_about("b", Unit::Things("rows"), Some(5));
        progress.reach(5);
        assert_eq!((progress.total, progress.is_about), (Some(5), true));
        progress.reach(6);
        assert_eq!(progress.total, None);
        // A table that was empty at its last count.
        progress.turn_about("c", Unit::Things("rows"), Some(0));
        assert_eq!(progress.total, None);
        progress.turn("d", Unit::Things("rows"), Some(3));
        assert_eq!((progress.total, progress.is_about), (Some(3), false));
    }

    #[test]
    fn a_line_says_what_is_done_of_how_much_and_how_long_the_rest_takes() {
        let ten = Duration::from_secs(10);
        let mib = 1024 * 1024;
        for (unit, done, total, expected) in [
            (
                Unit::Bytes,
                mib,
                Some((4 * mib, false)),
                "1.00 MiB of 4.00 MiB, about 30 seconds left",
            ),
            (Unit::Bytes, mib, None, "1.00 MiB"),
            (
                Unit::Things("records"),
                1_000,
                Some((13_000, false)),
                "1,000 of 13,000 records, about 2 minutes left",
            ),
            (
                Unit::Things("rows"),
                1_000,
                Some((13_000, true)),
                "1,000 of about 13,000 rows, about 2 minutes left",
            ),
            (
                Unit::Things("records"),
                0,
                Some((13_000, false)),
                "0 of 13,000 records",
            ),
            (
                Unit::Things("records"),
                7,
                Some((3, false)),
                "7 of 7 records, about 0 seconds left",
            ),
        ] {
            assert_eq!(line("x", unit, done, total, ten), format!("x: {expected}"));
        }
    }
}
