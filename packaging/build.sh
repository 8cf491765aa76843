#!/bin/sh
# build.sh deb|crate|wheel: makes Debian's packages, the crate or the wheel from git's files, in build/packages.
set -eu
cd "$(dirname -- "$0")/.."
root=$PWD
out=$root/build/packages/$1

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || { echo "packaging: cannot make the $kind without $1: apt-get install $2" >&2; exit 1; }
}

checkout() { # FOLDER FILE...: copies those that git does not ignore, with their present content
    mkdir -p "$1"
    folder=$1
    shift
    git ls-files -z --cached --others --exclude-standard -- "$@" | xargs -0 cp --parents -Pp -t "$folder"
}

kind=$1
rm -rf "$out"
case $kind in
    deb)
        need dpkg-buildpackage dpkg-dev
        need dh debhelper
        need git git
        checkout "$out/hz3" CMakeLists.txt CHANGELOG.md LICENSE README.md bin cmake debian include look src trace
        cd "$out/hz3"
        dpkg-buildpackage --build=binary --no-sign --jobs=2 ;;
    crate)
        need cargo cargo-web
        need cmake cmake
        need make make
        need cc gcc
        need git git
        checkout "$out/hz3" packaging/rust
        mv "$out/hz3/packaging/rust" "$out/rust"
        checkout "$out/rust/hz3" CMakeLists.txt LICENSE bin/hz3 classic cmake include src trace
        cd "$out/rust"
        CARGO_TARGET_DIR=$out/target cargo package --allow-dirty --locked
        cp "$out"/target/package/hz3-*.crate "$out" ;;
    wheel)
        python3 -c 'import ensurepip' 2>/dev/null || need python3-venv python3-venv
        need cc gcc # cmake comes with pip where there is none
        python3 -m venv "$out/venv"
        "$out/venv/bin/pip" wheel --disable-pip-version-check --no-deps -w "$out" "$root/packaging/python" ;;
    *) echo "usage: $0 deb|crate|wheel" >&2; exit 2 ;;
esac
