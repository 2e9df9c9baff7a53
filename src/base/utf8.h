/* UTF-8 as protobuf strings must have it (RFC 3629): other languages' clients reject the rest. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at p, of which `left` are there; 0 when it is none. */
size_t utf8_char_bytes(const uint8_t *p, size_t left);
/* Shortest forms only, no surrogates, at most U+10FFFF. */
bool utf8_is_valid(const void *text, size_t len);
/* Replace, in place, every byte that belongs to no character by '?'. */
void utf8_repair(char *text);
#endif
