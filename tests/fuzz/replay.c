/* Runs a fuzz target on each file of a corpus, as one test each, and prints TAP. If the target
 * finds an error, it aborts the program, and the whole test fails. */
#include "base/base.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int count, char *words[])
{
    struct dirent **entries = NULL;
    int files = count == 2 ? scandir(words[1], &entries, visible, alphasort) : -1;
    if (files <= 0) {
        fprintf(stderr, "usage: %s CORPUS      (a folder with files)\n", words[0]);
        return 2;
    }
    printf("1..%d\n", files);
    for (int i = 0; i < files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", words[1], entries[i]->d_name);
        struct fth_buffer content = {0};
        if (fth_file_read(path, SIZE_MAX / 4, &content, NULL) != FTH_OK)
            return 1;
        LLVMFuzzerTestOneInput((const uint8_t *)(content.data ? content.data : ""), content.size);
        printf("ok %d - %s\n", i + 1, entries[i]->d_name);
        fflush(stdout);
        fth_buffer_fini(&content);
        free(entries[i]);
    }
    free(entries);
    return 0;
}
