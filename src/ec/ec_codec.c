/* Flag bits of point encodings. */
#include "ec/ec_codec.h"

cuzk_status ec_check_flags(bool *is_inf, const char *what, const uint8_t *b, size_t n,
                           bool want_compressed, bool allow_inf)
{
    bool compressed = b[0] & EC_FLAG_COMPRESSED;
    *is_inf = b[0] & EC_FLAG_INFINITY;
    if (compressed != want_compressed)
        return cuzk_bad_input(
            what, want_compressed ? "the compressed flag set" : "the compressed flag clear",
            "first byte 0x%02x", b[0]);
    if ((b[0] & EC_FLAG_Y_LARGER) && (!compressed || *is_inf))
        return cuzk_bad_input(what,
                              *is_inf ? "an infinity without the sign flag"
                                      : "no sign flag in an uncompressed point",
                              "first byte 0x%02x", b[0]);
    if (!*is_inf)
        return cuzk_ok();
    uint8_t stray = b[0] & (uint8_t)~EC_FLAG_MASK;
    for (size_t i = 1; i < n; i++)
        stray |= b[i];
    if (stray)
        return cuzk_bad_input(what, "zero bytes in an infinity", "a nonzero byte");
    if (!allow_inf)
        return cuzk_bad_input(what, "a point other than infinity", "infinity");
    return cuzk_ok();
}
