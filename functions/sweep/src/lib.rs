//! The function that the clock calls.
