# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# Warnings, sanitizers, and the libraries each of our targets links.
add_library(dzo_compiler INTERFACE)
target_compile_options(dzo_compiler INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                                              $<$<BOOL:${DZO_WERROR}>:-Werror>)
# A rounding must be the same on every machine: no contraction of a*b+c.
target_compile_options(dzo_compiler INTERFACE -ffp-contract=off)
if(DZO_SANITIZE)
  target_compile_options(dzo_compiler INTERFACE -fsanitize=${DZO_SANITIZE} -fno-omit-frame-pointer
                                                -fno-sanitize-recover=all -g)
  target_link_options(dzo_compiler INTERFACE -fsanitize=${DZO_SANITIZE})
endif()
if(DZO_COVERAGE)
  target_compile_options(dzo_compiler INTERFACE --coverage)
  target_link_options(dzo_compiler INTERFACE --coverage)
endif()

function(dzo_use_libraries target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:dzo_compiler> ZLIB::ZLIB zstd::zstd
                                          Threads::Threads m)
endfunction()

# Sources of the library.
function(dzo_sources)
  foreach(source IN LISTS ARGN)
    target_sources(dzo_objects PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  endforeach()
endfunction()
