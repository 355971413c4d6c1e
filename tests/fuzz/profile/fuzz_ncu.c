/* Fuzzes the reader of counters of Nsight Compute (fth_ncu_parse). The input must be rejected with
 * a message, or give kernels with names, launches and finite counters. */
#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_profile profile = {0};
    struct fth_error error = FTH_NO_ERROR;
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    const enum fth_status status = fth_ncu_parse("fuzz", text, &profile, &error);
    if (status != FTH_OK && (!error.cause[0] || strchr(error.cause, '\n')))
        abort();
    if (status == FTH_OK && !profile.count)
        abort();
    for (size_t i = 0; i < profile.count; i++) {
        if (!profile.kernels[i].launches)
            abort();
        for (size_t c = 0; c < FTH_PROFILE_COUNT; c++)
            if (isinf(profile.kernels[i].values[c]))
                abort();
    }
    fth_profile_fini(&profile);
    free(text);
    return 0;
}
