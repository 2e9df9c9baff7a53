/* Making and passing on cuzk_status. A status owns nothing and is safe after out-of-memory. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H
#include "cuzk/status.h"
#include <assert.h> /* static_assert too */

#define CUZK_MUST_CHECK __attribute__((warn_unused_result))
#define CUZK_PRINTF(fmt_idx, arg_idx) __attribute__((format(printf, fmt_idx, arg_idx)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Return early with a failing status; only in functions that own nothing at that point. */
#define CUZK_TRY(call)                     \
    do {                                   \
        cuzk_status cuzk_try_st_ = (call); \
        if (cuzk_try_st_.code != CUZK_OK)  \
            return cuzk_try_st_;           \
    } while (0)

/* Caller-contract check: compiled out in release (NDEBUG). */
#ifdef NDEBUG
#define CUZK_ASSERT(cond) ((void)sizeof(cond))
#else
#define CUZK_ASSERT(cond) assert(cond)
#endif

/* Our own invariant, whose breach could give a wrong proof: checked in release, returns
 * CUZK_E_INTERNAL. */
#define CUZK_VERIFY(cond)                                                                        \
    do {                                                                                         \
        if (!(cond))                                                                             \
            return cuzk_fail(CUZK_E_INTERNAL, "%s:%d: invariant broken: %s", __FILE__, __LINE__, \
                             #cond);                                                             \
    } while (0)

static inline cuzk_status cuzk_ok(void)
{
    cuzk_status st;
    st.code = CUZK_OK;
    st.msg[0] = 0;
    return st;
}

/* Make a failing status; the message is truncated to fit. */
cuzk_status cuzk_fail(cuzk_code code, const char *fmt, ...) CUZK_PRINTF(2, 3);
/* Put context in front of a failing status ("partition 3: ..."); success passes unchanged. */
cuzk_status cuzk_wrap(cuzk_status st, const char *fmt, ...) CUZK_PRINTF(2, 3);
/* The bad-input status in its one spelling: "<field>: expected <expected>, found <found>". */
cuzk_status cuzk_bad_input(const char *field, const char *expected, const char *found_fmt, ...)
    CUZK_PRINTF(3, 4);
/* Text of a code, e.g. "bad input"; the code's name, e.g. "CUZK_E_INPUT". Static strings. */
const char *cuzk_code_text(cuzk_code code);
const char *cuzk_code_name(cuzk_code code);

#ifdef __clang_analyzer__
/* The analyzer does not look into variadic functions. Tell it that these keep the code, or it
 * follows paths on which a failed allocation reported success. */
static inline cuzk_status cuzk_with_code(cuzk_status st, cuzk_code code)
{
    st.code = code;
    return st;
}
#define cuzk_fail(code, ...) cuzk_with_code(cuzk_fail(code, __VA_ARGS__), code)
#define cuzk_bad_input(field, ...) cuzk_with_code(cuzk_bad_input(field, __VA_ARGS__), CUZK_E_INPUT)
#define cuzk_wrap(st, ...)                                                     \
    ({                                                                         \
        cuzk_status cuzk_inner_ = (st);                                        \
        cuzk_with_code(cuzk_wrap(cuzk_inner_, __VA_ARGS__), cuzk_inner_.code); \
    })
#endif
#endif
