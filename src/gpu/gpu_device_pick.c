/* Which device a selector names: plain text work, the same in every build. */
#include "gpu/gpu_device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_index(const char *sel)
{
    return sel[0] && strspn(sel, "0123456789") == strlen(sel) && strlen(sel) < 4;
}

/* "0000:17:00.0", or without the domain, as lspci prints it. */
static bool is_pci(const gpu_device_info *d, const char *sel)
{
    return strcasecmp(d->pci, sel) == 0 || (strlen(d->pci) > 5 && strcasecmp(d->pci + 5, sel) == 0);
}

/* At least four digits of the UUID, with or without "GPU-". */
static bool is_uuid_start(const gpu_device_info *d, const char *sel)
{
    const char *digits = strncasecmp(sel, "GPU-", 4) == 0 ? sel + 4 : sel;
    size_t n = strlen(digits);
    return n >= 4 && strncasecmp(d->uuid + 4, digits, n) == 0;
}

bool gpu_device_is_selector(const char *sel)
{
    const char *digits = strncasecmp(sel, "GPU-", 4) == 0 ? sel + 4 : sel;
    size_t n = strlen(digits);
    return is_index(sel) || (n >= 4 && strspn(digits, "0123456789abcdefABCDEF-:.") == n);
}

static void list_devices(char *out, size_t len, const gpu_device_info *all, uint32_t n)
{
    size_t at = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < n && at < len; i++) {
        int k = snprintf(out + at, len - at, "%s%d (%s, %.12s)", i ? ", " : "", all[i].ordinal,
                         all[i].pci, all[i].uuid);
        at += k > 0 ? (size_t)k : 0;
    }
}

cuzk_status gpu_device_pick(gpu_device_info *out, const gpu_device_info *all, uint32_t n,
                            const char *sel)
{
    const gpu_device_info *found = NULL;
    uint32_t n_found = 0;
    char list[160];
    if (n == 0)
        return cuzk_fail(CUZK_E_NOT_FOUND, "no CUDA device in this machine (or no driver)");
    for (uint32_t i = 0; i < n; i++) {
        bool is = !sel            ? i == 0
                  : is_index(sel) ? (uint32_t)all[i].ordinal == (uint32_t)strtoul(sel, NULL, 10)
                                  : is_pci(&all[i], sel) || is_uuid_start(&all[i], sel);
        found = is ? &all[i] : found;
        n_found += is;
    }
    if (n_found == 1) {
        *out = *found;
        return cuzk_ok();
    }
    list_devices(list, sizeof list, all, n);
    return cuzk_fail(CUZK_E_NOT_FOUND, "device \"%.40s\": expected one of %s, found %s",
                     sel ? sel : "", list, n_found ? "several that fit" : "none");
}

cuzk_status gpu_device_find(gpu_device_info *out, const char *sel)
{
    gpu_device_info all[GPU_DEVICES_MAX];
    uint32_t n;
    CUZK_TRY(gpu_devices(all, &n, GPU_DEVICES_MAX));
    return gpu_device_pick(out, all, n, sel);
}
