# Compiler flags common to every target.
add_compile_options(-Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> -Wvla
                    -fvisibility=hidden -fno-strict-overflow)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # Status and log texts are cut on purpose; which cuts gcc can prove differs between its versions.
    add_compile_options(-Wno-format-truncation)
endif()
if(CUZK_WERROR)
    add_compile_options(-Werror)
endif()
if(CUZK_TEST_HOOKS)
    add_compile_definitions(CUZK_TEST_HOOKS=1)
endif()

if(CUZK_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "CUZK_FUZZ needs clang (found ${CMAKE_C_COMPILER_ID}); use --preset fuzz")
    endif()
    # The layers get coverage hooks too, or the fuzzer would see nothing but the harness.
    add_compile_options(-fsanitize=fuzzer-no-link)
    if(NOT CUZK_SANITIZE)
        set(CUZK_SANITIZE "address,undefined")
    endif()
endif()
if(CUZK_SANITIZE)
    add_compile_options(-fsanitize=${CUZK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${CUZK_SANITIZE})
endif()
