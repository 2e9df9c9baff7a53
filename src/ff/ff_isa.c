/* Which field kernels this process runs. */
#include <stdlib.h>
#include <string.h>
#include "ff/ff_kernels.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

const ff_kernels *ff_active = &ff_kernels_portable;

static bool cpu_has_adx(void)
{
#if defined(__x86_64__)
    /* CPUID leaf 7, subleaf 0: EBX bit 8 is BMI2, bit 19 is ADX (Intel SDM vol. 2A). */
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return false;
    return ((b >> 8) & 1) && ((b >> 19) & 1);
#else
    return false;
#endif
}

bool ff_force_isa(const char *name)
{
    bool has_adx = cpu_has_adx();
    if (name == NULL)
        ff_active = has_adx ? &ff_kernels_adx : &ff_kernels_portable;
    else if (strcmp(name, "portable") == 0)
        ff_active = &ff_kernels_portable;
    else if (strcmp(name, "adx") == 0 && has_adx)
        ff_active = &ff_kernels_adx;
    else
        return false;
    return true;
}

/* Before main, so no thread can see a half-made choice. An unknown or unavailable CUZK_ISA means
 * the best. */
__attribute__((constructor)) static void ff_isa_init(void)
{
    const char *want = getenv("CUZK_ISA");
    if (want == NULL || !ff_force_isa(want))
        (void)ff_force_isa(NULL);
}

bool ff_use_adx(void) { return ff_active == &ff_kernels_adx; }

const char *ff_isa(void) { return ff_active->name; }
