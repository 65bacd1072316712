//! Tallies by directory.

use crate::tally::Tally;

/// Directories with a row of their own. The rest have one together.
const MAX_DIRECTORIES: usize = 50;

/// Tallies by directory. They come in order, so only the largest are kept.
pub(super) struct Directories {
    with_host: bool,
    now: Option<(String, Tally)>,
    kept: Vec<(String, Tally)>,
    rest: Tally,
    others: u64,
}

impl Directories {
    /// Creates an empty one. `with_host`: whether a directory's name begins with its host.
    pub(super) fn new(with_host: bool) -> Self {
        Self {
            with_host,
            now: None,
            kept: Vec::new(),
            rest: Tally::default(),
            others: 0,
        }
    }

    /// Returns the tally of a directory.
    pub(super) fn tally(&mut self, host: &[u8], directory: &[u8]) -> &mut Tally {
        let is_it = |name: &str| match self.with_host {
            true => name.as_bytes().strip_prefix(host) == Some(directory),
            false => name.as_bytes() == directory,
        };
        if !self.now.as_ref().is_some_and(|(name, _)| is_it(name)) {
            self.put();
            let mut name = String::new();
            if self.with_host {
                name.push_str(&String::from_utf8_lossy(host));
            }
            name.push_str(&String::from_utf8_lossy(directory));
            // Pages of the root come between those of directories.
            let known = self.kept.iter().position(|(known, _)| *known == name);
            let known = known.map(|at| self.kept.swap_remove(at));
            self.now = Some(known.unwrap_or((name, Tally::default())));
        }
        let (_, tally) = self.now.get_or_insert_default();
        tally
    }

    /// Gives the largest directories to `take`, the largest first. Returns how many others there are, and their tally.
    pub(super) fn finish(mut self, mut take: impl FnMut(&str, &Tally)) -> Option<(u64, Tally)> {
        self.put();
        self.shrink();
        for (name, tally) in &self.kept {
            take(name, tally);
        }
        (self.others > 0).then_some((self.others, self.rest))
    }

    fn put(&mut self) {
        self.kept.extend(self.now.take());
        if self.kept.len() >= 2 * MAX_DIRECTORIES {
            self.shrink();
        }
    }

    fn shrink(&mut self) {
        let by_pages =
            |(name, tally): &(String, Tally)| (std::cmp::Reverse(tally.listed()), name.clone());
        self.kept.sort_by_key(by_pages);
        let kept = self.kept.len().min(MAX_DIRECTORIES);
        for (_, tally) in self.kept.drain(kept..) {
            self.rest.merge(&tally);
            self.others += 1;
        }
    }
}
