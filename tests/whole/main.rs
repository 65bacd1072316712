//! Whole-pipeline tests: real clients, real servers, everything over HTTP on loopback.

mod bad_input;
mod crash;
mod pages;
mod publishing;
mod sites;
mod store;
mod template;
mod time;
