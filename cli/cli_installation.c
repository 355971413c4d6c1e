/* Finds the documents and examples that are installed with the program. */
#include "cli.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Finds PREFIX/share/doc/fathom for a program PREFIX/bin/fathom, also if the installation was
 * moved. Returns false if the path of the program is not known. */
static bool find_by_program(char *folder, size_t size)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        return false;
    program[length] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(program, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return snprintf(folder, size, "%s/share/doc/fathom", program) < (int)size;
}

static bool has_documents(const char *folder)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/docs", folder) < (int)sizeof path &&
           access(path, R_OK | X_OK) == 0;
}

bool cli_find_documents(char *folder, size_t size)
{
    if (find_by_program(folder, size) && has_documents(folder))
        return true;
    return snprintf(folder, size, "%s", CLI_DOC_FOLDER) < (int)size && has_documents(folder);
}
