//! The days and weeks of a log.

use std::collections::BTreeMap;

use crate::bots::BotId;
use crate::join::counted::{DAY, OfDay};
use crate::report::{Day, Week};

/// The last Monday before 1970, in days since 1970.
const MONDAY: i64 = -3;

/// Returns the week of a day, both since 1970.
pub(super) fn week_of(day: i64) -> i64 {
    (day - MONDAY).div_euclid(7)
}

/// Returns the day on which a week begins, in days since 1970.
fn monday(week: i64) -> i64 {
    week * 7 + MONDAY
}

/// Returns the days and weeks of the log, and how many days between its first and its last have no line.
pub(super) fn calendar(
    days: &BTreeMap<i64, OfDay>,
    order: &[BotId],
    pages: &BTreeMap<i64, u64>,
    first: Option<i64>,
    last: Option<i64>,
) -> (Vec<Day>, Vec<Week>, u64) {
    let (Some(first), Some(last)) = (first, last) else {
        return (Vec::new(), Vec::new(), 0);
    };
    let mut weeks = BTreeMap::<i64, u64>::new();
    let mut found = Vec::with_capacity(days.len());
    for (day, counts) in days {
        let requests = order
            .iter()
            .map(|bot| counts.requests.get(bot).copied().unwrap_or_default());
        let requests: Vec<u64> = requests.collect();
        *weeks.entry(week_of(*day)).or_default() += requests.iter().sum::<u64>();
        found.push(Day {
            day: day * DAY,
            requests,
        });
    }
    let weeks = weeks.into_iter().map(|(week, requests)| {
        let begin = monday(week) * DAY;
        Week {
            week: begin,
            is_whole: begin >= first && begin + 7 * DAY <= last,
            pages: pages.get(&week).copied().unwrap_or_default(),
            requests,
        }
    });
    let all = last.div_euclid(DAY) - first.div_euclid(DAY) + 1;
    let gaps = u64::try_from(all).unwrap_or_default() - days.len() as u64;
    (found, weeks.collect(), gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_begins_on_a_monday() {
        // 1970-01-01 was a Thursday, 1970-01-05 a Monday.
        assert_eq!(week_of(3), week_of(0));
        assert_eq!(week_of(4), week_of(3) + 1);
        assert_eq!(week_of(10), week_of(4));
        assert_eq!(monday(week_of(4)), 4);
        assert_eq!(monday(week_of(10)), 4);
    }
}
