/* Records every write, change of length and sync of files named data.mdb, in the order in which they
   returned, into the file that POINTSMAN_WRITES names. Preloaded into a process that works on a journal.

   A record is a 24 byte head {char kind; char flags; 6 bytes of nothing; u64 offset; u64 length} and,
   for writes, the bytes. Kinds: W write (flag 1: through a descriptor that syncs each write), T length
   set, F room allocated, S synced, L named (the file got its name data.mdb), ! something unforeseen.
   The process itself appends records of kind A with text: what has been acknowledged. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DESCRIPTORS = 65536, TRACKED = 1, SYNCING = 2 };
static unsigned char tracked[DESCRIPTORS];
static int log_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ({ static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name); real; })

struct head { char kind, flags, nothing[6]; uint64_t offset, length; };

static void put(const void *bytes, size_t count) {
    const char *at = bytes;
    while (count > 0) {
        long done = syscall(SYS_write, log_fd, at, count);
        if (done <= 0) abort();
        at += done;
        count -= (size_t)done;
    }
}

static void record(char kind, char flags, uint64_t offset, uint64_t length, const void *bytes) {
    if (log_fd < 0) {
        const char *path = getenv("POINTSMAN_WRITES");
        if (path == NULL) return;
        log_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (log_fd < 0) abort();
    }
    struct head head = {.kind = kind, .flags = flags, .offset = offset, .length = length};
    put(&head, sizeof head);
    if (bytes != NULL) put(bytes, length);
}

static int is_ours(int fd) { return fd >= 0 && fd < DESCRIPTORS && (tracked[fd] & TRACKED); }

static void begun(int fd, const char *path, int flags) {
    if (fd < 0 || fd >= DESCRIPTORS) return;
    size_t length = strlen(path);
    tracked[fd] = 0;
    if (length < 8 || strcmp(path + length - 8, "data.mdb") != 0) return;
    if ((flags & O_ACCMODE) == O_RDONLY) return;
    tracked[fd] = TRACKED | ((flags & (O_DSYNC | O_SYNC)) ? SYNCING : 0);
    if (flags & O_TRUNC) record('!', 0, 0, 0, NULL);
}

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        int fd = REAL(name)(path, flags, mode); \
        begun(fd, path, flags); \
        return fd; \
    }
OPENS(open)
OPENS(open64)
#define OPENS_AT(name) \
    int name(int at, const char *path, int flags, ...) { \
        va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
        int fd = REAL(name)(at, path, flags, mode); \
        begun(fd, path, flags); \
        return fd; \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

int close(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS) tracked[fd] = 0;
    return REAL(close)(fd);
}

static void wrote(int fd, uint64_t offset, long done, const void *bytes) {
    if (done > 0) record('W', (tracked[fd] & SYNCING) != 0, offset, (uint64_t)done, bytes);
}

#define PWRITES(name, off) \
    ssize_t name(int fd, const void *bytes, size_t count, off offset) { \
        if (!is_ours(fd)) return REAL(name)(fd, bytes, count, offset); \
        pthread_mutex_lock(&lock); \
        ssize_t done = REAL(name)(fd, bytes, count, offset); \
        wrote(fd, (uint64_t)offset, done, bytes); \
        pthread_mutex_unlock(&lock); \
        return done; \
    }
PWRITES(pwrite, off_t)
PWRITES(pwrite64, off64_t)

ssize_t write(int fd, const void *bytes, size_t count) {
    if (!is_ours(fd)) return REAL(write)(fd, bytes, count);
    pthread_mutex_lock(&lock);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = REAL(write)(fd, bytes, count);
    wrote(fd, (uint64_t)offset, done, bytes);
    pthread_mutex_unlock(&lock);
    return done;
}

/* Each vector is a write of its own: they are different pages, and may be lost one by one. */
static void wrote_vectors(int fd, uint64_t offset, long done, const struct iovec *vectors, int count) {
    for (int each = 0; each < count && done > 0; each++) {
        long length = (long)vectors[each].iov_len < done ? (long)vectors[each].iov_len : done;
        wrote(fd, offset, length, vectors[each].iov_base);
        offset += (uint64_t)length;
        done -= length;
    }
}

ssize_t writev(int fd, const struct iovec *vectors, int count) {
    if (!is_ours(fd)) return REAL(writev)(fd, vectors, count);
    pthread_mutex_lock(&lock);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = REAL(writev)(fd, vectors, count);
    wrote_vectors(fd, (uint64_t)offset, done, vectors, count);
    pthread_mutex_unlock(&lock);
    return done;
}

#define PWRITEVS(name, off) \
    ssize_t name(int fd, const struct iovec *vectors, int count, off offset) { \
        if (!is_ours(fd)) return REAL(name)(fd, vectors, count, offset); \
        pthread_mutex_lock(&lock); \
        ssize_t done = REAL(name)(fd, vectors, count, offset); \
        wrote_vectors(fd, (uint64_t)offset, done, vectors, count); \
        pthread_mutex_unlock(&lock); \
        return done; \
    }
PWRITEVS(pwritev, off_t)
PWRITEVS(pwritev64, off64_t)

#define CHANGES(kind, name, parameters, arguments, offset, length) \
    int name parameters { \
        if (!is_ours(fd)) return REAL(name) arguments; \
        pthread_mutex_lock(&lock); \
        int result = REAL(name) arguments; \
        if (result == 0) record(kind, 0, (uint64_t)(offset), (uint64_t)(length), NULL); \
        pthread_mutex_unlock(&lock); \
        return result; \
    }
CHANGES('T', ftruncate, (int fd, off_t length), (fd, length), 0, length)
CHANGES('T', ftruncate64, (int fd, off64_t length), (fd, length), 0, length)
CHANGES('F', posix_fallocate, (int fd, off_t from, off_t count), (fd, from, count), from, count)
CHANGES('F', posix_fallocate64, (int fd, off64_t from, off64_t count), (fd, from, count), from, count)
CHANGES('F', fallocate, (int fd, int mode, off_t from, off_t count), (fd, mode, from, count), from, count)
CHANGES('F', fallocate64, (int fd, int mode, off64_t from, off64_t count), (fd, mode, from, count), from, count)
CHANGES('S', fsync, (int fd), (fd), 0, 0)
CHANGES('S', fdatasync, (int fd), (fd), 0, 0)
CHANGES('!', sync_file_range, (int fd, off64_t from, off64_t count, unsigned flags), (fd, from, count, flags), from, count)

/* LMDB syncs its map only when it writes through it, which is never allowed here. */
int msync(void *at, size_t length, int flags) {
    record('!', 0, 0, 0, NULL);
    return REAL(msync)(at, length, flags);
}

static void named(int result, const char *path) {
    size_t length = strlen(path);
    if (result == 0 && length >= 8 && strcmp(path + length - 8, "data.mdb") == 0) record('L', 0, 0, 0, NULL);
}

int link(const char *from, const char *to) {
    int result = REAL(link)(from, to);
    named(result, to);
    return result;
}

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
    int result = REAL(linkat)(from_at, from, to_at, to, flags);
    named(result, to);
    return result;
}
