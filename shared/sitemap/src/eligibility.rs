//! eligibility
