/* UTF-8 as protobuf strings must have it (RFC 3629): other languages' clients reject the rest. */
#ifndef RPC_UTF8_H
#define RPC_UTF8_H
#include <stdbool.h>
#include <stddef.h>

/* Shortest forms only, no surrogates, at most U+10FFFF. */
bool utf8_is_valid(const void *text, size_t len);
/* Replace, in place, every byte that belongs to no character by '?'. */
void utf8_repair(char *text);
#endif
