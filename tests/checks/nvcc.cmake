# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# Builds library and program with the GPU engines in BUILD, and checks that they start and work where
# there may be no driver, that they need no library of CUDA or of C++, and that libdzo.so shows
# nothing of what is inside.
cmake_minimum_required(VERSION 3.25)
cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}\n${errors}\nfailed with ${result}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G ${GENERATOR} -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_CUDA_COMPILER=${CUDA_COMPILER} -DCMAKE_BUILD_TYPE=Release -DDZO_CUDA=ON
    -DCMAKE_CUDA_ARCHITECTURES=90 -DDZO_WERROR=ON -DDZO_BUILD_TESTS=OFF)
run(${CMAKE_COMMAND} --build ${BUILD} --parallel ${jobs})

# ---- What they need ------------------------------------------------------------------------------
foreach(file dzo libdzo.so)
  run(ldd ${BUILD}/${file})
  if(output MATCHES "libcud|libnv|libstdc\\+\\+|libgcc_s|not found")
    message(FATAL_ERROR "${file} needs more than it should:\n${output}")
  endif()
endforeach()

# ---- What libdzo.so shows ------------------------------------------------------------------------
run(nm --dynamic --defined-only ${BUILD}/libdzo.so)
string(REGEX REPLACE "\n$" "" output "${output}")
string(REPLACE "\n" ";" symbols "${output}")
list(FILTER symbols EXCLUDE REGEX " [TB] dzo_")
if(symbols)
  message(FATAL_ERROR "libdzo.so shows what it should hide: ${symbols}")
endif()

# ---- They start and work -------------------------------------------------------------------------
run(${BUILD}/dzo info --json)
string(JSON built GET "${output}" cuda built)
string(JSON runtime GET "${output}" cuda runtime)
string(JSON reason ERROR_VARIABLE ignored GET "${output}" cuda reason)
string(JSON devices LENGTH "${output}" devices)
if(NOT built OR NOT runtime MATCHES "^[0-9]+\\.[0-9]+$")
  message(FATAL_ERROR "dzo info does not tell that CUDA is built in: ${output}")
endif()
if(devices LESS 2 AND NOT reason)
  message(FATAL_ERROR "dzo info does not tell why there is no GPU: ${output}")
endif()
run(${BUILD}/dzo msf --device cpu --verify --json ${SOURCE}/data/coquimbo.gr.gz)
string(JSON weight GET "${output}" forest weight)
string(JSON verified GET "${output}" verified)
if(NOT weight EQUAL 88612409 OR NOT verified)
  message(FATAL_ERROR "wrong answer: ${output}")
endif()
run(${BUILD}/dzo msf --verify ${SOURCE}/data/coquimbo.gr.gz)

# ---- Asking for a GPU that is not there ------------------------------------------------------------
if(devices LESS 2)
  execute_process(COMMAND ${BUILD}/dzo msf --device cuda ${SOURCE}/data/coquimbo.gr.gz
                  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  string(FIND "${errors}" "${reason}" at)
  if(NOT result EQUAL 4 OR at LESS 0)
    message(FATAL_ERROR "--device cuda without a GPU: exit status ${result}, ${errors}")
  endif()
endif()
