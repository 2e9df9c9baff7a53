/* Opening and closing: the lock file, the connection, the table of calls. */
#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "engine/store_int.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The lock is flock on <path>.lock, never removed: a file that comes and goes could be locked twice
 * under one name. It ends with the process, however that ends. */
static cuzk_status report_holder(const store_sqlite *s)
{
    char pid[32] = "";
    ssize_t n = pread(s->lock_fd, pid, sizeof pid - 1, 0);
    pid[n > 0 ? strspn(pid, "0123456789") : 0] = 0;
    return cuzk_fail(CUZK_E_IO, "journal %s is in use by process %s", s->path,
                     pid[0] ? pid : "(unknown)");
}

static cuzk_status take_lock(store_sqlite *s)
{
    char name[4096], pid[32];
    int n = snprintf(name, sizeof name, "%s.lock", s->path);
    if (n < 0 || (size_t)n >= sizeof name)
        return cuzk_fail(CUZK_E_USAGE, "journal path of %zu bytes is too long", strlen(s->path));
    s->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (s->lock_fd < 0)
        return cuzk_fail(CUZK_E_IO, "%s: %s", name, strerror(errno));
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? report_holder(s)
                                    : cuzk_fail(CUZK_E_IO, "locking %s: %s", name, strerror(errno));
    /* For people only, so a full disk does not matter here. */
    n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(s->lock_fd, 0) != 0 || pwrite(s->lock_fd, pid, (size_t)n, 0) != n)
        log_warn("journal_lock_without_pid", LOG_STR("path", name),
                 LOG_STR("why", strerror(errno)));
    return cuzk_ok();
}

static uint64_t size_of(const char *path, const char *suffix)
{
    char name[4096];
    struct stat info;
    snprintf(name, sizeof name, "%s%s", path, suffix); /* fits: the lock's name did */
    return stat(name, &info) == 0 ? (uint64_t)info.st_size : 0;
}

/* What SQLite itself lets pass: a file shorter than its header is a new one to it, and what a cut last
 * page lacks reads as zeros. With a WAL or a rollback journal beside it, the file may be short: they
 * complete it.
 * Source: "Database File Format" (SQLite), 1.3: page size at 16, number of pages at 28. */
static cuzk_status check_size(const store_sqlite *s)
{
    uint8_t head[32];
    uint64_t size = size_of(s->path, "");
    if (size == 0 || size_of(s->path, "-wal") || size_of(s->path, "-journal"))
        return cuzk_ok();
    int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cuzk_fail(CUZK_E_IO, "%s: %s", s->path, strerror(errno));
    ssize_t n = pread(fd, head, sizeof head, 0);
    close(fd);
    if (n != (ssize_t)sizeof head || memcmp(head, "SQLite format 3", 16) != 0)
        return cuzk_fail(CUZK_E_INPUT, "%s is not a journal", s->path);
    uint64_t page_bytes = (uint64_t)head[16] << 8 | head[17];
    uint64_t want = load_be32(head + 28) * (page_bytes == 1 ? 65536 : page_bytes);
    if (size < want)
        return cuzk_fail(CUZK_E_INPUT, "journal %s was cut: it has %llu of %llu bytes", s->path,
                         (unsigned long long)size, (unsigned long long)want);
    return cuzk_ok();
}

static const store_ops OPS;

static void release(store_sqlite *s)
{
    for (int i = 0; i < SQL_N; i++)
        sqlite3_finalize(s->stmts[i]);
    sqlite3_close(s->db);
    if (s->lock_fd >= 0)
        close(s->lock_fd); /* after the database: the next owner finds it whole */
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->turn);
    mem_free(s->path);
    mem_free(s);
}

static cuzk_status build(store_sqlite *s)
{
    if (s->path[0]) {
        CUZK_TRY(take_lock(s));
        CUZK_TRY(check_size(s));
    }
    int rc =
        sqlite3_open_v2(s->path[0] ? s->path : ":memory:", &s->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK)
        return store_error(s, rc);
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, 1000);
    CUZK_TRY(store_schema_open(s));
    CUZK_TRY(store_prepare(s));
    CUZK_TRY(store_drop_orphans(s));
    store_query q = q_make(s, SQL_MAX_SEQ);
    if (q_row(&q))
        s->next_seq = sqlite3_column_int64(q.stmt, 0) + 1;
    return q_end(&q);
}

cuzk_status store_sqlite_open(store **out, const char *path)
{
    *out = NULL;
    if (!sqlite3_threadsafe())
        return cuzk_fail(CUZK_E_UNSUPPORTED, "this SQLite was built for one thread");
    store_sqlite *s = mem_zalloc(sizeof *s, 64);
    if (!s)
        return cuzk_fail(CUZK_E_NOMEM, "journal");
    s->base.ops = &OPS;
    s->lock_fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->turn, NULL);
    s->path = mem_strdup(path);
    cuzk_status st = s->path ? build(s) : cuzk_fail(CUZK_E_NOMEM, "journal");
    if (st.code != CUZK_OK) {
        utf8_repair(st.msg); /* SQLite quotes the damaged file */
        release(s);
        return st;
    }
    *out = &s->base;
    return st;
}

/* Copies the WAL back, so that a closed journal is one file. */
static cuzk_status store_close(store *st)
{
    store_sqlite *s = store_of(st);
    cuzk_status result = store_checkpoint(s);
    release(s);
    return result.code == CUZK_OK
               ? result
               : cuzk_wrap(result, "closing (nothing is lost, the next open continues)");
}

static const store_ops OPS = {
    .submit = store_submit,
    .move = store_move,
    .put_partition = store_put_partition,
    .get_partitions = store_get_partitions,
    .finish = store_finish,
    .get = store_get,
    .get_request = store_get_request,
    .get_proof = store_get_proof,
    .list = store_list,
    .recover = store_recover,
    .put_timeline = store_put_timeline,
    .get_timeline = store_get_timeline,
    .prune = store_prune,
    .bytes = store_bytes,
    .close = store_close,
};
