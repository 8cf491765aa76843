// Empty.  Cargo.toml names the crates, and a package must have a source.
