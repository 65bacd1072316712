//! Tests of the command: a file a verb, and what they share.

mod build;
mod check;
mod check_docs;
mod check_rules;
mod command;
mod crawl;
mod deployed;
mod diff;
mod documented;
mod double;
mod import;
mod limited;
mod load;
mod loopback;
mod mapping;
mod mapping_sample;
mod messages;
mod on_aws;
mod process;
mod redirects;
mod serve;
mod shell;
mod site;
