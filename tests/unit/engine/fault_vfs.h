/* An SQLite file system that fails on purpose. It passes everything to the real one, except that
 *  - after `writes_left` writes every write reports a full disk, or (is_crash) every call that changes
 *    a file fails, as if the process were gone;
 *  - it knows what each file held at its last sync, so that fault_power_cut can put files back to that,
 *    mixed with some of the later 512-byte sectors. */
#ifndef FAULT_VFS_H
#define FAULT_VFS_H
#include "store_test.h"

#define FAULT_FILES 4
#define FAULT_SECTOR 512u

typedef struct fault_image {
    char name[300]; /* "" = unused */
    uint8_t *synced;
    size_t synced_len, cap;
} fault_image;

static struct {
    sqlite3_vfs vfs, *real;
    int64_t writes_left; /* < 0: no limit */
    bool is_crash, crashed;
    bool follows_syncs; /* for fault_power_cut */
    uint64_t n_writes, n_syncs;
    fault_image images[FAULT_FILES];
} fault;

typedef struct fault_file {
    sqlite3_file base;
    fault_image *image; /* NULL: not followed */
    sqlite3_file *real; /* behind this struct */
} fault_file;

static sqlite3_file *fault_real(sqlite3_file *f) { return ((fault_file *)f)->real; }

static fault_image *fault_image_of(const char *name)
{
    for (int i = 0; i < FAULT_FILES; i++)
        if (strcmp(fault.images[i].name, name) == 0)
            return &fault.images[i];
    for (int i = 0; i < FAULT_FILES; i++) {
        if (!fault.images[i].name[0]) {
            snprintf(fault.images[i].name, sizeof fault.images[i].name, "%s", name);
            return &fault.images[i];
        }
    }
    return NULL;
}

static void fault_forget(void)
{
    for (int i = 0; i < FAULT_FILES; i++) {
        free(fault.images[i].synced);
        fault.images[i] = (fault_image){0};
    }
    fault.writes_left = -1;
    fault.is_crash = fault.crashed = fault.follows_syncs = false;
    fault.n_writes = fault.n_syncs = 0;
}

/* From now on nothing reaches the files: the process is gone. */
static void fault_stop(void)
{
    fault.is_crash = fault.crashed = true;
    fault.writes_left = 0;
}

/* SQLITE_OK, or the error that this change of a file ends with. */
static int fault_count(void)
{
    if (fault.writes_left == 0) {
        fault.crashed = fault.is_crash;
        return fault.is_crash ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    }
    fault.writes_left -= fault.writes_left > 0;
    fault.n_writes++;
    return SQLITE_OK;
}

static int fault_close(sqlite3_file *f) { return fault_real(f)->pMethods->xClose(fault_real(f)); }

static int fault_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    return fault_real(f)->pMethods->xRead(fault_real(f), p, n, at);
}

static int fault_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    int rc = fault_count();
    return rc != SQLITE_OK ? rc : fault_real(f)->pMethods->xWrite(fault_real(f), p, n, at);
}

static int fault_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    if (fault.is_crash) {
        int rc = fault_count();
        if (rc != SQLITE_OK)
            return SQLITE_IOERR_TRUNCATE;
    }
    return fault_real(f)->pMethods->xTruncate(fault_real(f), n);
}

static void fault_remember(fault_image *im)
{
    FILE *f = fopen(im->name, "rb");
    im->synced_len = 0;
    while (f) {
        if (im->synced_len == im->cap) {
            im->cap = im->cap ? 2 * im->cap : 1u << 16;
            im->synced = realloc(im->synced, im->cap);
            assert_non_null(im->synced);
        }
        size_t n = fread(im->synced + im->synced_len, 1, im->cap - im->synced_len, f);
        im->synced_len += n;
        if (n == 0)
            break;
    }
    if (f)
        fclose(f);
}

/* No real sync: the page cache is not what is tested, and thousands of them take minutes. */
static int fault_sync(sqlite3_file *f, int flags)
{
    (void)flags;
    if (fault.crashed)
        return SQLITE_IOERR_FSYNC;
    fault_image *image = ((fault_file *)f)->image;
    fault.n_syncs++;
    if (image && fault.follows_syncs)
        fault_remember(image);
    return SQLITE_OK;
}

static int fault_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return fault_real(f)->pMethods->xFileSize(fault_real(f), n);
}

static int fault_lock(sqlite3_file *f, int l)
{
    return fault_real(f)->pMethods->xLock(fault_real(f), l);
}

static int fault_unlock(sqlite3_file *f, int l)
{
    return fault_real(f)->pMethods->xUnlock(fault_real(f), l);
}

static int fault_reserved(sqlite3_file *f, int *out)
{
    return fault_real(f)->pMethods->xCheckReservedLock(fault_real(f), out);
}

static int fault_control(sqlite3_file *f, int op, void *arg)
{
    return op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_CHUNK_SIZE
               ? SQLITE_NOTFOUND
               : fault_real(f)->pMethods->xFileControl(fault_real(f), op, arg);
}

static int fault_sector(sqlite3_file *f)
{
    return fault_real(f)->pMethods->xSectorSize(fault_real(f));
}

/* None: no promise that a sector is written whole, or that a write does not harm its neighbours. */
static int fault_traits(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    static const sqlite3_io_methods methods = {1,
                                               fault_close,
                                               fault_read,
                                               fault_write,
                                               fault_truncate,
                                               fault_sync,
                                               fault_size,
                                               fault_lock,
                                               fault_unlock,
                                               fault_reserved,
                                               fault_control,
                                               fault_sector,
                                               fault_traits,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL};
    (void)vfs;
    fault_file *file = (fault_file *)f;
    *file = (fault_file){.real = (sqlite3_file *)(file + 1)};
    if (fault.crashed)
        return SQLITE_CANTOPEN;
    int rc = fault.real->xOpen(fault.real, name, file->real, flags, out);
    if (rc != SQLITE_OK)
        return rc;
    file->image = name ? fault_image_of(name) : NULL;
    file->base.pMethods = &methods;
    return SQLITE_OK;
}

static int fault_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    (void)vfs;
    (void)sync_dir;
    return fault.crashed ? SQLITE_IOERR_DELETE : fault.real->xDelete(fault.real, name, 0);
}

/* Make it the default file system. */
static void fault_install(void)
{
    fault.real = sqlite3_vfs_find(NULL);
    fault.vfs = *fault.real;
    fault.vfs.zName = "fault";
    fault.vfs.szOsFile = (int)sizeof(fault_file) + fault.real->szOsFile;
    fault.vfs.xOpen = fault_open;
    fault.vfs.xDelete = fault_delete;
    assert_int_equal(sqlite3_vfs_register(&fault.vfs, 1), SQLITE_OK);
    fault_forget();
}

/* The power went: each file is as at its last sync, except for those of the later sectors that the
 * disk wrote on its own. survive: chance in 256 that a sector did. A file that never was synced is
 * treated as empty. */
static void fault_power_cut(uint64_t *seed, unsigned survive)
{
    for (int i = 0; i < FAULT_FILES; i++) {
        fault_image *im = &fault.images[i];
        if (!im->name[0] || access(im->name, F_OK) != 0)
            continue;
        size_t len;
        uint8_t *now = slurp(im->name, &len), *after;
        size_t n = len > im->synced_len ? len : im->synced_len;
        after = calloc(1, n + 1);
        assert_true(now && after);
        if (im->synced_len)
            memcpy(after, im->synced, im->synced_len);
        size_t end = im->synced_len;
        for (size_t at = 0; at < len; at += FAULT_SECTOR) {
            size_t k = len - at < FAULT_SECTOR ? len - at : FAULT_SECTOR;
            if (next_random(seed) % 256 >= survive)
                continue;
            memcpy(after + at, now + at, k);
            end = at + k > end ? at + k : end;
        }
        spill(im->name, after, end);
        free(after);
        free(now);
    }
}
#endif
