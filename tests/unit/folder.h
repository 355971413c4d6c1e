/* For tests that write files: a temporary folder, which is the current folder during the tests and
 * is removed afterwards. */
#ifndef FTH_TESTS_FOLDER_H
#define FTH_TESTS_FOLDER_H

#include "check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/fathom-test-XXXXXX";

static inline int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static inline int leave_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") == 0 ? system(command) : -1;
}

/* Returns the number of files in the folder, without hidden ones. A failed write must not leave a
 * file behind. */
static inline size_t file_count(void)
{
    DIR *stream = opendir(".");
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(stream)))
        count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}

/* Writes a file without compression. */
static inline void write_plain(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

#endif
