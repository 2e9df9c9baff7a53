# The CUDA half of src/gpu. CMake's own CUDA language wants a complete toolkit; nvcc alone, such as the
# pip wheels nvidia-cuda-{nvcc,crt,runtime,cccl} and nvidia-nvvm give it, is enough here.
option(CUZK_CUDA "Build the CUDA backend (needs nvcc)" OFF)
set(CUZK_NVCC "" CACHE FILEPATH "nvcc to use; found on the PATH or in /usr/local/cuda when empty")
set(CUZK_CUDA_ARCH "sm_90" CACHE STRING "GPU architecture, as nvcc -arch takes it")
if(NOT CUZK_CUDA)
    return()
endif()
if(NOT CUZK_NVCC)
    find_program(CUZK_NVCC_FOUND nvcc PATHS /usr/local/cuda/bin REQUIRED)
    set(CUZK_NVCC ${CUZK_NVCC_FOUND})
endif()
get_filename_component(cuda_bin ${CUZK_NVCC} REALPATH)
get_filename_component(cuda_bin ${cuda_bin} DIRECTORY)
get_filename_component(cuda_root ${cuda_bin} DIRECTORY)
find_library(CUZK_CUDART cudart_static PATHS ${cuda_root} PATH_SUFFIXES lib64 lib NO_DEFAULT_PATH REQUIRED)
find_path(CUZK_CUDA_INCLUDE cuda_runtime_api.h PATHS ${cuda_root}/include NO_DEFAULT_PATH REQUIRED)

# Compile .cu files and add them to a library.
function(cuzk_cuda_sources target)
    foreach(src ${ARGN})
        get_filename_component(n ${src} NAME_WE)
        set(obj ${CMAKE_CURRENT_BINARY_DIR}/${n}.cu.o)
        add_custom_command(OUTPUT ${obj}
            COMMAND ${CUZK_NVCC} -std=c++17 -O3 -arch=${CUZK_CUDA_ARCH} -Xcompiler -Wall,-Wno-unknown-pragmas,-fPIC,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics
                    -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/include -MD -MF ${obj}.d -c ${src} -o ${obj}
            DEPENDS ${src} DEPFILE ${obj}.d VERBATIM COMMENT "Building CUDA object ${n}.cu.o")
        target_sources(${target} PRIVATE ${obj})
    endforeach()
    # stdc++: the headers of CUB (gpu_sort.cu) bring iostreams in, and C programs link this
    target_link_libraries(${target} PUBLIC ${CUZK_CUDART} ${CMAKE_DL_LIBS} rt stdc++)
endfunction()
