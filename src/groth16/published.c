/* Look-up of published key sets. */
#include "groth16/published_table.h"
#include <string.h>

const g16_published *g16_published_find(const char *file_stem)
{
    for (size_t i = 0; i < G16_N_PUBLISHED; i++)
        if (strcmp(g16_published_table[i].file_stem, file_stem) == 0)
            return &g16_published_table[i];
    return NULL;
}
