//! loc
