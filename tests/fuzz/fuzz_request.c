/* Fuzzes the reader of the canonical text of requests (fth_request_read). Any text must be refused
 * with a message, or it is exactly the text of the request that was read, which is valid. */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_request request;
    struct fth_error error = FTH_NO_ERROR;
    struct fth_buffer again = {0};
    enum fth_status status = fth_request_read((const char *)data, size, &request, &error);
    if (status != FTH_OK && (status != error.status || !error.cause[0]))
        abort();
    if (status != FTH_OK)
        return 0;
    fth_request_write(&request, &again);
    if (fth_request_check(&request, NULL) != FTH_OK ||
        fth_request_samples(&request) == UINT64_MAX || again.size != size ||
        memcmp(again.data, data, size) != 0)
        abort();
    fth_buffer_fini(&again);
    return 0;
}
