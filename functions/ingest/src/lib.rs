//! The function behind the content table's stream.
