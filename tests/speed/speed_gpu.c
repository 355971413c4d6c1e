/* Measures how long reading a GPU description takes, compared with parsing the same text as JSON
 * alone. The difference is the validation: kinds of values, rules, relations between
 * attributes, provenance. */
#include "base/json.h"
#include "clock.h"
#include "gpu/gpu.h"

#include <stdio.h>

/* Returns microseconds per embedded description, in the fastest round; -1 on failure. */
static double measure(int (*work)(const struct fth_embedded *))
{
    enum { ROUNDS = 20 };
    double fastest = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (size_t i = 0; i < fth_embedded_gpu_count; i++)
            if (work(&fth_embedded_gpus[i]) != 0)
                return -1;
        double document_us = 1e6 * (now() - start) / (double)fth_embedded_gpu_count;
        fastest = document_us < fastest ? document_us : fastest;
    }
    return fastest;
}

static int parse(const struct fth_embedded *file)
{
    struct fth_json_document document = {0};
    enum fth_status status = fth_json_parse(file->name, file->data, file->size, &document, NULL);
    fth_json_fini(&document);
    return status == FTH_OK ? 0 : -1;
}

static int read_gpu(const struct fth_embedded *file)
{
    struct fth_gpu *gpu = NULL;
    enum fth_status status =
        fth_gpu_read_text(file->name, file->data, file->size, NULL, &gpu, NULL);
    fth_gpu_destroy(gpu);
    return status == FTH_OK ? 0 : -1;
}

int main(void)
{
    double reference = measure(parse), ours = measure(read_gpu);
    printf("GPU description: %.0f us to read and validate, JSON alone %.0f us, ratio %.2f\n", ours,
           reference, ours / reference);
    return reference > 0 && ours > 0 ? 0 : 1;
}
