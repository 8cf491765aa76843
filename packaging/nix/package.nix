# The hz3 allocator, from the checkout that this file is in.
{ lib, stdenv, cmake, python3, lane ? "scale" }:

let
  header = builtins.readFile ../../include/hz3.h;
  part = name: builtins.head (builtins.match ".*#define HZ3_VERSION_${name} ([0-9]+)\n.*" header);
in
stdenv.mkDerivation {
  pname = "hz3";
  version = lib.concatStringsSep "." (map part [ "MAJOR" "MINOR" "PATCH" ]);
  src = lib.cleanSource ../..;
  nativeBuildInputs = [ cmake ];
  cmakeFlags = [ "-DHZ3_LANE=${lane}" "-DHZ3_TESTS=OFF" "-DHZ3_BENCH=OFF" ];
  # The verbs that look into processes run it by its name.
  postFixup = "sed -i 's|python3|${python3.interpreter}|' $out/share/hz3/look/hz3-*";
  meta = {
    description = "A malloc that stays fast and small when threads free each other's memory";
    license = lib.licenses.mit;
    platforms = [ "x86_64-linux" "aarch64-linux" "riscv64-linux" ];
    mainProgram = "hz3";
  };
}
