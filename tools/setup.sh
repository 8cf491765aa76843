#!/bin/sh
# setup.sh [--install] [build|analyze|run|check|test|stress|packages|coverage|fuzz|vm|peers|programs|lab]: installs what
# building needs, or building and the analyzers, the demo, a minute's tests, all tests, the programs under stress, the
# packages, the coverage table, the fuzzer, the tests in a virtual machine, the peers, the real programs that are
# measured, or the lab.  It prints nothing if all is there.  Python packages go into .venv.  Debian's are installed for
# root and, with --install (make setup), by sudo.  Otherwise it prints the command that would.
set -eu

cd "$(dirname -- "$0")/.."
PATH=$PATH:/usr/sbin:/sbin # servers are there, and not every user has it in PATH
ask=
[ "${1:-}" != --install ] || { ask=1; shift; }
purpose=${1:-build}
needed='gcc libc6-dev make cmake python3'
wanted=
requirements=
kernel=linux-image-cloud-amd64
debian_peers='libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0'
case $purpose in
    build) wanted='systemtap-sdt-dev valgrind' ;; # the probes of OpenTelemetry, and what memcheck sees
    run) needed="$needed redis-server redis-tools" ;;
    lab)
        needed="$needed python3-venv"
        requirements=lab ;;
    analyze) needed="$needed clang-tidy-19" ;;
    check | coverage)
        needed="$needed python3-venv g++ pkg-config libcmocka-dev binutils"
        requirements='tests lab' ;; # the tests read the registry with the lab
    packages)
        needed="$needed python3-venv g++ pkg-config"
        # cargo-web is a newer cargo; Debian 12's own is too old
        wanted='build-essential debhelper dh-python systemtap-sdt-dev valgrind lintian mmdebstrap nix-bin cargo-web'
        requirements='tests lab' ;;
    test)
        needed="$needed python3-venv g++ pkg-config libcmocka-dev" # without them CMake configures no tests
        requirements='tests lab'
        wanted="clang-19 libclang-rt-19-dev clang-format-19 relacy-dev binutils git perl shellcheck systemtap-sdt-dev gdb valgrind strace redis-server
            redis-tools memcached
            sqlite3 php-cli nginx-light wrk heaptrack luajit postgresql libpython3-testsuite chromium-headless-shell prometheus
            prometheus-node-exporter protobuf-compiler musl-tools qemu-user
            gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
            gcc-s390x-linux-gnu libc6-dev-s390x-cross $debian_peers" ;;
    stress)
        needed="$needed python3-venv"
        requirements='tests lab'
        wanted='redis-server memcached postgresql mariadb-server sysbench nginx-light apache2 libapache2-mod-php rocksdb-tools
            sqlite3 libpython3-testsuite nodejs ruby php-cli perl default-jdk-headless golang-go clang-19 git ffmpeg imagemagick
            ghostscript stress-ng erlang-base luajit' ;;
    fuzz) needed="$needed afl++" ;;
    vm) wanted="qemu-system-x86 busybox-static $kernel" ;;
    peers)
        needed="$needed python3-venv"
        requirements=tests
        wanted="g++ cargo-web $debian_peers" ;;
    programs)
        needed="$needed python3-venv python3-dev" # PyEDA is compiled
        requirements='lab bench'
        wanted='redis-server redis-tools memcached postgresql nginx-light rocksdb-tools perl lua5.4 ruby sqlite3 g++ z3
            ghostscript git' ;;
    *) echo "usage: $0 [--install] [build|analyze|run|check|test|stress|packages|coverage|fuzz|vm|peers|programs|lab]" >&2; exit 2 ;;
esac

case $purpose in
    build | analyze | packages | peers) ;;
    *) case $PWD in *[:[:space:]]*) echo "setup: cannot $purpose here: LD_PRELOAD cannot hold a space or a colon: $PWD" >&2; exit 1 ;; esac ;;
esac

system_python() { if [ -x /usr/bin/python3 ]; then /usr/bin/python3 "$@"; else python3 "$@"; fi; }

loader_finds() { ldconfig -p | grep -q "^[[:blank:]]$1 "; }

is_here() { # PACKAGE: whether it, or an equivalent, is installed in any way
    case $1 in
        gcc) command -v cc ;;
        libc6-dev) echo '#include <stdlib.h>' | cc -E - ;;
        libcmocka-dev) echo '#include <cmocka.h>' | cc -E - ;;
        valgrind) command -v valgrind && echo '#include <valgrind/memcheck.h>' | cc -E - ;;
        systemtap-sdt-dev) echo '#include <sys/sdt.h>' | cc -E - ;;
        relacy-dev) echo '#include <relacy/base.hpp>' | c++ -x c++ -E - ;;
        cmake) command -v cmake || [ -x .venv/bin/cmake ] ;;
        binutils) command -v objdump ;;
        python3-venv) python3 -c 'import importlib.util as u; exit(not u.find_spec("ensurepip"))' ;;
        python3-dev) python3 -c 'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' ;;
        libpython3-testsuite) system_python -c 'import importlib.util as u; exit(not u.find_spec("test.test_dict"))' ;;
        redis-tools) command -v redis-benchmark ;;
        musl-tools) command -v musl-gcc ;;
        protobuf-compiler) command -v protoc ;;
        build-essential) dpkg-query -W -f '${db:Status-Status}' build-essential | grep -x installed ;;
        debhelper) command -v dh ;;
        nix-bin) command -v nix-instantiate ;;
        dh-python) command -v dh_python3 ;;
        qemu-user) command -v qemu-aarch64 ;;
        qemu-system-x86) command -v qemu-system-x86_64 ;;
        busybox-static) command -v busybox ;;
        "$kernel") ls build/vm/vmlinuz ;;
        afl++) command -v afl-clang-fast ;;
        libclang-rt-19-dev) ls /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.asan-*.a ;;
        gcc-*) command -v "${1#gcc-}-gcc" ;;
        libc6-dev-arm64-cross) ls -d /usr/aarch64-linux-gnu/include ;;
        libc6-dev-riscv64-cross) ls -d /usr/riscv64-linux-gnu/include ;;
        libc6-dev-s390x-cross) ls -d /usr/s390x-linux-gnu/include ;;
        nginx-light) command -v nginx ;;
        php-cli) command -v php ;;
        rocksdb-tools) command -v db_bench ;;
        ghostscript) command -v gs ;;
        mariadb-server) command -v mariadbd ;;
        libapache2-mod-php) ls /usr/lib/apache2/modules/libphp*.so ;;
        nodejs) command -v node ;;
        default-jdk-headless) command -v javac ;;
        golang-go) command -v go ;;
        imagemagick) convert -version | grep ImageMagick ;; # other tools have the same name
        erlang-base) command -v escript ;;
        cargo-web) command -v cargo ;;
        libjemalloc2) loader_finds libjemalloc.so.2 ;;
        libtcmalloc-minimal4) loader_finds libtcmalloc_minimal.so.4 ;;
        libmimalloc2.0) loader_finds libmimalloc.so.2 ;;
        postgresql) ls /usr/lib/postgresql/*/bin/postgres || command -v postgres ;;
        *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

missing_of() { # PACKAGE...
    for package; do is_here "$package" || printf ' %s' "$package"; done
}

unpack_kernel() ( # into build/vm.  If it were installed, this machine could boot it.
    rm -rf build/vm && mkdir -p build/vm && cd build/vm &&
        apt-get -qq download "$(apt-cache depends $kernel | sed -n 's/.*Depends: //p')" &&
        dpkg-deb --fsys-tarfile linux-image-*.deb | tar -xO --wildcards './boot/vmlinuz-*' >image &&
        rm linux-image-*.deb && mv image vmlinuz
)

may_install() { [ "$(id -u)" = 0 ] || [ -n "$ask" ]; }

install() { # PACKAGE...: as many as are available
    may_install && command -v apt-get >/dev/null || return 0
    if [ "$(id -u)" = 0 ]; then as_root=; elif sudo -v; then as_root=sudo; else return 0; fi
    echo "setup: installs $* (what comes of it is in build/setup.log)" >&2
    mkdir -p build
    install_quietly "$@" >build/setup.log 2>&1
}

install_quietly() {
    if [ ! -e /usr/sbin/policy-rc.d ]; then # so that apt-get does not start servers
        trap 'exit 130' INT; trap 'exit 143' TERM; trap 'exit 129' HUP # else dash would leave it there
        trap '$as_root rm -f /usr/sbin/policy-rc.d' EXIT
        printf '#!/bin/sh\nexit 101\n' | $as_root tee /usr/sbin/policy-rc.d >/dev/null
        $as_root chmod +x /usr/sbin/policy-rc.d
    fi
    apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120"
    $apt update || :
    for one; do
        shift
        if [ "$one" = $kernel ]; then unpack_kernel || :; else set -- "$@" "$one"; fi
    done
    $apt install -y --no-install-recommends "$@" ||
        for one; do $apt install -y --no-install-recommends "$one" || :; done
}

# Debian's package of Python's test suite has the version in its name.
debian_names() { # PACKAGE...
    dotted=$(system_python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3)
    echo "$*" | sed "s/libpython3-/libpython$dotted-/"
}

remedy() { # PACKAGE...: the command that installs them
    echo "sudo apt-get install --no-install-recommends $(debian_names "$@") (or: make setup FOR=$purpose)"
}

# Ctrl-C may have left one without pip, and a newer Python of the system finds nothing in the older one's.
venv_works() { .venv/bin/python -c 'import pip' 2>/dev/null; }

into_venv() { # PIP-ARGUMENT...
    venv_works || python3 -m venv --clear .venv
    quiet=--quiet
    [ ! -t 2 ] || quiet='' # pip shows its progress
    echo "hz3: installing Python packages into .venv: $*" >&2
    # shellcheck disable=SC2086 # none or one
    .venv/bin/python -m pip install $quiet --no-compile --disable-pip-version-check "$@" >&2 # half the time
}

# shellcheck disable=SC2046,SC2086 # lists of names
{
    missing=$(missing_of $needed $wanted)
    if [ -n "$missing" ]; then
        install $(debian_names $missing)
        is_here cmake || ! is_here python3-venv || into_venv cmake==3.31.10 || : # what is missing is told below
    fi
    missing=$(missing_of $needed)
    [ -z "$missing" ] || { echo "setup: cannot $purpose without$missing: $(remedy $missing)" >&2; exit 1; }
    missing=$(missing_of $wanted)
    [ -z "$missing" ] || echo "setup: what needs them is left out:$missing: $(remedy $missing)" >&2
}

[ -z "$requirements" ] || venv_works || rm -f .venv/*-requirements.txt
for part in $requirements; do
    if ! cmp -s "$part/requirements.txt" ".venv/$part-requirements.txt"; then
        python3 -c 'import sys; exit(sys.version_info < (3, 11))' ||
            { echo "setup: cannot $purpose without Python 3.11 or newer: this is $(python3 --version)" >&2; exit 1; }
        into_venv -r "$part/requirements.txt"
        cp "$part/requirements.txt" ".venv/$part-requirements.txt"
    fi
done
