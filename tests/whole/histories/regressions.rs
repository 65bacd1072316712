//! Histories that once went wrong.
