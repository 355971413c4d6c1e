/* What 'fathom exec' and 'fathom capture' do around a program: a folder for the files that the
 * program writes, the messages in them, and its capsules. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the folder ---- */

bool cli_make_folder(const char *target, char *folder, size_t size)
{
    const char *parent = getenv("TMPDIR");
    char path[PATH_MAX];
    struct fth_error error = FTH_NO_ERROR;
    if (target && fth_file_check(target, &error) != FTH_OK) {
        cli_fail(&error);
        return false;
    }
    if (target)
        snprintf(path, sizeof path, "%s.XXXXXX", target);
    else
        snprintf(path, sizeof path, "%s/fathom-XXXXXX", parent && parent[0] ? parent : "/tmp");
    if (!mkdtemp(path)) {
        cli_message("cannot create a folder beside '%s': %s", path, strerror(errno));
        return false;
    }
    /* The program may change its working folder. */
    char *absolute = realpath(path, NULL);
    const bool ok = absolute && snprintf(folder, size, "%s", absolute) < (int)size;
    free(absolute);
    return ok;
}

void cli_remove_folder(const char *folder)
{
    DIR *stream = opendir(folder);
    for (const struct dirent *entry; stream && (entry = readdir(stream));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
    rmdir(folder);
}

static int is_report(const struct dirent *entry)
{
    return cli_has_extension(entry->d_name, ".report");
}

static int is_capsule(const struct dirent *entry)
{
    return cli_has_extension(entry->d_name, ".capsule");
}

/* Prints the messages of a report again, which can be far above in the output of the program.
 * Returns the number of its warnings, which are not printed again. */
static size_t show_report(const char *path)
{
    static const char warning[] = "warning ";
    size_t warnings = 0;
    static const char *const kinds[] = {"unsupported ", "error ", "note "};
    FILE *file = fopen(path, "r");
    char line[4096];
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            if (strncmp(line, kinds[i], strlen(kinds[i])) == 0)
                cli_message("%s", line + strlen(kinds[i]));
        warnings += strncmp(line, warning, sizeof warning - 1) == 0;
    }
    if (file)
        fclose(file);
    return warnings;
}

size_t cli_show_reports(const char *folder)
{
    size_t warnings = 0;
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_report, alphasort);
    for (int i = 0; i < count; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        warnings += show_report(path);
        free(entries[i]);
    }
    free(entries);
    return warnings;
}

bool cli_keep_file(const char *path, const char *target, const char *process)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s%s%s", target, process ? "." : "", process ? process : "");
    if (rename(path, name) == 0)
        return true;
    cli_message("cannot write %s: %s", name, strerror(errno));
    return false;
}

/* ---- capsules ---- */

/* Prints what a capsule contains, on standard error: the output of the program is on standard
 * output. */
static void show_capture(const struct fth_capture *capture, const char *target, const char *process)
{
    uint64_t launches = 0, complete = 0;
    char name[512];
    for (size_t i = 0; i < fth_capture_kernel_count(capture); i++) {
        const struct fth_capture_kernel *kernel = fth_capture_kernel_at(capture, i);
        launches += kernel->launches;
        complete += kernel->complete;
    }
    cli_message("%s%s%s: %llu launch%s of %zu kernel%s, %llu of them complete, %.1f MiB", target,
                process ? "." : "", process ? process : "", (unsigned long long)launches,
                launches == 1 ? "" : "es", fth_capture_kernel_count(capture),
                fth_capture_kernel_count(capture) == 1 ? "" : "s", (unsigned long long)complete,
                (double)fth_capture_bytes(capture) / 1048576);
    if (fth_capture_was_truncated(capture))
        cli_message("the program ended without completing the capsule, which has the launches up "
                    "to this point");
    for (size_t i = 0; i < fth_capture_kernel_count(capture); i++) {
        const struct fth_capture_kernel *kernel = fth_capture_kernel_at(capture, i);
        if (kernel->reason)
            cli_message(
                "%s: %llu of %llu launches cannot be repeated: %s",
                fth_demangle(kernel->name, FTH_NAME_SHORT, name, sizeof name) ? name : kernel->name,
                (unsigned long long)(kernel->launches - kernel->complete),
                (unsigned long long)kernel->launches, kernel->reason);
    }
}

static int keep_capsule(const char *path, const char *target, const char *process,
                        const char *const *ptx, size_t ptx_count)
{
    struct fth_capture *capture = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int code = CLI_DONE;
    if (fth_capture_complete(path, ptx, ptx_count, &capture, &error) != FTH_OK)
        code = cli_fail(&error);
    /* A capsule that cannot be completed, such as on a full disk, is kept as it is. */
    if (!cli_keep_file(path, target, process))
        code = CLI_FAILED;
    if (capture)
        show_capture(capture, target, process);
    fth_capture_destroy(capture);
    return code;
}

int cli_keep_capsules(const char *folder, const char *target, const char *const *ptx,
                      size_t ptx_count)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_capsule, alphasort);
    int code = CLI_DONE;
    if (count == 0) {
        cli_message("there is no capsule: the program launched no kernel with the CUDA driver");
        code = CLI_FAILED;
    }
    for (int i = 0; i < count; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        *strrchr(entries[i]->d_name, '.') = '\0';
        const int kept =
            keep_capsule(path, target, count > 1 ? entries[i]->d_name : NULL, ptx, ptx_count);
        code = code == CLI_DONE ? kept : code;
        free(entries[i]);
    }
    free(entries);
    return code;
}
