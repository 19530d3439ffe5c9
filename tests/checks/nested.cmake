# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# Configures PRESET in BUILD, builds it, runs ctest with the options TESTS.
cmake_minimum_required(VERSION 3.25)
cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)
foreach(step "${CMAKE_COMMAND};--preset;${PRESET};-S;${SOURCE};-B;${BUILD};-G;${GENERATOR}"
             "${CMAKE_COMMAND};--build;${BUILD};--parallel;${jobs}"
             "${CMAKE_CTEST_COMMAND};--test-dir;${BUILD};--parallel;${jobs};--output-on-failure;--no-tests=error;${TESTS}")
  execute_process(COMMAND ${step} WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${step}")
  endif()
endforeach()
