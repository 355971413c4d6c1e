/* Expected outputs of reports: the files in expected/, which were checked by hand. In them,
 * @version@ stands for the version of fathom. */
#ifndef FTH_TESTS_EXPECTED_H
#define FTH_TESTS_EXPECTED_H

#include "check.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>

static inline char *read_expected(const char *name, size_t *size)
{
    char path[512];
    struct fth_buffer content = {0};
    struct fth_error error = NO_ERROR;
    snprintf(path, sizeof path, "%s/tests/unit/report/expected/%s", FTH_SOURCE_ROOT, name);
    if (fth_file_read(path, FTH_FILE_LIMIT("a file of the test", 1 << 24), &content, &error) !=
        FTH_OK)
        fail_msg("%s: %s", path, error.cause);
    if (size)
        *size = content.size;
    return content.data;
}

static inline struct fth_gpu *read_gpu(const char *name)
{
    size_t size = 0;
    char *text = read_expected(name, &size);
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text(name, text, size, NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", name, error.cause);
    free(text);
    return gpu;
}

/* Fails, and prints the first line that differs, unless the text equals the file `name`. */
static inline void check_text(const char *name, const char *text)
{
    char *expected = read_expected(name, NULL), line[2][200];
    const char *a = text, *b = expected;
    for (size_t number = 1; *a || *b; number++) {
        const char *mark = strstr(b, "@version@"), *end = strchr(b, '\n');
        if (mark && end && mark < end) {
            const size_t before = (size_t)(mark - b);
            assert_memory_equal(a, b, before);
            assert_memory_equal(a + before, fth_version(), strlen(fth_version()));
            a += before + strlen(fth_version());
            b = mark + strlen("@version@");
        }
        const size_t sizes[2] = {strcspn(a, "\n"), strcspn(b, "\n")};
        snprintf(line[0], sizeof line[0], "%.*s", (int)sizes[0], a);
        snprintf(line[1], sizeof line[1], "%.*s", (int)sizes[1], b);
        if (sizes[0] != sizes[1] || memcmp(a, b, sizes[0] + 1) != 0)
            fail_msg("%s, line %zu:\n%s\nexpected:\n%s", name, number, line[0], line[1]);
        a += sizes[0] + (a[sizes[0]] == '\n');
        b += sizes[1] + (b[sizes[1]] == '\n');
    }
    free(expected);
}

#endif
