//! Builds hz3 from its C sources without the standard names, so that the program's C code keeps its malloc.

use std::path::PathBuf;

fn main() {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap());
    let packaged = here.join("hz3"); // only in a package; otherwise this is in a checkout
    let sources = if packaged.is_dir() { packaged } else { here.join("../..") };
    for part in ["CMakeLists.txt", "cmake", "include", "src"] {
        println!("cargo:rerun-if-changed={}", sources.join(part).display());
    }
    let built = cmake::Config::new(&sources)
        .profile("Release")
        .define("HZ3_LANE", "scale")
        .define("HZ3_DEFS_EXTRA", "-DHZ3_OVERRIDE=0")
        .define("HZ3_TESTS", "OFF")
        .define("HZ3_BENCH", "OFF")
        .build_target("hz3_static")
        .build();
    println!("cargo:rustc-link-search=native={}", built.join("build").display());
    println!("cargo:rustc-link-lib=static=hz3");
    println!("cargo:include={}", sources.join("include").display());
}
