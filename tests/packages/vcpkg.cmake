# Runs an overlay port as vcpkg does, by functions of the names that a port calls:
# cmake -DPORT=folder -DWORK=folder -P vcpkg.cmake
set(CURRENT_PORT_DIR ${PORT})
set(CURRENT_PACKAGES_DIR ${WORK}/packages)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_QUIET)
  if(status)
    message(FATAL_ERROR "${ARGV}: ${status}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  foreach(build "Debug,${CURRENT_PACKAGES_DIR}/debug" "Release,${CURRENT_PACKAGES_DIR}")
    string(REPLACE "," ";" build ${build})
    list(GET build 0 type)
    list(GET build 1 prefix)
    run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK}/${type} -DCMAKE_BUILD_TYPE=${type} -DCMAKE_INSTALL_PREFIX=${prefix}
      -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS})
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  foreach(type Debug Release)
    run(${CMAKE_COMMAND} --build ${WORK}/${type} -j 2)
    run(${CMAKE_COMMAND} --install ${WORK}/${type})
  endforeach()
endfunction()

# The real one also merges both builds' targets.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*.cmake)
  if(NOT files)
    message(FATAL_ERROR "nothing in ${arg_CONFIG_PATH}")
  endif()
  file(COPY ${files} DESTINATION ${CURRENT_PACKAGES_DIR}/share/hz3)
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake ${CURRENT_PACKAGES_DIR}/debug/lib/cmake)
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  configure_file(${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/hz3/copyright COPYONLY)
endfunction()

include(${PORT}/portfile.cmake)
