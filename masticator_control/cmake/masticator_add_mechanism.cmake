# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes a mechanism that controllers of masticator_control can use, by name, as C exported while the
# package is built:
#
#   masticator_add_mechanism(<name> <description> [FRICTION] [GOAL <goal>] [DRIVES <file>])
#
# name         lower-case identifier: value of the controllers' parameter `mechanism`
# description  YAML of the mechanism, or the name of one that masticator_dynamics has
# FRICTION     efforts overcome friction, too
# GOAL         what redundant motors share the load for: torque (default), joint-force, contact-force, power
# DRIVES       drives file whose rotors the efforts accelerate, too
function(masticator_add_mechanism name description)
  cmake_parse_arguments(PARSE_ARGV 2 arg "FRICTION" "GOAL;DRIVES" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "masticator_add_mechanism(${name}): unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "masticator_add_mechanism: name '${name}' is no lower-case identifier")
  endif()
  if(NOT CMAKE_C_COMPILER_LOADED)
    message(FATAL_ERROR "masticator_add_mechanism: project() needs language C")
  endif()
  set(_prefixes $ENV{AMENT_PREFIX_PATH})
  string(REPLACE ":" ";" _prefixes "${_prefixes}")
  list(TRANSFORM _prefixes APPEND "/lib/masticator_dynamics")
  find_program(MASTICATOR_EXECUTABLE masticator HINTS ${_prefixes})
  if(NOT MASTICATOR_EXECUTABLE)
    message(FATAL_ERROR "masticator_add_mechanism: there is no program 'masticator': build "
      "masticator_dynamics first and source its setup file")
  endif()

  # What a description is made of is beside it.
  set(_sources "")
  foreach(_file IN ITEMS "${description}" ${arg_DRIVES})
    get_filename_component(_path "${_file}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    if(EXISTS "${_path}")
      get_filename_component(_folder "${_path}" DIRECTORY)
      file(GLOB _beside CONFIGURE_DEPENDS "${_folder}/*.yaml" "${_folder}/*.urdf" "${_folder}/*.xacro")
      list(APPEND _sources ${_beside})
    elseif(_file MATCHES "/|[.]ya?ml$" AND NOT _file STREQUAL "${arg_DRIVES}")
      message(FATAL_ERROR "masticator_add_mechanism(${name}): there is no file ${_path}")
    endif()
  endforeach()

  set(_folder "${CMAKE_CURRENT_BINARY_DIR}/masticator_mechanisms/${name}")
  set(_options --name ${name})
  if(arg_FRICTION)
    list(APPEND _options --friction)
  endif()
  if(arg_GOAL)
    list(APPEND _options --goal ${arg_GOAL})
  endif()
  if(arg_DRIVES)
    list(APPEND _options --drives ${arg_DRIVES})
  endif()
  add_custom_command(
    OUTPUT "${_folder}/${name}.c" "${_folder}/${name}.h"
    COMMAND "${MASTICATOR_EXECUTABLE}" export-c ${description} ${_options} --output "${_folder}"
    DEPENDS ${_sources}
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "Exporting mechanism ${name}"
    VERBATIM)
  string(TOUPPER ${name} upper)
  configure_file("${masticator_control_TEMPLATES}/mechanism.c.in" "${_folder}/table.c" @ONLY)

  set(_target masticator_mechanism_${name})
  add_library(${_target} MODULE "${_folder}/${name}.c" "${_folder}/table.c")
  target_include_directories(${_target} PRIVATE "${_folder}" "${masticator_control_HEADERS}")
  set_target_properties(${_target} PROPERTIES C_STANDARD 99 C_VISIBILITY_PRESET hidden)
  # Without optimisation, which is CMake's default, it takes six times as long.
  target_compile_options(${_target} PRIVATE $<$<C_COMPILER_ID:GNU,Clang,AppleClang>:-O2>)
  target_link_libraries(${_target} PRIVATE m)
  install(TARGETS ${_target} LIBRARY DESTINATION lib)
  install(FILES "${_folder}/${name}.c" DESTINATION share/${PROJECT_NAME}/masticator_mechanisms)
  ament_index_register_resource(masticator_mechanisms PACKAGE_NAME ${name}
    CONTENT "lib/lib${_target}.so;share/${PROJECT_NAME}/masticator_mechanisms/${name}.c")
endfunction()
