# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# Builds dzo as KIND (shared or static) in WORK, with CUDA (for ARCHITECTURES) ON or OFF, installs it,
# checks what was laid down, moves it, and builds and runs the project in consumer/ against it, by
# find_package and by pkg-config.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}\nfailed with ${result}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_file path)
  file(GLOB found ${path})
  if(NOT found)
    message(FATAL_ERROR "not installed: ${path}")
  endif()
endfunction()

# The example must find the known answer for the bundled roads; see data/README.md.
function(expect_answer)
  run(${ARGN} ${SOURCE}/data/coquimbo.gr.gz)
  if(NOT output MATCHES "weight 88612409" OR NOT output MATCHES "6 trees")
    message(FATAL_ERROR "wrong answer from ${ARGN}: ${output}")
  endif()
endfunction()

set(stage ${WORK}/stage)
set(prefix ${WORK}/moved)
if(KIND STREQUAL "shared")
  set(shared ON)
  set(lib lib)
  set(find -DCMAKE_PREFIX_PATH=${prefix})
else()
  set(shared OFF)
  set(lib lib/here)
  set(find -Ddzo_DIR=${prefix}/${lib}/cmake/dzo)
endif()
file(REMOVE_RECURSE ${stage} ${prefix} ${WORK}/consumer)

set(cuda -DDZO_CUDA=${CUDA})
if(CUDA)
  string(REPLACE "," "\\;" architectures "${ARCHITECTURES}")
  list(APPEND cuda "-DCMAKE_CUDA_ARCHITECTURES=${architectures}")
endif()

# ---- Install into a staging folder, as a packager does, for a prefix that does not exist ---------
# -O1, for it is not about speed.
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER}
    ${cuda} -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG"
    -DBUILD_SHARED_LIBS=${shared} -DDZO_BUILD_TESTS=OFF
    -DCMAKE_INSTALL_PREFIX=/nowhere -DCMAKE_INSTALL_LIBDIR=${lib})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_COMMAND} -E env DESTDIR=${stage} ${CMAKE_COMMAND} --install ${WORK}/build)
file(GLOB_RECURSE strays LIST_DIRECTORIES false RELATIVE ${stage} ${stage}/*)
list(FILTER strays EXCLUDE REGEX "^nowhere/(bin|${lib}|include/dzo|share)/")
if(strays)
  message(FATAL_ERROR "installed outside the prefix: ${strays}")
endif()
file(RENAME ${stage}/nowhere ${prefix})

foreach(path include/dzo/dzo.h ${lib}/pkgconfig/dzo.pc ${lib}/cmake/dzo/dzoConfig.cmake
             share/doc/dzo/LICENSE bin/dzo share/man/man1/dzo.1* share/man/man1/dzo-msf.1*
             share/bash-completion/completions/dzo)
  expect_file(${prefix}/${path})
endforeach()
if(KIND STREQUAL "shared")
  expect_file(${prefix}/${lib}/libdzo.so.0.1.0)
  run(readelf -d ${prefix}/${lib}/libdzo.so)
  if(NOT output MATCHES "soname: \\[libdzo\\.so\\.0\\.1\\]")
    message(FATAL_ERROR "wrong soname: ${output}")
  endif()
else()
  expect_file(${prefix}/${lib}/libdzo.a)
endif()

# ---- The program starts from there --------------------------------------------------------------
run(${prefix}/bin/dzo --version)
if(NOT output MATCHES "0\\.1\\.0")
  message(FATAL_ERROR "dzo --version: ${output}")
endif()

# ---- CMake --------------------------------------------------------------------------------------
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/consumer -G ${GENERATOR}
    -DCMAKE_C_COMPILER=${C_COMPILER} ${find}
    -DDZO_EXAMPLES=${prefix}/share/doc/dzo/examples)
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer)
expect_answer(${WORK}/consumer/spanning_forest)
run(${WORK}/consumer/from_arrays)
if(NOT output STREQUAL "edge 0: 0 - 1, weight 4
edge 3: 1 - 2, weight 2
edge 4: 2 - 3, weight 1
edge 5: 4 - 5, weight 0.5
2 trees, weight 7.5
")
  message(FATAL_ERROR "wrong answer from from_arrays: ${output}")
endif()
run(${WORK}/consumer/table)
if(NOT output MATCHES "customer 17: 2 orders\n" OR NOT output MATCHES "7 orders by 4 customers\n" OR
   NOT output MATCHES "order 3: no such customer\norder 4: city 3\n")
  message(FATAL_ERROR "wrong answer from table: ${output}")
endif()
if(EXISTS ${WORK}/consumer/consumer_cxx)
  run(${WORK}/consumer/consumer_cxx)
endif()

# ---- pkg-config ---------------------------------------------------------------------------------
set(ENV{PKG_CONFIG_PATH} ${prefix}/${lib}/pkgconfig)
set(link)
if(KIND STREQUAL "static")
  set(link --static)
endif()
run(pkg-config --cflags --libs ${link} dzo)
separate_arguments(flags UNIX_COMMAND "${output}")
set(ENV{LD_LIBRARY_PATH} ${prefix}/${lib})
set(program ${WORK}/consumer/by_pkg_config)
set(compile ${C_COMPILER} -std=c11 -Wall -Wextra -Wpedantic -Werror)
run(${compile} ${prefix}/share/doc/dzo/examples/spanning_forest.c -o ${program} ${flags})
expect_answer(${program})

# ---- The README's program -----------------------------------------------------------------------
file(READ ${SOURCE}/README.md readme)
string(REGEX MATCH "```c\n(#include[^`]*)```" found "${readme}")
file(WRITE ${WORK}/consumer/readme.c "${CMAKE_MATCH_1}")
run(${compile} ${WORK}/consumer/readme.c -o ${program} ${flags})
run(${program} ${SOURCE}/data/coquimbo.gr.gz)
string(REGEX MATCHALL "\n" lines "${output}")
list(LENGTH lines count)
if(NOT count EQUAL 15585)
  message(FATAL_ERROR "the README's program printed ${count} lines")
endif()
