/* Preloaded into a process, this counts the calls that change files below a folder, and makes one
 * of them go wrong: the process is killed before it, in the midst of it, or it fails. Nothing
 * happens until `faults_arm` is called.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* What happens at the call: see FAULTS in harness.py. */
enum { NOTHING, KILL_BEFORE, KILL_AMID, FAIL_ONCE, FULL, DEAD };
/* What a call does: on a full disk, only what needs space fails. */
enum { NEEDS_SPACE, NEEDS_NONE };

static char folder[PATH_MAX];
static long at, seen;
static int armed, fault, code, list = -1;

/* `calls` is a file descriptor to which each call is written, or -1. */
void faults_arm(const char *below, long call, int what, int error, int calls)
{
    strncpy(folder, below, sizeof folder - 1);
    at = call, fault = what, code = error, list = calls, seen = 0, armed = 1;
}

static int inside(const char *path)
{
    size_t length = strlen(folder);
    return !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static int path_of(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0 && inside(path);
}

static int path_at(int dir, const char *name, char *path)
{
    if (!name) return 0;
    if (*name == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return inside(path);
    }
    char base[PATH_MAX];
    if (dir == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return 0;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) return 0;
        base[length] = 0;
    }
    if (snprintf(path, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) return 0;
    return inside(path);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Count a call. Returns whether it is to go wrong now, and sets errno for those that fail. */
static int hit(const char *name, const char *path, int kind)
{
    seen++;
    if (list >= 0) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%s %s\n", name, path);
        syscall(SYS_write, list, line, length);
    }
    if (fault == NOTHING || seen < at) return 0;
    if (seen == at && fault == KILL_BEFORE) die();
    if (seen == at && (fault == KILL_AMID || fault == FAIL_ONCE)) return errno = code, 1;
    if ((fault == FULL && kind == NEEDS_SPACE) || fault == DEAD) return errno = code, 1;
    return 0;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

/* A call that is not a write: after KILL_AMID it was made, but nobody heard of it. */
#define CHANGE(kind, known, call) \
    do { \
        char path[PATH_MAX]; \
        if (armed && (known) && hit(__func__, path, kind)) { \
            if (fault == KILL_AMID) { (void)!(call); die(); } \
            return -1; \
        } \
        return call; \
    } while (0)

/* A write: half of it is made before the process is killed, or the disk is full. */
#define WRITE(half, whole) \
    do { \
        char path[PATH_MAX]; \
        if (armed && path_of(fd, path) && hit(__func__, path, NEEDS_SPACE)) { \
            if (fault == KILL_AMID) { (void)!(half); die(); } \
            if (fault == FULL && seen == at && size > 1) return half; \
            return -1; \
        } \
        return whole; \
    } while (0)

ssize_t write(int fd, const void *data, size_t size)
{ REAL(write); WRITE(real(fd, data, size / 2), real(fd, data, size)); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t to)
{ REAL(pwrite); WRITE(real(fd, data, size / 2, to), real(fd, data, size, to)); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t to)
{ REAL(pwrite64); WRITE(real(fd, data, size / 2, to), real(fd, data, size, to)); }
ssize_t writev(int fd, const struct iovec *parts, int size)
{ REAL(writev); WRITE(real(fd, parts, size / 2), real(fd, parts, size)); }

int ftruncate(int fd, off_t size)
{ REAL(ftruncate); CHANGE(NEEDS_NONE, path_of(fd, path), real(fd, size)); }
int ftruncate64(int fd, off64_t size)
{ REAL(ftruncate64); CHANGE(NEEDS_NONE, path_of(fd, path), real(fd, size)); }
int truncate(const char *name, off_t size)
{ REAL(truncate); CHANGE(NEEDS_NONE, path_at(AT_FDCWD, name, path), real(name, size)); }
int truncate64(const char *name, off64_t size)
{ REAL(truncate64); CHANGE(NEEDS_NONE, path_at(AT_FDCWD, name, path), real(name, size)); }
int fallocate(int fd, int mode, off_t from, off_t size)
{ REAL(fallocate); CHANGE(NEEDS_SPACE, path_of(fd, path), real(fd, mode, from, size)); }
int fallocate64(int fd, int mode, off64_t from, off64_t size)
{ REAL(fallocate64); CHANGE(NEEDS_SPACE, path_of(fd, path), real(fd, mode, from, size)); }
int fsync(int fd)
{ REAL(fsync); CHANGE(NEEDS_SPACE, path_of(fd, path), real(fd)); }
int fdatasync(int fd)
{ REAL(fdatasync); CHANGE(NEEDS_SPACE, path_of(fd, path), real(fd)); }
int rename(const char *from, const char *to)
{ REAL(rename); CHANGE(NEEDS_SPACE, path_at(AT_FDCWD, to, path), real(from, to)); }
int renameat(int from_dir, const char *from, int to_dir, const char *to)
{ REAL(renameat); CHANGE(NEEDS_SPACE, path_at(to_dir, to, path), real(from_dir, from, to_dir, to)); }
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned how)
{
    REAL(renameat2);
    if (getenv("FAULTS_NO_SWAP")) return errno = EINVAL, -1; /* as some file systems say */
    CHANGE(NEEDS_SPACE, path_at(to_dir, to, path), real(from_dir, from, to_dir, to, how));
}
int unlink(const char *name)
{ REAL(unlink); CHANGE(NEEDS_NONE, path_at(AT_FDCWD, name, path), real(name)); }
int unlinkat(int dir, const char *name, int how)
{ REAL(unlinkat); CHANGE(NEEDS_NONE, path_at(dir, name, path), real(dir, name, how)); }
int rmdir(const char *name)
{ REAL(rmdir); CHANGE(NEEDS_NONE, path_at(AT_FDCWD, name, path), real(name)); }
int mkdir(const char *name, mode_t mode)
{ REAL(mkdir); CHANGE(NEEDS_SPACE, path_at(AT_FDCWD, name, path), real(name, mode)); }
int mkdirat(int dir, const char *name, mode_t mode)
{ REAL(mkdirat); CHANGE(NEEDS_SPACE, path_at(dir, name, path), real(dir, name, mode)); }
int link(const char *from, const char *to)
{ REAL(link); CHANGE(NEEDS_SPACE, path_at(AT_FDCWD, to, path), real(from, to)); }
int symlink(const char *from, const char *to)
{ REAL(symlink); CHANGE(NEEDS_SPACE, path_at(AT_FDCWD, to, path), real(from, to)); }
int chmod(const char *name, mode_t mode)
{ REAL(chmod); CHANGE(NEEDS_NONE, path_at(AT_FDCWD, name, path), real(name, mode)); }
int fchmod(int fd, mode_t mode)
{ REAL(fchmod); CHANGE(NEEDS_NONE, path_of(fd, path), real(fd, mode)); }

/* Opening a file changes something if it makes the file or empties it. */
static int changes(const char *path, int how)
{
    struct stat there;
    return (how & O_TRUNC) || ((how & O_CREAT) && lstat(path, &there));
}

#define OPEN(dir, call) \
    mode_t mode = 0; \
    if (how & (O_CREAT | O_TMPFILE)) { \
        va_list more; \
        va_start(more, how), mode = va_arg(more, mode_t), va_end(more); \
    } \
    CHANGE(NEEDS_SPACE, path_at(dir, name, path) && changes(path, how), call)

int open(const char *name, int how, ...)
{ REAL(open); OPEN(AT_FDCWD, real(name, how, mode)); }
int open64(const char *name, int how, ...)
{ REAL(open64); OPEN(AT_FDCWD, real(name, how, mode)); }
int openat(int dir, const char *name, int how, ...)
{ REAL(openat); OPEN(dir, real(dir, name, how, mode)); }
int openat64(int dir, const char *name, int how, ...)
{ REAL(openat64); OPEN(dir, real(dir, name, how, mode)); }
