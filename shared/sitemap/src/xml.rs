//! xml
