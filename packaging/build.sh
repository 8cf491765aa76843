#!/bin/sh
# build.sh deb|crate|wheel: makes Debian's packages, the crate or the wheel from git's files, in build/packages.
set -eu
cd "$(dirname -- "$0")/.."
root=$PWD
kind=${1:-}
case $kind in deb | crate | wheel) ;; *) echo "usage: $0 deb|crate|wheel" >&2; exit 2 ;; esac
out=$root/build/packages/$kind
lacking='' packages=''

lacks() { # WHAT PACKAGE
    lacking="$lacking $1" packages="$packages $2"
}

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || lacks "$1" "$2"
}

need_packages() { # as dpkg-buildpackage does, which asks for no commands
    for package; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || lacks "$package" "$package"
    done
}

begin() {
    [ -z "$lacking" ] || { echo "packaging: cannot make the $kind without$lacking: apt-get install$packages" >&2; exit 1; }
    rm -rf "$out"
}

checkout() { # FOLDER FILE...: copies those that git does not ignore, with their present content
    mkdir -p "$1"
    folder=$1
    shift
    git -c safe.directory="$(pwd -P)" ls-files -z --cached --others --exclude-standard -- "$@" | xargs -0 cp --parents -Pp -t "$folder"
}

case $kind in
    deb)
        # shellcheck disable=SC2046 # a list of names
        need_packages build-essential $(sed -n 's/^Build-Depends: //; T; s/-compat//; s/ ([^)]*)//g; s/,//g; p' debian/control)
        need git git
        begin
        checkout "$out/hz3" CMakeLists.txt CHANGELOG.md LICENSE README.md bin classic cmake debian include look src trace
        cd "$out/hz3"
        dpkg-buildpackage --build=binary --no-sign --jobs=2 ;;
    crate)
        need cargo cargo-web
        need cmake cmake
        need make make
        need cc gcc
        need git git
        begin
        checkout "$out/hz3" packaging/rust
        mv "$out/hz3/packaging/rust" "$out/rust"
        checkout "$out/rust/hz3" CMakeLists.txt LICENSE bin/hz3 classic cmake include src trace
        cd "$out/rust"
        CARGO_TARGET_DIR=$out/target cargo package --allow-dirty --locked
        cp "$out"/target/package/hz3-*.crate "$out" ;;
    wheel)
        python3 -c 'import ensurepip' 2>/dev/null || lacks python3-venv python3-venv
        need cc gcc # cmake comes with pip where there is none
        begin
        python3 -m venv "$out/venv"
        "$out/venv/bin/pip" wheel --disable-pip-version-check --no-deps -w "$out" "$root/packaging/python" ;;
esac
