//! The function that crawlers and people reach.
