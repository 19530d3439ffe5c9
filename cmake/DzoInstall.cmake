# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# What `cmake --install` lays down: headers, library, program, CMake package, pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS dzo EXPORT dzoTargets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/dzo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.c" PATTERN "*.cu")
install(FILES README.md CHANGELOG.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# CMake package: find_package(dzo), target dzo::dzo.
set(dzo_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dzo)
get_target_property(dzo_type dzo TYPE)
configure_package_config_file(cmake/dzoConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/dzoConfig.cmake
                              INSTALL_DESTINATION ${dzo_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/dzoConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT dzoTargets NAMESPACE dzo:: DESTINATION ${dzo_package_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dzoConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/dzoConfigVersion.cmake
              cmake/FindZstd.cmake
        DESTINATION ${dzo_package_dir})

# pkg-config. The prefix is told relative to the file, so that the installed tree may be moved.
set(dzo_pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH dzo_pc_prefix ${dzo_pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" dzo_pc_prefix "${dzo_pc_prefix}")
foreach(kind LIB INCLUDE)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${kind}DIR})
    set(dzo_pc_${kind}DIR ${CMAKE_INSTALL_${kind}DIR})
  else()
    set(dzo_pc_${kind}DIR "\${prefix}/${CMAKE_INSTALL_${kind}DIR}")
  endif()
endforeach()
set(dzo_pc_libs "-pthread -lm")
if(DZO_HAVE_CUDA)
  string(APPEND dzo_pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()
configure_file(cmake/dzo.pc.in ${CMAKE_CURRENT_BINARY_DIR}/dzo.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dzo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
