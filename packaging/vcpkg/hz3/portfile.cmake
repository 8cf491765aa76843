# An overlay port, of the checkout that it is in: vcpkg install hz3 --overlay-ports=packaging/vcpkg --no-binarycaching
# (vcpkg knows of changes of this folder only, and would give out what it built of an older checkout).
# Shared and static library come together, as targets hz3::hz3 and hz3::hz3_static, whatever the triplet's linkage.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DHZ3_TESTS=OFF -DHZ3_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/hz3)
vcpkg_fixup_pkgconfig()

# What looks into processes is no part of a library.
foreach(root "${CURRENT_PACKAGES_DIR}" "${CURRENT_PACKAGES_DIR}/debug")
  file(REMOVE_RECURSE "${root}/bin" "${root}/lib/hz3" "${root}/share/man" "${root}/share/hz3/look")
endforeach()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
