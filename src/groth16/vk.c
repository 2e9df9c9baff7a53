/* Proof and verifying-key bytes (circuits.md A.6, A.7; ZCash point encodings). */
#include "groth16/vk.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "groth16/groth16_int.h"

/* Nothing a verifier reads may be the identity, off the curve or in a small subgroup. */
static const ec_decode_opts strict = {
    .allow_inf = false, .check_subgroup = true, .check_curve = true};

cuzk_status g16_proof_decode(g16_proof *o, const uint8_t *b, size_t len)
{
    *o = (g16_proof){0};
    if (len != G16_PROOF_BYTES)
        return cuzk_bad_input("proof", "192 bytes", "%zu", len);
    g16_proof p;
    CUZK_TRY(cuzk_wrap(g1_decode_compressed(&p.a, b, strict), "proof element A"));
    CUZK_TRY(cuzk_wrap(g2_decode_compressed(&p.b, b + 48, strict), "proof element B"));
    CUZK_TRY(cuzk_wrap(g1_decode_compressed(&p.c, b + 144, strict), "proof element C"));
    *o = p;
    return cuzk_ok();
}

void g16_proof_encode(uint8_t b[G16_PROOF_BYTES], const g16_proof *p)
{
    g1_encode_compressed(b, &p->a);
    g2_encode_compressed(b + 48, &p->b);
    g1_encode_compressed(b + 144, &p->c);
}

static cuzk_status decode_head(g16_vk *o, const uint8_t *b)
{
    const struct {
        const char *name;
        g1_aff *g1;
        g2_aff *g2;
    } fields[] = {
        {"alpha_g1", &o->alpha_g1, NULL}, {"beta_g1", &o->beta_g1, NULL},
        {"beta_g2", NULL, &o->beta_g2},   {"gamma_g2", NULL, &o->gamma_g2},
        {"delta_g1", &o->delta_g1, NULL}, {"delta_g2", NULL, &o->delta_g2},
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        cuzk_status st = fields[i].g1 ? g1_decode_uncompressed(fields[i].g1, b, strict)
                                      : g2_decode_uncompressed(fields[i].g2, b, strict);
        CUZK_TRY(cuzk_wrap(st, "vk field %s", fields[i].name));
        b += fields[i].g1 ? G1_UNCOMPRESSED_BYTES : G2_UNCOMPRESSED_BYTES;
    }
    return cuzk_ok();
}

static cuzk_status vk_build(g16_vk *o, const uint8_t *b, size_t len, size_t *used_len)
{
    if (len < G16_VK_HEAD_BYTES)
        return cuzk_bad_input("vk", "at least 868 bytes", "%zu", len);
    uint32_t n_ic = load_be32(b + G16_VK_HEAD_BYTES - 4);
    size_t room = (len - G16_VK_HEAD_BYTES) / G1_UNCOMPRESSED_BYTES;
    if (n_ic < 1)
        return cuzk_bad_input("vk ic length", "at least 1", "0");
    if (n_ic > room)
        return cuzk_bad_input("vk ic length", "no more points than the bytes hold",
                              "%u points, room for %zu", n_ic, room);
    size_t used = G16_VK_HEAD_BYTES + (size_t)n_ic * G1_UNCOMPRESSED_BYTES;
    if (!used_len && used != len)
        return cuzk_bad_input("vk", "no bytes after the last ic point", "%zu more", len - used);
    CUZK_TRY(decode_head(o, b));
    o->ic = mem_alloc((size_t)n_ic * sizeof *o->ic, 64);
    if (!o->ic)
        return cuzk_fail(CUZK_E_NOMEM, "%u ic points", n_ic);
    o->n_ic = n_ic;
    for (uint32_t i = 0; i < n_ic; i++)
        CUZK_TRY(cuzk_wrap(
            g1_decode_uncompressed(
                &o->ic[i], b + G16_VK_HEAD_BYTES + (size_t)i * G1_UNCOMPRESSED_BYTES, strict),
            "vk ic[%u]", i));
    if (used_len)
        *used_len = used;
    return cuzk_ok();
}

cuzk_status g16_vk_decode(g16_vk *o, const uint8_t *b, size_t len, size_t *used_len)
{
    *o = (g16_vk){0};
    cuzk_status st = vk_build(o, b, len, used_len);
    if (st.code != CUZK_OK)
        g16_vk_fini(o);
    return st;
}

cuzk_status g16_vk_load(g16_vk *o, const char *path)
{
    *o = (g16_vk){0};
    g16_map map;
    CUZK_TRY(g16_map_open(&map, path));
    cuzk_status st = g16_vk_decode(o, map.p, map.len, NULL);
    g16_map_close(&map);
    return cuzk_wrap(st, "%s", path);
}

size_t g16_vk_bytes(const g16_vk *vk)
{
    return G16_VK_HEAD_BYTES + (size_t)vk->n_ic * G1_UNCOMPRESSED_BYTES;
}

void g16_vk_encode(uint8_t *b, const g16_vk *vk)
{
    g1_encode_uncompressed(b, &vk->alpha_g1);
    g1_encode_uncompressed(b + 96, &vk->beta_g1);
    g2_encode_uncompressed(b + 192, &vk->beta_g2);
    g2_encode_uncompressed(b + 384, &vk->gamma_g2);
    g1_encode_uncompressed(b + 576, &vk->delta_g1);
    g2_encode_uncompressed(b + 672, &vk->delta_g2);
    store_be32(b + 864, vk->n_ic);
    for (uint32_t i = 0; i < vk->n_ic; i++)
        g1_encode_uncompressed(b + G16_VK_HEAD_BYTES + (size_t)i * G1_UNCOMPRESSED_BYTES,
                               &vk->ic[i]);
}

cuzk_status g16_vk_write(const g16_vk *vk, const char *path)
{
    size_t len = g16_vk_bytes(vk);
    uint8_t *b = mem_alloc(len, 64);
    if (!b)
        return cuzk_fail(CUZK_E_NOMEM, "%zu bytes of vk", len);
    g16_vk_encode(b, vk);
    g16_out out;
    cuzk_status st = g16_out_create(&out, path, len);
    if (st.code == CUZK_OK) {
        g16_out_write(&out, b, len);
        st = g16_out_commit(&out);
    }
    mem_free(b);
    return st;
}

cuzk_status g16_vk_copy(g16_vk *to, const g16_vk *from)
{
    *to = *from;
    to->ic = mem_alloc((size_t)from->n_ic * sizeof *to->ic, 64);
    if (!to->ic) {
        *to = (g16_vk){0};
        return cuzk_fail(CUZK_E_NOMEM, "verifying key of %u points", from->n_ic);
    }
    memcpy(to->ic, from->ic, (size_t)from->n_ic * sizeof *to->ic);
    return cuzk_ok();
}

void g16_vk_fini(g16_vk *vk)
{
    mem_free(vk->ic);
    *vk = (g16_vk){0};
}
