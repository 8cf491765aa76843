#!/bin/sh
# What conda build runs, with SRC_DIR and PREFIX.
set -eu
cmake -S "$SRC_DIR" -B build-conda -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DHZ3_TESTS=OFF -DHZ3_BENCH=OFF
cmake --build build-conda -j"${CPU_COUNT:-2}"
cmake --install build-conda
