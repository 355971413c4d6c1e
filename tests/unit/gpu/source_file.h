/* Files of the repository, for tests of descriptions. */
#ifndef TEST_SOURCE_FILE_H
#define TEST_SOURCE_FILE_H

#include "base/base.h"
#include "check.h"

#include <stdio.h>

/* Reads a file; `path` is relative to the root of the repository. The caller frees the text. */
static char *read_source_file(const char *path, size_t *size)
{
    char full_path[512];
    snprintf(full_path, sizeof full_path, "%s/%s", FTH_SOURCE_ROOT, path);
    struct fth_buffer content = {0};
    struct fth_error error = NO_ERROR;
    if (fth_file_read(full_path, FTH_FILE_LIMIT("a file of the test", 1 << 24), &content, &error) !=
        FTH_OK)
        fail_msg("%s: %s", full_path, error.cause);
    char *text = NULL;
    assert_int_equal(fth_buffer_take(&content, &text, size, NULL), FTH_OK);
    return text;
}

#endif
