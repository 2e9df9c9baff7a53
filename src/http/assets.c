#include "http/assets.h"
#include <string.h>

const http_asset *http_find_asset(const char *name)
{
    if (!*name)
        name = "index.html";
    for (size_t i = 0; i < HTTP_N_ASSETS; i++)
        if (strcmp(HTTP_ASSETS[i].name, name) == 0)
            return &HTTP_ASSETS[i];
    return NULL;
}
