#include "circuit/circuit_id.h"
#include "circuit/porep_circuit.h"
#include "circuit/post_circuit.h"
#include "circuit/update_circuit.h"
#include <stdio.h>
#include <string.h>

/* Not PROOF_KIND_NAMES: clients know WindowPoSt as "wpost". */
static const char *const prefixes[PROOF_N_KINDS] = {"porep", "winning", "wpost", "snap"};

static void format_size(char out[16], uint64_t bytes)
{
    static const struct {
        uint32_t shift;
        char letter;
    } units[] = {{30, 'g'}, {20, 'm'}, {10, 'k'}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (bytes >> units[i].shift) {
            snprintf(out, 16, "%llu%c", (unsigned long long)(bytes >> units[i].shift),
                     units[i].letter);
            return;
        }
    out[0] = 0;
}

void circuit_id_format(char out[CIRCUIT_ID_MAX], const circuit_id *id)
{
    char size[16], layers[16] = "";
    format_size(size, id->sector_bytes);
    const fil_sector *s = fil_sector_by_bytes(id->sector_bytes);
    if (id->kind == PROOF_POREP && s && id->layers != s->layers)
        snprintf(layers, sizeof layers, "-%ul", id->layers);
    snprintf(out, CIRCUIT_ID_MAX, "%s-%s%s", prefixes[id->kind], size, layers);
}

/* The i-th circuit that has a name; false behind the last. Layers other than the sector's are the
 * ones a C1 may come with. */
static bool id_at(circuit_id *out, proof_kind kind, size_t i)
{
    *out = (circuit_id){.kind = kind};
    if (kind == PROOF_SNAP) {
        if (i >= FIL_N_UPDATE_CONFIGS)
            return false;
        out->sector_bytes = FIL_UPDATE_CONFIGS[i].sector_bytes;
        return true;
    }
    size_t n_variants = kind == PROOF_POREP ? 3 : 1;
    if (i >= FIL_N_SECTORS * n_variants)
        return false;
    const fil_sector *s = &FIL_SECTORS[i % FIL_N_SECTORS];
    static const uint32_t other_layers[] = {0, 2, FIL_MAX_LAYERS};
    out->sector_bytes = s->sector_bytes;
    if (kind == PROOF_POREP)
        out->layers = i < FIL_N_SECTORS ? s->layers : other_layers[i / FIL_N_SECTORS];
    return true;
}

cuzk_status circuit_id_parse(circuit_id *out, const char *text)
{
    char name[CIRCUIT_ID_MAX];
    for (int kind = 0; kind < PROOF_N_KINDS; kind++)
        for (size_t i = 0; id_at(out, (proof_kind)kind, i); i++) {
            circuit_id_format(name, out);
            if (strcmp(name, text) == 0)
                return cuzk_ok();
        }
    *out = (circuit_id){0};
    return cuzk_fail(CUZK_E_INPUT,
                     "unknown circuit ID: %.60s (expected one such as porep-32g, wpost-32g, "
                     "winning-2k, snap-8m)",
                     text);
}

circuit_id proof_task_circuit_id(const proof_task *t)
{
    return (circuit_id){.kind = t->kind,
                        .sector_bytes = proof_task_sector_bytes(t),
                        .layers = t->kind == PROOF_POREP ? t->in.porep.layers : 0};
}

void circuit_id_param_stem(char *out, const circuit_id *id)
{
    fil_post_proof p;
    switch (id->kind) {
    case PROOF_POREP:
        fil_porep_param_stem(out, fil_sector_by_bytes(id->sector_bytes));
        break;
    case PROOF_SNAP:
        fil_update_param_stem(out, fil_update_config_by_bytes(id->sector_bytes), false);
        break;
    default:
        p = fil_post_proof_unregistered(
            id->kind == PROOF_WINNING ? FIL_POST_WINNING : FIL_POST_WINDOW, id->sector_bytes, true);
        fil_post_param_stem(out, &p);
        break;
    }
}

cuzk_status circuit_id_shape(r1cs_shape **out, const circuit_id *id)
{
    fil_post_proof p;
    switch (id->kind) {
    case PROOF_POREP:
        return porep_sector_shape(out, fil_sector_by_bytes(id->sector_bytes), id->layers, 0);
    case PROOF_SNAP:
        return update_circuit_shape(out, fil_update_config_by_bytes(id->sector_bytes), false);
    default:
        p = fil_post_proof_unregistered(
            id->kind == PROOF_WINNING ? FIL_POST_WINNING : FIL_POST_WINDOW, id->sector_bytes, true);
        return post_proof_shape(out, &p);
    }
}
