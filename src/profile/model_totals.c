/* Reads what the cache model predicts for each kernel, from a fathom-model/1 document
 * (docs/model.md), as the counters of a GPU would state it. */
#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char OPERATION[] = "read predictions";

/* Limit of a document. Chosen: a document with a million instructions takes about 1 GB, and such
 * documents are not made. */
enum { MAX_DOCUMENT_BYTES = 1 << 29 };

/* Indices of the lists by kind of access in the document: reads, writes, atomics. */
enum { READS, WRITES };

/* Adds a number of the document, if it is there. */
static void add(struct fth_profile_kernel *kernel, enum fth_profile_counter counter,
                const struct fth_json *value, double scale, uint64_t launches)
{
    if (fth_json_is_number(value) && fth_json_double(value) >= 0)
        fth_profile_count(kernel, counter, fth_json_double(value) * scale, launches);
}

/* Bytes per sector of the L2, from the parameters of the run; 32 if they do not say. */
static double sector_bytes(const struct fth_json *root)
{
    const struct fth_json *parameters = fth_json_get(root, "parameters");
    const char *text =
        fth_json_string(fth_json_get(fth_json_get(parameters, "l2.sector_bytes"), "value"));
    char *end;
    const double bytes = text ? fth_strtod(text, &end) : 0;
    return bytes > 0 && isfinite(bytes) ? bytes : 32;
}

static bool add_kernel(struct fth_profile *profile, const struct fth_json *row, double sector)
{
    const char *name = fth_json_string(fth_json_get(row, "kernel"));
    if (!name)
        return true;
    struct fth_profile_kernel *kernel = fth_profile_kernel(profile, name);
    if (!kernel)
        return false;
    const struct fth_json *l1 = fth_json_get(row, "l1"), *l2 = fth_json_get(row, "l2");
    const struct fth_json *l1_sectors = fth_json_get(l1, "sectors");
    const struct fth_json *l2_sectors = fth_json_get(l2, "sectors");
    const double stated = fth_json_double(fth_json_get(row, "launches"));
    const uint64_t launches = stated > 0 && stated <= FTH_JSON_MAX_NUMBER ? (uint64_t)stated : 0;
    const struct {
        enum fth_profile_counter counter;
        const struct fth_json *value;
        double scale;
    } values[] = {
        {FTH_PROFILE_L1_READ_SECTORS, fth_json_item(l1_sectors, READS), 1},
        {FTH_PROFILE_L1_READ_HITS, fth_json_item(fth_json_get(l1, "hits"), READS), 1},
        {FTH_PROFILE_L1_WRITE_SECTORS, fth_json_item(l1_sectors, WRITES), 1},
        {FTH_PROFILE_L2_READ_SECTORS, fth_json_item(l2_sectors, READS), 1},
        {FTH_PROFILE_L2_READ_HITS, fth_json_item(fth_json_get(l2, "hits"), READS), 1},
        {FTH_PROFILE_L2_WRITE_SECTORS, fth_json_item(l2_sectors, WRITES), 1},
        {FTH_PROFILE_DRAM_READ_BYTES, fth_json_get(row, "dram_read_sectors"), sector},
        {FTH_PROFILE_DRAM_WRITE_BYTES, fth_json_get(row, "dram_write_sectors"), sector},
        {FTH_PROFILE_TIME_US, fth_json_get(row, "time_us"), 1},
    };
    kernel->launches += launches;
    for (size_t i = 0; i < FTH_COUNT(values); i++)
        add(kernel, values[i].counter, values[i].value, values[i].scale, launches);
    return true;
}

static enum fth_status add_kernels(const char *path, const struct fth_json *root,
                                   struct fth_profile *profile, char **gpu, struct fth_error *error)
{
    const char *schema = fth_json_string(fth_json_get(root, "schema"));
    const char *name = fth_json_string(fth_json_get(root, "gpu"));
    if (!schema || strcmp(schema, "fathom-model/1") != 0)
        return fth_fail(error, FTH_INVALID, OPERATION, path,
                        "it is not a result of the model; write it with 'fathom model --json'");
    FTH_JSON_EACH_ITEM (row, fth_json_get(root, "kernels"))
        if (!add_kernel(profile, row, sector_bytes(root)))
            return fth_no_memory(error, OPERATION, path);
    *gpu = name ? strdup(name) : NULL;
    return name && !*gpu ? fth_no_memory(error, OPERATION, path) : FTH_OK;
}

enum fth_status fth_model_totals_read(const char *path, struct fth_profile *profile, char **gpu,
                                      struct fth_error *error)
{
    struct fth_buffer content = {0};
    struct fth_json_document document = {0};
    *gpu = NULL;
    enum fth_status status = fth_file_read(
        path, FTH_FILE_LIMIT("a result of the model", MAX_DOCUMENT_BYTES), &content, error);
    if (status == FTH_OK)
        status =
            fth_json_parse(path, content.data ? content.data : "", content.size, &document, error);
    fth_buffer_fini(&content);
    if (status == FTH_OK)
        status = add_kernels(path, document.root, profile, gpu, error);
    fth_json_fini(&document);
    return status;
}
