# C code and descriptors from proto/, in one static library (cuzk_proto). Made when configuring, so that tools which
# only read compile_commands.json find it; a change of a .proto file configures again. Include with <>.
find_program(PROTOC protoc REQUIRED)
find_program(PROTOC_C protoc-c REQUIRED)
set(PROTO_GEN_DIR ${CMAKE_BINARY_DIR}/proto)
set(PROTO_NAMES cuzk/v1/proving grpc/health/v1/health grpc/reflection/v1/reflection grpc/reflection/v1alpha/reflection)

# A serialized FileDescriptorSet as a C array, named by the path: proto_cuzk_v1_proving.
function(proto_descriptor_array out in name)
    file(READ ${in} hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    file(WRITE ${out} "#include <proto_descriptors.h>\nconst unsigned char ${name}[] = {\n${hex}};\nconst size_t ${name}_len = sizeof ${name};\n")
endfunction()

set(tmp ${PROTO_GEN_DIR}/tmp)
set(declarations "/* Generated: serialized FileDescriptorSets of proto/. */\n#include <stddef.h>\n")
foreach(p ${PROTO_NAMES})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/${p}.proto)
    get_filename_component(dir ${p} DIRECTORY)
    file(MAKE_DIRECTORY ${tmp}/${dir} ${PROTO_GEN_DIR}/${dir})
    string(REPLACE "/" "_" id proto_${p})
    foreach(command "${PROTOC_C};--c_out=${tmp}" "${PROTOC};--descriptor_set_out=${tmp}/${p}.desc")
        execute_process(COMMAND ${command} -I ${CMAKE_SOURCE_DIR}/proto ${CMAKE_SOURCE_DIR}/proto/${p}.proto
                        RESULT_VARIABLE rc)
        if(NOT rc EQUAL 0)
            message(FATAL_ERROR "${p}.proto: ${command} failed")
        endif()
    endforeach()
    proto_descriptor_array(${tmp}/${p}_desc.c ${tmp}/${p}.desc ${id})
    string(APPEND declarations "extern const unsigned char ${id}[];\nextern const size_t ${id}_len;\n")
    foreach(f ${p}.pb-c.c ${p}.pb-c.h ${p}_desc.c) # an unchanged file keeps its date
        file(COPY_FILE ${tmp}/${f} ${PROTO_GEN_DIR}/${f} ONLY_IF_DIFFERENT)
    endforeach()
    list(APPEND proto_sources ${PROTO_GEN_DIR}/${p}.pb-c.c ${PROTO_GEN_DIR}/${p}_desc.c)
endforeach()
file(WRITE ${tmp}/proto_descriptors.h "${declarations}")
file(COPY_FILE ${tmp}/proto_descriptors.h ${PROTO_GEN_DIR}/proto_descriptors.h ONLY_IF_DIFFERENT)

add_library(cuzk_proto STATIC ${proto_sources})
target_include_directories(cuzk_proto SYSTEM PUBLIC ${PROTO_GEN_DIR})
target_link_libraries(cuzk_proto PUBLIC PkgConfig::PROTOBUF_C)
