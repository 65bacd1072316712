//! Tests that a store ends as the rows ask for.

mod directed;
mod histories;
mod world;
