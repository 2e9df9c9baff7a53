/* The files of web/, embedded at build time (cmake/EmbedWeb.cmake). */
#ifndef HTTP_ASSETS_H
#define HTTP_ASSETS_H
#include <stddef.h>

typedef struct http_asset {
    const char *name, *media_type;
    const char *etag; /* with its quotes */
    const unsigned char *bytes;
    size_t len;
} http_asset;
extern const http_asset HTTP_ASSETS[];
extern const size_t HTTP_N_ASSETS;

/* NULL when there is none of that name; "" is the page. */
const http_asset *http_find_asset(const char *name);
#endif
