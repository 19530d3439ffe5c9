# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# Warnings, sanitizers, and the libraries each of our targets links.
add_library(dzo_compiler INTERFACE)
set(c $<COMPILE_LANGUAGE:C>)
set(cxx $<COMPILE_LANGUAGE:CXX>)
set(cuda $<COMPILE_LANGUAGE:CUDA>)
target_compile_options(dzo_compiler INTERFACE
  $<${c}:-Wall> $<${c}:-Wextra> $<${c}:-Wpedantic> $<${c}:-Wconversion>
  $<${cxx}:-Wall> $<${cxx}:-Wextra> $<${cuda}:-Xcompiler=-Wall,-Wextra>)
if(DZO_WERROR)
  target_compile_options(dzo_compiler INTERFACE $<${c}:-Werror> $<${cxx}:-Werror>
                                                $<${cuda}:-Werror=all-warnings>)
endif()
# A rounding must be the same on every machine: no contraction of a*b+c. (On the GPU only the
# generators round; see dzo_cuda_exact().)
target_compile_options(dzo_compiler INTERFACE $<${c}:-ffp-contract=off> $<${cxx}:-ffp-contract=off>
                                              $<${cuda}:-Xcompiler=-ffp-contract=off>)
if(DZO_SANITIZE)
  foreach(option -fsanitize=${DZO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
    # A comma in -fsanitize=a,b would end nvcc's -Xcompiler= early.
    string(REPLACE "," "\\," quoted "${option}")
    target_compile_options(dzo_compiler INTERFACE $<$<NOT:${cuda}>:${option}>
                                                  $<${cuda}:-Xcompiler=${quoted}>)
  endforeach()
  target_link_options(dzo_compiler INTERFACE -fsanitize=${DZO_SANITIZE})
  # By gcc's names tests tell that they are watched, and do less.
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    foreach(watched address thread)
      if(DZO_SANITIZE MATCHES ${watched})
        string(TOUPPER __SANITIZE_${watched}__ macro)
        target_compile_definitions(dzo_compiler INTERFACE ${macro}=1)
      endif()
    endforeach()
  endif()
endif()
if(DZO_COVERAGE)
  target_compile_options(dzo_compiler INTERFACE $<$<NOT:${cuda}>:--coverage>
                                                $<${cuda}:-Xcompiler=--coverage>)
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
