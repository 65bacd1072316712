#!/usr/bin/env bash
# A feature that another crate asks for changes which XML a program accepts.
#
# Package: quick-xml 0.42.0.
# Guess:   `escape-html` adds functions for HTML; `unescape` goes on to know the five names of XML alone, and refuses &copy;.
# Seen:    with the feature, `unescape` knows HTML's names, too. Cargo unites features: one crate that asks for it, anywhere in the tree,
#          has every other one accept documents that no XML parser accepts.
# So:      whoever reads XML says so: `unescape_with(text, resolve_xml_entity)`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p reader/src titles/src
cat >Cargo.toml <<'TOML'
[workspace]
members = ["reader", "titles"]
resolver = "3"
TOML
cat >reader/Cargo.toml <<'TOML'
[package]
name = "reader"
version = "0.1.0"
edition = "2024"

[dependencies]
quick-xml = "=0.42.0"
TOML
cat >titles/Cargo.toml <<'TOML'
[package]
name = "titles"
version = "0.1.0"
edition = "2024"

[dependencies]
quick-xml = { version = "=0.42.0", features = ["escape-html"] }
TOML
touch titles/src/lib.rs
cat >reader/src/main.rs <<'RUST'
use quick_xml::escape::{resolve_xml_entity, unescape, unescape_with};

fn main() {
    let named = "&copy; &amp;";
    println!("unescape: {:?}", unescape(named).ok());
    println!("unescape_with: {:?}", unescape_with(named, resolve_xml_entity).ok());
}
RUST
for packages in "--package reader" "--workspace"; do
  echo "cargo build $packages"
  # shellcheck disable=SC2086
  cargo build --quiet $packages
  target/debug/reader
done | tee seen
cat >expected <<'TEXT'
cargo build --package reader
unescape: None
unescape_with: None
cargo build --workspace
unescape: Some("© &")
unescape_with: None
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
