/* Making a circuit resident. */
#include "gpu/gpu_key.h"
#include "base/span_names.h"
#include "gpu/gpu_msm_points.h"
#include "gpu/gpu_read.h"
#include <string.h>

cuzk_status gpu_key_take(gpu_key *k, const gpu_plan *p)
{
    static const char *const names[G16_N_SECTIONS] = {
        "key section h", "key section l", "key section a", "key section b_g1", "key section b_g2"};
    *k = (gpu_key){.at = gpu_plan_index(p)};
    cuzk_status st = cuzk_ok();
    for (int s = 0; s < G16_N_SECTIONS && st.code == CUZK_OK; s++)
        st = gpu_mem_take(&k->section[s], p->section_bytes[s], names[s]);
    if (st.code == CUZK_OK)
        st = gpu_mem_take(&k->image, p->image_bytes, "circuit");
    if (st.code == CUZK_OK)
        st = gpu_mem_take(&k->index, p->index_bytes, "query index");
    if (st.code != CUZK_OK)
        gpu_key_return(k);
    return st;
}

void gpu_key_return(gpu_key *k)
{
    for (int s = 0; s < G16_N_SECTIONS; s++)
        gpu_mem_return(&k->section[s]);
    gpu_mem_return(&k->image);
    gpu_mem_return(&k->index);
}

/* Words of 32 bits sent as they are made. */
typedef struct word_stream {
    gpu_feed *feed;
    uint8_t *d_to;
    uint32_t *pin;
    size_t n, cap; /* words in the buffer at hand */
    cuzk_status st;
} word_stream;

static void flush(word_stream *w)
{
    if (w->st.code == CUZK_OK && w->n > 0)
        w->st = gpu_feed_send(w->feed, w->d_to, w->n * 4);
    w->d_to += w->n * 4;
    w->n = 0;
    w->pin = NULL;
}

static void put(word_stream *w, uint32_t v)
{
    if (w->st.code != CUZK_OK)
        return;
    if (!w->pin) {
        void *p;
        w->st = gpu_feed_next(w->feed, &p);
        w->pin = w->st.code == CUZK_OK ? (uint32_t *)p : NULL;
        if (!w->pin)
            return;
    }
    w->pin[w->n++] = v;
    if (w->n == w->cap)
        flush(w);
}

static word_stream words_to(const gpu_key_in *in, const gpu_key *k, size_t offset)
{
    return (word_stream){.feed = in->feed,
                         .d_to = (uint8_t *)k->index.p + offset,
                         .cap = in->feed->pin[0].bytes / 4,
                         .st = cuzk_ok()};
}

/* Entries of a density map before each word of it. */
static cuzk_status send_ranks(const gpu_key *k, const gpu_key_in *in, g16_query_id q)
{
    word_stream w = words_to(in, k, k->at.rank[q]);
    const uint64_t *density = in->query[q].density;
    uint32_t rank = 0;
    for (size_t i = 0; i < words_of(in->plan->n_aux); i++) {
        put(&w, rank);
        rank += (uint32_t)__builtin_popcountll(density[i]);
    }
    flush(&w);
    return w.st;
}

/* Where the dense entries of a query lie in its section. */
static cuzk_status send_positions(const gpu_key *k, const gpu_key_in *in, g16_query_id q)
{
    word_stream w = words_to(in, k, k->at.position[q]);
    const g16_query *x = &in->query[q];
    for (size_t i = 0; i < words_of(x->n); i++)
        for (uint64_t bits = x->dense[i]; bits; bits &= bits - 1)
            put(&w, (uint32_t)(64 * i + (unsigned)__builtin_ctzll(bits)));
    for (uint64_t i = x->n_dense; i < in->plan->n_tail[q]; i++) /* the inputs' points, at the end */
        put(&w, (uint32_t)(x->n + i - x->n_dense));
    flush(&w);
    return w.st;
}

/* Which value each dense entry takes: the inputs follow the dense ones. */
static cuzk_status send_sources(const gpu_key *k, const gpu_key_in *in, g16_query_id q)
{
    uint64_t ordinal = 0, next_dense = 0, n = in->plan->n_tail[q];
    for (uint64_t at = 0; at < n;) {
        void *pin;
        uint64_t cap = in->feed->pin[0].bytes / 4, len = n - at < cap ? n - at : cap;
        CUZK_TRY(gpu_feed_next(in->feed, &pin));
        uint32_t *src = (uint32_t *)pin;
        g16_query_sources(src, &in->query[q], len, &ordinal, &next_dense);
        for (uint64_t i = 0; i < len; i++)
            src[i] =
                src[i] & R1CS_INPUT ? (uint32_t)in->plan->n_dense + (src[i] & ~R1CS_INPUT) : src[i];
        CUZK_TRY(
            gpu_feed_send(in->feed, (uint8_t *)k->index.p + k->at.source[q] + at * 4, len * 4));
        at += len;
    }
    return cuzk_ok();
}

cuzk_status gpu_key_load_index(gpu_key *k, const gpu_key_in *in)
{
    CUZK_TRY(
        gpu_feed_copy(in->feed, k->image.p, gpu_shape_image(in->image), k->image.bytes, in->rc));
    gpu_shape_bind(in->image, k->image.p);
    for (g16_query_id q = QUERY_L; q < N_QUERIES; q++) {
        if (in->query[q].density) {
            CUZK_TRY(gpu_feed_copy(in->feed, (uint8_t *)k->index.p + k->at.density[q],
                                   in->query[q].density, words_of(in->plan->n_aux) * 8, in->rc));
            CUZK_TRY(send_ranks(k, in, q));
        }
        CUZK_TRY(send_positions(k, in, q));
        if (q != QUERY_L)
            CUZK_TRY(send_sources(k, in, q));
    }
    return gpu_lane_wait_sync(in->lane);
}

static size_t point_bytes(int section)
{
    return section == G16_B_G2 ? sizeof(g2_aff) : sizeof(g1_aff);
}

/* Where the pieces of key files go. */
typedef struct point_sink {
    gpu_key *k;
    const gpu_key_in *in;
    uint64_t *d_status; /* one of each section */
    const g16_key *from;
    const g16_evkey *ev; /* has sections h and l, or NULL */
} point_sink;

/* Into place, and decoded there behind its copy. */
static cuzk_status take_points(void *ctx, const gpu_read_piece *p)
{
    const point_sink *t = ctx;
    const gpu_key_in *in = t->in;
    void *pin;
    uint8_t *d = (uint8_t *)t->k->section[p->section].p + p->first * point_bytes(p->section);
    gpu_points piece = {
        .d_records = d, .d_bytes = d, .first_index = p->first, .n = p->n, .prepared = true};
    CUZK_TRY(gpu_feed_next(in->feed, &pin));
    gpu_feed_read(pin, p->bytes, p->n_bytes, in->rc);
    CUZK_TRY(gpu_feed_send(in->feed, d, p->n_bytes));
    return (p->section == G16_B_G2 ? gpu_points_decode_g2 : gpu_points_decode_g1)(
        &piece, GPU_POINTS_RANGE, t->d_status + p->section, gpu_lane_run(in->lane));
}

cuzk_status gpu_key_bad_point(const g16_key *from, const g16_evkey *ev, g16_section s,
                              uint64_t index, const run_ctx *rc)
{
    g1_aff p1;
    g2_aff p2;
    cuzk_status st;
    if (s == G16_B_G2)
        st = g16_key_g2(from, G16_B_G2, index, 1, false, &p2, rc);
    else if (ev && (s == G16_H || s == G16_L))
        st = g16_evkey_points(ev, s == G16_H ? G16_EV_H : G16_EV_L_AUX, index, 1, false, &p1, rc);
    else
        st = g16_key_g1(from, s, index, 1, false, &p1, rc);
    if (st.code == CUZK_OK)
        return cuzk_fail(CUZK_E_INTERNAL,
                         "key section %s[%llu]: the device refuses it, the host "
                         "does not",
                         g16_section_name(s), (unsigned long long)index);
    return st;
}

/* The status word of each section, read back in one copy. */
static cuzk_status check_status(const point_sink *t)
{
    void *pin;
    uint64_t status[G16_N_SECTIONS];
    const gpu_key_in *in = t->in;
    CUZK_TRY(gpu_feed_next(in->feed, &pin));
    CUZK_TRY(gpu_copy_out(pin, t->d_status, sizeof status, gpu_lane_stream(in->lane)));
    CUZK_TRY(gpu_lane_wait_sync(in->lane));
    memcpy(status, pin, sizeof status);
    for (int s = 0; s < G16_N_SECTIONS; s++) {
        if (status[s] != UINT64_MAX) /* number of the lowest bad point, fault */
            return gpu_key_bad_point(t->from, t->ev, (g16_section)s, status[s] >> 8, in->rc);
    }
    return cuzk_ok();
}

/* The points of the inputs, some of which are infinity, through the host: they are few. */
static cuzk_status load_input_points(const point_sink *t)
{
    const gpu_key_in *in = t->in;
    uint64_t n = in->plan->n_inputs, first = in->plan->n_aux;
    uint64_t cap = in->feed->pin[0].bytes / sizeof(g1_aff);
    uint8_t *d = (uint8_t *)t->k->section[G16_L].p;
    for (uint64_t at = 0; at < n;) {
        void *pin;
        uint64_t len = n - at < cap ? n - at : cap;
        CUZK_TRY(gpu_feed_next(in->feed, &pin));
        CUZK_TRY(g16_evkey_points(t->ev, G16_EV_L_INPUTS, at, len, false, (g1_aff *)pin, in->rc));
        CUZK_TRY(gpu_feed_send(in->feed, d + (first + at) * sizeof(g1_aff), len * sizeof(g1_aff)));
        at += len;
    }
    return gpu_msm_prepare_bases_g1(d + first * sizeof(g1_aff), first, n, gpu_lane_run(in->lane));
}

static cuzk_status read_files(point_sink *t)
{
    char path[4096];
    gpu_read_file key = gpu_read_file_of_key(t->from, t->ev != NULL), ev = {0};
    const gpu_key_in *in = t->in;
    gpu_read_in read = {.file = &key,
                        .piece_bytes = in->feed->pin[0].bytes,
                        .group = gpu_read_group_here(),
                        .all = gpu_read_file_points_bytes(&key),
                        .rc = in->rc};
    if (!t->ev)
        return gpu_read_points(&read, take_points, t);
    g16_evkey_path(path, sizeof path, g16_key_path(t->from));
    ev = gpu_read_file_of_evkey(t->ev, path);
    read.all += gpu_read_file_points_bytes(&ev);
    CUZK_TRY(gpu_read_points(&read, take_points, t));
    read.before = gpu_read_file_points_bytes(&key);
    read.file = &ev;
    CUZK_TRY(gpu_read_points(&read, take_points, t));
    CUZK_TRY(load_input_points(t));
    return gpu_points_bit_reverse(t->k->section[G16_H].p, in->plan->lg_m, gpu_lane_run(in->lane));
}

cuzk_status gpu_key_load_points(gpu_key *k, const gpu_key_in *in, const g16_key *from,
                                const g16_evkey *ev)
{
    gpu_block status;
    CUZK_VERIFY(in->plan->is_evaluation == (ev != NULL));
    CUZK_TRY(gpu_mem_take(&status, G16_N_SECTIONS * sizeof(uint64_t), "decoding status"));
    point_sink sink = {k, in, (uint64_t *)status.p, from, ev};
    cuzk_status st = gpu_fill(status.p, 0xff, status.bytes, gpu_lane_stream(in->lane));
    if (st.code == CUZK_OK)
        st = read_files(&sink);
    if (st.code == CUZK_OK)
        st = check_status(&sink);
    if (st.code != CUZK_OK) {
        cuzk_status drained = gpu_lane_wait_sync(in->lane);
        (void)drained; /* the first failure is the one to tell */
    }
    gpu_mem_return(&status);
    return st;
}

cuzk_status gpu_key_make_points(gpu_key *k, g16_vk *vk, const gpu_key_in *in, const g16_toxic *t,
                                const gpu_msm_ws *ws)
{
    gpu_key_mem mem = {.is_evaluation = in->plan->is_evaluation, .ntt = in->ntt};
    for (int s = 0; s < G16_N_SECTIONS; s++) {
        mem.d[s] = k->section[s].p;
        mem.n[s] = (uint32_t)in->plan->n[s];
    }
    CUZK_TRY(gpu_setup(&mem, vk, in->shape, t, ws));
    cuzk_status st = cuzk_ok();
    for (int s = 0; s < G16_N_SECTIONS && st.code == CUZK_OK; s++)
        st = (s == G16_B_G2 ? gpu_msm_prepare_bases_g2
                            : gpu_msm_prepare_bases_g1)(mem.d[s], 0, mem.n[s], ws->run);
    if (st.code == CUZK_OK)
        st = gpu_lane_wait_sync(in->lane);
    if (st.code != CUZK_OK)
        g16_vk_fini(vk);
    return st;
}
