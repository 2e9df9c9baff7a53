/* Stored requests and timelines from hostile bytes: decoding ends in a status, and what is accepted
 * encodes to the same bytes.
 * Input: which of the two (1), the bytes. */
#include "base/mem.h"
#include "engine/timeline.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_request(uint8_t *b, size_t n)
{
    job_request r;
    uint8_t *again, digest[32];
    size_t len;
    if (job_request_decode(&r, b, n, NULL).code != CUZK_OK)
        return;
    job_request_digest(digest, &r);
    require(job_request_encode(&again, &len, &r).code == CUZK_OK);
    require(len == n && memcmp(again, b, n) == 0);
    mem_free(again);
    job_request_fini(&r);
}

static void try_timeline(const char *json, size_t n)
{
    timeline t, back;
    char *first, *second;
    if (timeline_parse(&t, json, n).code != CUZK_OK)
        return;
    require(timeline_format(&first, &t).code == CUZK_OK);
    require(timeline_parse(&back, first, strlen(first)).code == CUZK_OK);
    require(timeline_format(&second, &back).code == CUZK_OK);
    require(back.n_spans == t.n_spans && strcmp(back.job_id, t.job_id) == 0);
    FILE *f = fopen("/dev/null", "w");
    require(f != NULL);
    require(timeline_write_table(&t, f).code == CUZK_OK);
    require(timeline_write_gaps(&t, f).code == CUZK_OK);
    require(timeline_write_chrome(&t, f).code == CUZK_OK);
    fclose(f);
    mem_free(first);
    mem_free(second);
    timeline_fini(&back);
    timeline_fini(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    uint8_t *b = mem_alloc(size - 1, 16); /* exact, for the address sanitizer */
    require(b != NULL);
    memcpy(b, data + 1, size - 1);
    if (data[0] & 1)
        try_timeline((const char *)b, size - 1);
    else
        try_request(b, size - 1);
    mem_free(b);
    return 0;
}
