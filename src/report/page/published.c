/* Compares a description with the one of the same GPU model that comes with fathom, for the verdict
 * at the top of the HTML page. The page has only the documents that it was made from, so the
 * comparison is made here, as by 'fathom compare --within 5', and stored beside the document:
 *
 *   {"name": the published description, "identical": whether nothing differs at all,
 *    "compared": number of figures that both descriptions have, "within": the tolerance,
 *    "differences": as in a fathom-comparison/1 document} */
#include "report/report.h"

#include <string.h>

/* Gaps up to this fraction are no difference. Bandwidths of two H200s differ by up to 3.8 %
 * (docs/report.md). */
static const double WITHIN = 0.05;

/* Finds the first description of the catalogue with the same device name; *published stays NULL if
 * there is none. A description that cannot be read is skipped: it is not part of the report. */
static enum fth_status find_published(const struct fth_catalogue *catalogue, const char *device,
                                      const char **name, struct fth_gpu **published,
                                      struct fth_error *error)
{
    for (size_t i = 0; i < fth_catalogue_count(catalogue); i++) {
        struct fth_error fault = FTH_NO_ERROR;
        struct fth_gpu *gpu = NULL;
        const char *entry = fth_catalogue_name(catalogue, i);
        if (fth_catalogue_read(catalogue, entry, NULL, &gpu, &fault) == FTH_NO_MEMORY)
            return fth_error_move(error, &fault);
        const char *text = gpu ? fth_gpu_text(gpu, "device", "name") : NULL;
        if (text && strcmp(text, device) == 0) {
            *name = entry;
            *published = gpu;
            return FTH_OK;
        }
        fth_gpu_destroy(gpu);
    }
    return FTH_OK;
}

/* Counts the attributes of a section that both descriptions have and that characterise the model.
 */
static size_t count_common(const struct fth_gpu *a, const struct fth_gpu *b, const char *section)
{
    size_t count = 0;
    for (size_t i = 0; i < fth_gpu_attribute_count(a, section); i++) {
        const char *name = fth_gpu_attribute_at(a, section, i)->name;
        count += !fth_is_circumstance(section, name) && fth_gpu_attribute(b, section, name);
    }
    return count;
}

/* Counts figures that were not compared although both descriptions have them, because they follow
 * from what a simulated GPU assumes. */
static void count_assumed(void *user, const struct fth_difference *d)
{
    size_t *count = user;
    *count += d->circumstance && d->a && d->b && !fth_is_circumstance(d->section, d->name);
}

static size_t count_compared(const struct fth_gpu *a, const struct fth_gpu *b)
{
    size_t count = count_common(a, b, "device"), assumed = 0;
    for (size_t i = 0; i < fth_gpu_element_count(a); i++)
        count += count_common(a, b, fth_gpu_element_name(a, i));
    fth_gpu_compare(a, b, count_assumed, &assumed);
    return count - assumed;
}

/* Compares the two descriptions. *verdict gets the differences, with what the page shows besides
 * them. It is allocated in the document, whose root does not change. */
static enum fth_status make_verdict(const struct fth_gpu *gpu, const struct fth_gpu *published,
                                    const char *name, struct fth_json_document *document,
                                    struct fth_json **verdict, struct fth_error *error)
{
    const struct fth_compare_options options = FTH_COMPARE_OPTIONS(.within = WITHIN);
    char *text = NULL;
    size_t size = 0, count = 0;
    FTH_TRY(fth_report_compare("json", &options, (const struct fth_gpu *[]){gpu, published},
                               (const char *[]){"", ""}, &text, &size, &count, error));
    struct fth_json *root = document->root;
    enum fth_status status = fth_json_parse(name, text, size, document, error);
    fth_free(text);
    if (status != FTH_OK)
        return status;
    struct fth_json *comparison = document->root;
    document->root = root;
    static const char *const unused[] = {"schema", "a", "b"};
    for (size_t i = 0; i < FTH_COUNT(unused); i++)
        fth_json_remove(comparison, unused[i]);
    fth_json_put_text(document, comparison, "name", fth_utf8_is_valid(name) ? name : "?");
    fth_json_put_integer(document, comparison, "identical",
                         fth_gpu_compare(gpu, published, NULL, NULL) == 0);
    fth_json_put_integer(document, comparison, "compared", (int64_t)count_compared(gpu, published));
    fth_json_put_real(document, comparison, "within", WITHIN);
    *verdict = comparison;
    return FTH_OK;
}

enum fth_status fth_published_compare(const struct fth_gpu *gpu, struct fth_json_document *document,
                                      struct fth_json **verdict, struct fth_error *error)
{
    const char *device = fth_gpu_text(gpu, "device", "name"), *name = NULL;
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *published = NULL;
    *verdict = NULL;
    if (!device)
        return FTH_OK;
    FTH_TRY(fth_catalogue_open(&catalogue, error));
    enum fth_status status = find_published(catalogue, device, &name, &published, error);
    if (status == FTH_OK && published)
        status = make_verdict(gpu, published, name, document, verdict, error);
    fth_gpu_destroy(published);
    fth_catalogue_close(catalogue);
    return status;
}
