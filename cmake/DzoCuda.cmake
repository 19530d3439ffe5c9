# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# The GPU's sources. The C sources know nothing of CUDA: they call functions that one of three sets
# of objects defines, and which one is a matter of linking:
#   dzo_gpu_nvcc  the .cu files, compiled by nvcc                 (DZO_HAVE_CUDA)
#   dzo_gpu_none  stubs that say there is no GPU                  (always)
#   dzo_gpu_simt  the .cu files, compiled for the CPU by tests/simt  (tests only)
# ${DZO_GPU} names the set that the library and the program are made with.
set(DZO_CUDA AUTO CACHE STRING "build the GPU engines: AUTO (where there is nvcc), ON or OFF")
set_property(CACHE DZO_CUDA PROPERTY STRINGS AUTO ON OFF)
set(DZO_HAVE_CUDA OFF)
set(DZO_RELEASE_GPUS 75 80 86 89 90 100 120)

# "compute_75\ncompute_80\n...": what the CUDA compiler knows; all where it does not say.
function(dzo_known_gpus out)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  if(NOT known MATCHES "compute_")
    list(TRANSFORM DZO_RELEASE_GPUS PREPEND compute_ OUTPUT_VARIABLE known)
    list(JOIN known "\n" known)
    string(APPEND known "\n")
  endif()
  set(${out} "${known}" PARENT_SCOPE)
endfunction()

# What a release is built for: machine code for each kind of GPU that the compiler knows, and PTX of
# the newest of them for those to come.
function(dzo_release_gpus out)
  dzo_known_gpus(known)
  set(gpus ${DZO_RELEASE_GPUS})
  foreach(gpu IN LISTS DZO_RELEASE_GPUS)
    if(NOT known MATCHES "compute_${gpu}\n")
      list(REMOVE_ITEM gpus ${gpu})
    endif()
  endforeach()
  list(POP_BACK gpus newest)
  list(TRANSFORM gpus APPEND -real)
  set(${out} ${gpus} ${newest} PARENT_SCOPE)
endfunction()

# The GPUs of this machine, as architectures ("90-real"); empty where there is none, or one that the
# compiler does not know, which then runs a release's PTX.
function(dzo_gpus_here out)
  set(${out} "" PARENT_SCOPE)
  find_program(DZO_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(DZO_NVIDIA_SMI)
  if(NOT DZO_NVIDIA_SMI)
    return()
  endif()
  execute_process(COMMAND ${DZO_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE capabilities RESULT_VARIABLE result ERROR_QUIET TIMEOUT 60)
  if(NOT result EQUAL 0)
    return()
  endif()
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${capabilities}")
  list(TRANSFORM capabilities REPLACE "\\." "")
  list(REMOVE_DUPLICATES capabilities)
  dzo_known_gpus(known)
  set(here)
  foreach(capability IN LISTS capabilities)
    if(known MATCHES "compute_${capability}\n")
      list(APPEND here ${capability}-real)
    elseif(capability GREATER 75)
      return()
    endif()
  endforeach()
  set(${out} "${here}" PARENT_SCOPE)
endfunction()

if(DZO_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      if(DZO_CUDA STREQUAL "AUTO")
        dzo_gpus_here(CMAKE_CUDA_ARCHITECTURES)
      endif()
      if(NOT CMAKE_CUDA_ARCHITECTURES)
        dzo_release_gpus(CMAKE_CUDA_ARCHITECTURES)
      endif()
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(DZO_HAVE_CUDA ON)
    # No C++ library: cc links everything, and users' programs need nothing but libc.
    set(CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES "")
    set(CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES "")
    set(CMAKE_CUDA_LINKER_PREFERENCE_PROPAGATES 0)
    set(CMAKE_CUDA_RUNTIME_LIBRARY None)
  elseif(NOT DZO_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "DZO_CUDA=ON, but no CUDA compiler was found")
  endif()
endif()
if(DZO_HAVE_CUDA)
  list(JOIN CMAKE_CUDA_ARCHITECTURES " " text)
  message(STATUS "GPU engines: CUDA ${CMAKE_CUDA_COMPILER_VERSION} for ${text}")
else()
  message(STATUS "GPU engines: left out")
endif()

add_library(dzo_gpu_none OBJECT EXCLUDE_FROM_ALL)
set(DZO_GPU dzo_gpu_none)
if(DZO_HAVE_CUDA)
  add_library(dzo_gpu_nvcc OBJECT EXCLUDE_FROM_ALL)
  set(DZO_GPU dzo_gpu_nvcc)
  set_target_properties(dzo_gpu_nvcc PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
                                                CUDA_EXTENSIONS OFF CUDA_VISIBILITY_PRESET hidden)
  # What would need the C++ library stays out of the host's code.
  target_compile_options(dzo_gpu_nvcc PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics>")
endif()
foreach(set IN ITEMS dzo_gpu_none ${DZO_GPU})
  set_target_properties(${set} PROPERTIES C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${set} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  dzo_use_libraries(${set})
endforeach()

# The .cu files of a room. All but those marked NVCC_ONLY, which call CUDA's own libraries, are also
# compiled by tests/simt, which finds them in the global property DZO_CUDA_SOURCES.
function(dzo_cuda_sources)
  cmake_parse_arguments(room "" "" "NVCC_ONLY" ${ARGN})
  set(portable ${room_UNPARSED_ARGUMENTS})
  set(sources ${portable} ${room_NVCC_ONLY})
  list(TRANSFORM portable PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_property(GLOBAL APPEND PROPERTY DZO_CUDA_SOURCES ${portable})
  if(DZO_HAVE_CUDA)
    target_sources(dzo_gpu_nvcc PRIVATE ${sources})
  endif()
endfunction()

# Those of them whose floating point must round as on the CPU: no contraction of a*b+c.
function(dzo_cuda_exact)
  if(NOT DZO_HAVE_CUDA)
    return()
  endif()
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  set_source_files_properties(${sources} TARGET_DIRECTORY dzo_gpu_nvcc
                              PROPERTIES COMPILE_OPTIONS -fmad=false)
endfunction()

# What stands in for a room's .cu files where the library is built without CUDA: plain C.
function(dzo_no_cuda_sources)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  target_sources(dzo_gpu_none PRIVATE ${sources})
endfunction()

# What a target needs that the set is linked into.
function(dzo_use_gpu target)
  if(NOT DZO_HAVE_CUDA)
    return()
  endif()
  set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY None)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    # The runtime is inside and out of sight.
    target_link_options(${target} PRIVATE LINKER:--exclude-libs,ALL LINKER:-z,defs)
    target_link_libraries(${target} PRIVATE ${CUDA_cudart_static_LIBRARY} ${CMAKE_DL_LIBS} rt)
  else()
    # The path of this machine's toolkit must not be installed.
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${CUDA_cudart_static_LIBRARY}>
                                            $<INSTALL_INTERFACE:CUDA::cudart_static>
                                            ${CMAKE_DL_LIBS} rt)
  endif()
endfunction()
