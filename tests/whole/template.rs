//! The template and the code agree.
