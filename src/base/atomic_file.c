/* Writes files atomically. The data goes to a file without a name in the folder of the final path
 * (O_TMPFILE), which is flushed to disk and then gets the name. A crash or a full disk therefore
 * leaves either the old file or the complete new one, and a process that is killed leaves nothing
 * behind, because the system frees a file without a name.
 *
 * Linux cannot give a nameless file the name of an existing one. To replace a file, the new one is
 * linked as PATH.N.part first and then renamed. File systems without O_TMPFILE, such as NFS, get a
 * PATH.N.part from the beginning. The writer keeps such a file locked. A process that finds a
 * PATH.N.part without a lock knows that its writer was killed, and removes it. Killed processes
 * therefore never leave more of these files than there were writers of PATH at the same time.
 *
 * A file that is replaced keeps its mode and, if the system allows it, its owner and group. If the
 * path is a symbolic link, the link stays and its target is replaced, or created if it does not
 * exist. A path that is not a regular file (a pipe, /dev/null) is written directly. */
#define _GNU_SOURCE /* for O_TMPFILE, statx: glibc before 2.33 does not export stat and fstat */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maximum number of PATH.N.part that are tried. Chosen: more processes than write the same file at
 * the same time. */
enum { MAX_PARTS = 100 };
/* Maximum number of symbolic links that are followed: that of Linux (path_resolution(7)). */
enum { MAX_LINKS = 40 };

struct fth_atomic_file {
    int fd;
    bool direct;     /* `path` or standard output is written directly */
    char *path;      /* final path */
    char *part_path; /* PATH.N.part while it exists; NULL: the file has no name */
};

static const char write_operation[] = "write";

static enum fth_status write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, data, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return FTH_IO;
        data += done;
        size -= (size_t)done;
    }
    return FTH_OK;
}

/* ---- paths ---- */

/* Copies the folder of a path: "." for a path without a slash. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(folder, PATH_MAX, ".");
    else
        snprintf(folder, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* Returns the path of the file that a path leads to through symbolic links, whether it exists or
 * not. The caller frees it. Returns NULL and sets errno on failure. */
static char *follow_links(const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole || errno != ENOENT || !*path)
        return whole;
    char current[PATH_MAX], target[PATH_MAX], folder[PATH_MAX], next[2 * PATH_MAX];
    if (snprintf(current, sizeof current, "%s", path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    for (int i = 0; i < MAX_LINKS; i++) {
        const ssize_t size = readlink(current, target, sizeof target - 1);
        if (size < 0)
            return strdup(current); /* not a link: the file to be created */
        target[size] = '\0';
        folder_of(current, folder);
        snprintf(next, sizeof next, "%s%s%s", *target == '/' ? "" : folder,
                 *target == '/' ? "" : "/", target);
        if (snprintf(current, sizeof current, "%s", next) >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return NULL;
        }
    }
    errno = ELOOP;
    return NULL;
}

/* Fills *info and returns whether `path` exists. */
static bool look_up(const char *path, struct statx *info)
{
    return statx(AT_FDCWD, path, 0, STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID, info) == 0;
}

/* Reports that no file can be created in the folder of a path, for the reason in errno. */
static enum fth_status fail_folder(const char *argument, const char *path, struct fth_error *error)
{
    const int cause = errno;
    char folder[PATH_MAX];
    if (cause == ENOMEM)
        return fth_no_memory(error, write_operation, argument);
    folder_of(path, folder);
    return fth_fail(error, FTH_IO, write_operation, argument,
                    "cannot create a file in the folder '%s': %s", folder, strerror(cause));
}

static enum fth_status fail_system(const char *argument, struct fth_error *error)
{
    return errno == ENOMEM
               ? fth_no_memory(error, write_operation, argument)
               : fth_fail(error, FTH_IO, write_operation, argument, "%s", strerror(errno));
}

/* ---- files that are not complete yet ---- */

/* Removes a PATH.N.part whose writer was killed. Returns whether the name is free now. Only the
 * process that has locked the file may remove or rename it, so the name cannot change its meaning
 * between the comparison and the removal. */
static bool remove_abandoned(const char *part_path)
{
    struct statx opened, named;
    const int fd = open(part_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT;
    const bool removed = flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                         statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO, &opened) == 0 &&
                         statx(AT_FDCWD, part_path, 0, STATX_INO, &named) == 0 &&
                         S_ISREG(opened.stx_mode) && opened.stx_ino == named.stx_ino &&
                         unlink(part_path) == 0;
    close(fd);
    return removed;
}

/* Creates and locks a file. Returns -1 and sets errno on failure. */
static int create_part(const char *part_path)
{
    struct statx info;
    const int fd = open(part_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    /* Before the file was locked, another process may have taken it for an abandoned one. */
    (void)flock(fd, LOCK_EX);
    if (statx(fd, "", AT_EMPTY_PATH, STATX_NLINK, &info) == 0 && info.stx_nlink == 0) {
        close(fd);
        errno = EEXIST;
        return -1;
    }
    return fd;
}

/* Gives a file without a name, which is locked, a name. Returns -1 and sets errno on failure. */
static int link_file(int fd, const char *path)
{
    char link[48];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

/* Gives the file the first free name PATH.N.part. If it has no descriptor yet, creates it. Returns
 * false and sets errno on failure. */
static bool claim_part(struct fth_atomic_file *file)
{
    const size_t size = strlen(file->path) + 32;
    char *part_path = malloc(size);
    int cause = ENOMEM;
    for (unsigned i = 0; part_path && i < 2 * MAX_PARTS; i++) {
        snprintf(part_path, size, "%s.%u.part", file->path, i / 2);
        const int result = file->fd < 0 ? create_part(part_path) : link_file(file->fd, part_path);
        cause = errno;
        if (result >= 0) {
            file->fd = file->fd < 0 ? result : file->fd;
            file->part_path = part_path;
            return true;
        }
        if (cause != EEXIST)
            break;
        /* An even number is tried a second time if its file was abandoned. */
        if (i % 2 || !remove_abandoned(part_path))
            i |= 1;
    }
    free(part_path);
    errno = cause;
    return false;
}

/* Opens a file without a name in the folder of the path or, if the file system has none, a
 * PATH.N.part. Returns false and sets errno on failure. */
static bool open_unfinished(struct fth_atomic_file *file)
{
    char folder[PATH_MAX], link[48];
    folder_of(file->path, folder);
    file->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    snprintf(link, sizeof link, "/proc/self/fd/%d", file->fd);
    /* Without /proc, the file could not get its name at the end. */
    if (file->fd >= 0 && access(link, F_OK) != 0) {
        close(file->fd);
        file->fd = -1;
    }
    if (file->fd < 0)
        return claim_part(file);
    (void)flock(file->fd, LOCK_EX); /* for the time when it is PATH.N.part */
    return true;
}

/* Gives the file the mode of the file that it replaces and, if the system allows it, its owner and
 * group. Changing the owner can clear bits of the mode, so the mode is set last. */
static bool keep_attributes(int fd, const struct statx *replaced)
{
    struct statx own;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_UID | STATX_GID, &own) == 0 &&
        (own.stx_uid != replaced->stx_uid || own.stx_gid != replaced->stx_gid) &&
        fchown(fd, replaced->stx_uid, replaced->stx_gid) != 0)
        (void)fchown(fd, (uid_t)-1, replaced->stx_gid);
    return fchmod(fd, replaced->stx_mode & 0777) == 0;
}

/* ---- the file ---- */

/* Opens the file that a path stands for. */
static enum fth_status open_path(struct fth_atomic_file *file, const char *path,
                                 struct fth_error *error)
{
    struct statx existing;
    file->path = follow_links(path);
    if (!file->path)
        return fail_system(path, error);
    const bool exists = look_up(file->path, &existing);
    /* A file of unknown type must not be replaced: it could be a device. */
    if (!exists && errno != ENOENT && errno != ENOTDIR)
        return fail_system(path, error);
    file->direct = exists && !S_ISREG(existing.stx_mode);
    if (file->direct) {
        file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
        return file->fd >= 0 ? FTH_OK : fail_system(path, error);
    }
    if (!open_unfinished(file))
        return fail_folder(path, file->path, error);
    return !exists || keep_attributes(file->fd, &existing) ? FTH_OK : fail_system(path, error);
}

enum fth_status fth_atomic_open(const char *path, struct fth_atomic_file **out,
                                struct fth_error *error)
{
    *out = NULL;
    struct fth_atomic_file *file = calloc(1, sizeof *file);
    if (!file)
        return fth_no_memory(error, write_operation, path);
    file->fd = -1;
    enum fth_status status = FTH_OK;
    if (strcmp(path, "-") == 0) {
        file->direct = true;
        file->path = strdup("standard output");
        file->fd = file->path ? dup(STDOUT_FILENO) : -1;
        if (file->fd < 0)
            status = fail_system(path, error);
    } else {
        status = open_path(file, path, error);
    }
    if (status == FTH_OK)
        *out = file;
    else
        fth_atomic_abort(file);
    return status;
}

enum fth_status fth_atomic_attach(int fd, const char *name, struct fth_atomic_file **out,
                                  struct fth_error *error)
{
    *out = NULL;
    struct fth_atomic_file *file = calloc(1, sizeof *file);
    char *path = strdup(name);
    if (!file || !path) {
        free(file);
        free(path);
        return fth_no_memory(error, write_operation, name);
    }
    *file =
        (struct fth_atomic_file){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .direct = true, .path = path};
    if (file->fd < 0) {
        fth_fail(error, FTH_IO, write_operation, name, "%s", strerror(errno));
        fth_atomic_abort(file);
        return FTH_IO;
    }
    *out = file;
    return FTH_OK;
}

enum fth_status fth_atomic_write(struct fth_atomic_file *file, const void *data, size_t size,
                                 struct fth_error *error)
{
    if (write_all(file->fd, data, size) == FTH_OK)
        return FTH_OK;
    return fth_fail(error, FTH_IO, write_operation, file->path, "%s", strerror(errno));
}

/* Flushes the folder of a file, so that the new name is on disk. Failures are ignored: some file
 * systems cannot flush a folder. */
static void flush_folder(const char *path)
{
    char folder[PATH_MAX];
    folder_of(path, folder);
    int fd = open(folder, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

/* Gives the complete file its name. Returns false and sets errno on failure. */
static bool name_file(struct fth_atomic_file *file)
{
    struct statx existing;
    if (!file->part_path && link_file(file->fd, file->path) == 0)
        return true;
    if (!file->part_path && (errno != EEXIST || !claim_part(file)))
        return false;
    /* A pipe or a device that has got this name in the meantime is not replaced. */
    if (look_up(file->path, &existing) && !S_ISREG(existing.stx_mode)) {
        errno = EEXIST;
        return false;
    }
    if (rename(file->part_path, file->path) != 0)
        return false;
    free(file->part_path);
    file->part_path = NULL;
    return true;
}

enum fth_status fth_atomic_commit(struct fth_atomic_file *file, struct fth_error *error)
{
    bool done = file->direct || (fsync(file->fd) == 0 && name_file(file));
    const int cause = errno;
    /* Some file systems report a full disk only when the file is closed. The data of a file that
     * got its name is on disk already. */
    if (close(file->fd) != 0 && errno != EINTR && file->direct)
        done = false;
    else
        errno = cause;
    file->fd = -1;
    enum fth_status status = FTH_OK;
    if (!done)
        status = fth_fail(error, FTH_IO, write_operation, file->path, "%s", strerror(errno));
    else if (!file->direct)
        flush_folder(file->path);
    fth_atomic_abort(file);
    return status;
}

void fth_atomic_abort(struct fth_atomic_file *file)
{
    if (!file)
        return;
    if (file->part_path)
        unlink(file->part_path); /* before its lock is released by closing it */
    if (file->fd >= 0)
        close(file->fd);
    free(file->part_path);
    free(file->path);
    free(file);
}

enum fth_status fth_file_write(const char *path, const void *data, size_t size,
                               struct fth_error *error)
{
    struct fth_atomic_file *file = NULL;
    enum fth_status status = fth_atomic_open(path, &file, error);
    if (file)
        status = fth_atomic_write(file, data, size, error);
    if (file && status == FTH_OK)
        return fth_atomic_commit(file, error);
    fth_atomic_abort(file);
    return status;
}

enum fth_status fth_file_check(const char *path, struct fth_error *error)
{
    struct statx existing;
    char folder[PATH_MAX];
    enum fth_status status = FTH_OK;
    if (strcmp(path, "-") == 0)
        return FTH_OK;
    char *target = follow_links(path);
    if (!target)
        return fail_system(path, error);
    folder_of(target, folder);
    if (look_up(target, &existing) && !S_ISREG(existing.stx_mode)) {
        errno = EISDIR;
        if (S_ISDIR(existing.stx_mode) || faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0)
            status = fail_system(path, error);
    } else if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0) {
        status = fail_folder(path, target, error);
    }
    free(target);
    return status;
}
