/* Functions that fathom does not implement return 801 (not supported) and are named on standard
 * error, each once. With NVIDIA's driver, there is nothing to check. */
#include "driver_api.h"

#include <unistd.h>

int main(void)
{
    char text[4096], handle[64];
    if (!is_exec())
        return succeed();
    start();
    FILE *file = tmpfile();
    ASSERT(file != NULL);
    fflush(stderr);
    const int kept = dup(2);
    ASSERT(kept >= 0 && dup2(fileno(file), 2) == 2);
    const int first = cuIpcGetMemHandle(handle, 0), second = cuIpcGetMemHandle(handle, 0);
    fflush(stderr);
    ASSERT(dup2(kept, 2) == 2);
    EXPECT(801, first);
    EXPECT(801, second);
    rewind(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    fclose(file);
    close(kept);
    const char *found = strstr(text, "cuIpcGetMemHandle is not supported");
    ASSERT(found && !strstr(found + 1, "cuIpcGetMemHandle"));
    return succeed();
}
