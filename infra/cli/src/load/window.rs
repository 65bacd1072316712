//! The number of batches that are under way at once.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many batches may be under way.
#[derive(Debug)]
pub(super) struct Window {
    size: AtomicUsize,
    max: usize,
    /// Batches that passed since it was changed.
    passed: AtomicUsize,
}

impl Window {
    pub(super) fn new(max: usize) -> Self {
        Self {
            size: AtomicUsize::new(max.max(1)),
            max: max.max(1),
            passed: AtomicUsize::new(0),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    pub(super) fn throttled(&self) {
        self.size.store((self.size() / 2).max(1), Ordering::Relaxed);
        self.passed.store(0, Ordering::Relaxed);
    }

    pub(super) fn passed(&self) {
        let size = self.size();
        if self.passed.fetch_add(1, Ordering::Relaxed) + 1 >= size && size < self.max {
            self.size.store(size + 1, Ordering::Relaxed);
            self.passed.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_halves_when_the_table_throttles_and_grows_by_one() {
        let window = Window::new(8);
        let sizes = |window: &Window, passes: usize| {
            (0..passes).for_each(|_| window.passed());
            window.size()
        };
        window.throttled();
        assert_eq!(window.size(), 4);
        assert_eq!(sizes(&window, 3), 4);
        assert_eq!(sizes(&window, 1), 5);
        (0..9).for_each(|_| window.throttled());
        assert_eq!(window.size(), 1);
        assert_eq!(sizes(&window, 100), 8);
    }
}
