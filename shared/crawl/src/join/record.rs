//! What the sorter sorts: a key, and behind it what is known under it. Under one key the listing comes first, then requests by time.

use crate::bots::BotId;

/// Ends a key: nothing sorts before it.
const END: u8 = 0;

/// When a listed page changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It is not said.
    Unknown,
    /// On the day that begins here.
    Day(i64),
    /// At this time.
    At(i64),
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) time: i64,
    pub(super) bot: BotId,
    pub(super) status: u16,
    pub(super) is_get: bool,
}

/// What is known under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// It is listed in this sitemap.
    Listed(u32, Change),
    /// It has a record and is not listed, for the reason of this number.
    Excluded(u32),
    /// A request for an address that begins like this: the log cut it.
    Cut,
    /// A request.
    Hit(Hit),
}

const LISTED: u8 = 0;
const EXCLUDED: u8 = 1;
const CUT: u8 = 2;
const HIT: u8 = 3;

impl Change {
    /// Returns the time from which on a fetch surely has the change.
    pub(super) fn since(self) -> Option<i64> {
        match self {
            Self::Unknown => None,
            Self::Day(begin) => Some(begin + 86_400),
            Self::At(time) => Some(time),
        }
    }
}

impl Hit {
    /// Returns whether the page was fetched, or found unchanged. A `HEAD` looks, and fetches nothing.
    pub(super) fn is_fetch(&self) -> bool {
        self.is_get && matches!(self.status, 200 | 304)
    }
}

impl Record {
    /// Replaces `bytes` by the record.
    pub(super) fn write(&self, key: &[u8], bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.extend_from_slice(key);
        bytes.push(END);
        match self {
            Self::Listed(sitemap, change) => {
                bytes.push(LISTED);
                bytes.extend_from_slice(&sitemap.to_be_bytes());
                let (tag, time) = match change {
                    Change::Unknown => (0, 0),
                    Change::Day(time) => (1, *time),
                    Change::At(time) => (2, *time),
                };
                bytes.push(tag);
                bytes.extend_from_slice(&sortable(time));
            }
            Self::Excluded(reason) => {
                bytes.push(EXCLUDED);
                bytes.extend_from_slice(&reason.to_be_bytes());
            }
            Self::Cut => bytes.push(CUT),
            Self::Hit(hit) => {
                bytes.push(HIT);
                bytes.extend_from_slice(&sortable(hit.time));
                bytes.extend_from_slice(&hit.bot.0.to_be_bytes());
                bytes.extend_from_slice(&hit.status.to_be_bytes());
                bytes.push(u8::from(hit.is_get));
            }
        }
    }

    /// Reads a record: its key, and what is behind it. Returns `None` for what [`Record::write`] did not write.
    pub(super) fn read(bytes: &[u8]) -> Option<(&[u8], Self)> {
        let mut zeros = memchr::memchr_iter(END, bytes);
        let (_, end) = (zeros.next()?, zeros.next()?);
        let (key, rest) = (&bytes[..end], &bytes[end + 1..]);
        let (kind, rest) = rest.split_first()?;
        let record = match *kind {
            LISTED => {
                let (sitemap, rest) = rest.split_first_chunk()?;
                let (tag, rest) = rest.split_first()?;
                let time = time_of(rest.first_chunk()?);
                let change = match tag {
                    0 => Change::Unknown,
                    1 => Change::Day(time),
                    _ => Change::At(time),
                };
                Self::Listed(u32::from_be_bytes(*sitemap), change)
            }
            EXCLUDED => Self::Excluded(u32::from_be_bytes(*rest.first_chunk()?)),
            CUT => Self::Cut,
            _ => {
                let (time, rest) = rest.split_first_chunk()?;
                let (bot, rest) = rest.split_first_chunk()?;
                let (status, rest) = rest.split_first_chunk()?;
                Self::Hit(Hit {
                    time: time_of(time),
                    bot: BotId(u16::from_be_bytes(*bot)),
                    status: u16::from_be_bytes(*status),
                    is_get: rest.first() == Some(&1),
                })
            }
        };
        Some((key, record))
    }
}

/// Returns a time as bytes that sort as it does.
fn sortable(time: i64) -> [u8; 8] {
    (time.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

fn time_of(bytes: &[u8; 8]) -> i64 {
    (u64::from_be_bytes(*bytes) ^ (1 << 63)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_sort_by_address_then_listing_then_time_and_come_back() {
        let hit = |time| {
            Record::Hit(Hit {
                time,
                bot: BotId(260),
                status: 304,
                is_get: true,
            })
        };
        let expected = [
            (&b"h/a\0"[..], Record::Listed(7, Change::At(1_800_000_000))),
            (b"h/a\0", Record::Listed(8, Change::Day(-86_400))),
            (b"h/a\0", Record::Excluded(3)),
            (b"h/a\0", Record::Cut),
            (b"h/a\0", hit(-1)),
            (b"h/a\0", hit(255)),
            (b"h/a\0", hit(256)),
            (b"h/a\0q", Record::Listed(0, Change::Unknown)),
            (b"h/a-b\0", hit(1)),
        ];
        let mut written: Vec<Vec<u8>> = expected
            .iter()
            .map(|(key, record)| {
                let mut bytes = vec![9];
                record.write(key, &mut bytes);
                bytes
            })
            .collect();
        let in_order = written.clone();
        written.reverse();
        written.sort();
        assert_eq!(written, in_order);
        let read: Vec<_> = written
            .iter()
            .map(|bytes| Record::read(bytes).unwrap())
            .collect();
        assert_eq!(read, expected);
    }
}
