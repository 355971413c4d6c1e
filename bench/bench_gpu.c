/* What reading a GPU description costs, beside what jansson alone takes for the same text: the
 * difference is our own: kinds, rules, relations, provenance. */
#include "clock.h"
#include "gpu/gpu.h"

#include <stdio.h>

/* The best of several rounds, in microseconds a document. */
static double best(int (*work)(const struct fth_embedded *))
{
    enum { ROUNDS = 20 };
    double min = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (size_t i = 0; i < fth_embedded_gpu_count; i++)
            if (work(&fth_embedded_gpus[i]) != 0)
                return -1;
        double each = 1e6 * (now() - start) / (double)fth_embedded_gpu_count;
        min = each < min ? each : min;
    }
    return min;
}

static int parse(const struct fth_embedded *file)
{
    json_t *root = json_loadb(file->data, file->size, JSON_REJECT_DUPLICATES, NULL);
    json_decref(root);
    return root ? 0 : -1;
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
    double reference = best(parse), ours = best(read_gpu);
    printf("GPU description: %.0f us to read and check, jansson alone %.0f us, ratio %.2f\n", ours,
           reference, ours / reference);
    return reference > 0 && ours > 0 ? 0 : 1;
}
