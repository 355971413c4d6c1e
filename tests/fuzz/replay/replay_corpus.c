/* Runs a fuzz target on each file of a corpus, as one test each, and prints TAP. If the target has
 * a mutator of its own, it is then run on a fixed number of inputs that the mutator makes of each
 * file. If the target finds an error, it aborts the program, and the whole test fails. */
#include "base/base.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* The mutator of the target, NULL without one. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
    __attribute__((weak));
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* MUTATIONS: successive changes per file. MAX_MUTATED_BYTES: maximum size of the changed input. */
enum { MUTATIONS = 40, MAX_MUTATED_BYTES = 1 << 14 };

/* What libFuzzer provides to mutators: changes bytes. Here it changes one. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    (void)max_size;
    if (size)
        data[size / 2] ^= 1;
    return size;
}

/* Runs the target on a chain of inputs, each of which is a change of the one before. */
static void mutate(const struct fth_buffer *content)
{
    static uint8_t data[MAX_MUTATED_BYTES];
    size_t size = content->size;
    if (!LLVMFuzzerCustomMutator || size > sizeof data)
        return;
    if (size)
        memcpy(data, content->data, size);
    for (unsigned seed = 0; seed < MUTATIONS; seed++) {
        size = LLVMFuzzerCustomMutator(data, size, sizeof data, seed);
        LLVMFuzzerTestOneInput(data, size);
    }
}

/* Runs the target on the contents of a file. Returns false if it cannot read the file. */
static bool replay(const char *path)
{
    struct fth_buffer content = {0};
    if (fth_file_read(path, FTH_FILE_LIMIT("a file of the test", SIZE_MAX / 4), &content, NULL) !=
        FTH_OK)
        return false;
    LLVMFuzzerTestOneInput((const uint8_t *)(content.data ? content.data : ""), content.size);
    mutate(&content);
    fth_buffer_fini(&content);
    return true;
}

int main(int count, char *words[])
{
    glob_t found = {0};
    for (int i = 1; i < count; i++)
        if (glob(words[i], i > 1 ? GLOB_APPEND : 0, NULL, &found) != 0)
            return fprintf(stderr, "%s: no file matches %s\n", words[0], words[i]), 2;
    if (found.gl_pathc == 0)
        return fprintf(stderr, "usage: %s PATTERN...      (such as 'CORPUS/*')\n", words[0]), 2;
    printf("1..%zu\n", found.gl_pathc);
    int code = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        bool read = replay(found.gl_pathv[i]);
        printf("%s %zu - %s\n", read ? "ok" : "not ok", i + 1, strrchr(found.gl_pathv[i], '/') + 1);
        fflush(stdout);
        if (!read)
            code = 1;
    }
    globfree(&found);
    return code;
}
