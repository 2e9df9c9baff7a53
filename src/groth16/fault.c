#include "groth16/fault.h"
#ifdef CUZK_TEST_HOOKS
#include "base/random.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"quotient", "bucket", "point"};

/* What the plan says of one kind, "" if nothing: names are separated by commas. */
static const char *setting(const char *plan, const char *name)
{
    for (size_t len = strlen(name); plan; plan = strchr(plan, ',')) {
        plan += *plan == ',';
        if (strncmp(plan, name, len) == 0 && plan[len] == '=')
            return plan + len + 1;
    }
    return "";
}

bool g16_fault_hits(g16_fault f)
{
    static atomic_uint asked[3];
    char *end;
    unsigned long n = strtoul(setting(getenv("CUZK_PROVER_FAULT"), names[f]), &end, 10);
    if (*end != '%')
        return n && atomic_fetch_add(&asked[f], 1) < n;
    uint32_t r;
    return random_bytes(&r, sizeof r).code == CUZK_OK && r % 100 < n;
}
#else
/* an empty translation unit is not C */
typedef int g16_fault_unused;
#endif
