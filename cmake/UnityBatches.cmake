# Files compiled in batches: most of what a file costs is its headers (6 files of the coordinator: 63 s
# one by one, 23 s as one). Included when all targets exist. SWARM_UNITY=OFF finds missing includes.
function(swarm_unity target most)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(LENGTH sources count)
  if(count LESS 2)
    return()
  endif()
  execute_process(COMMAND awk -v "most=${most}" -v "root=${PROJECT_SOURCE_DIR}" -f "${PROJECT_SOURCE_DIR}/cmake/unity_batches.awk" ${sources}
    WORKING_DIRECTORY "${folder}" OUTPUT_VARIABLE batches COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" batches "${batches}")
  foreach(line ${batches})
    string(REGEX MATCH "^(.*) ([0-9]+)$" line "${line}")
    set_source_files_properties("${CMAKE_MATCH_1}" TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_2})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # fixtures of tests; it takes a batch's files for headers
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# Not storage: who needs one of its files would load RocksDB.
foreach(folder common routing records tensor actors config apps tests)
  get_property(targets DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "LIBRARY|EXECUTABLE" AND NOT type STREQUAL "INTERFACE_LIBRARY")
      swarm_unity(${target} 8)
    endif()
  endforeach()
endforeach()
