/* Fuzzes the reader of the output of 'fathom dissect --series' (fth_series_read). The input is
 * the text after the heading. It must be rejected with a message, or give a document in which the
 * lists of each element have the same length and no negative numbers. */
#include "base/json.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_element(const char *name, const struct fth_json *loads)
{
    static const char *const lists[] = {"index", "cycles", "miss"};
    const size_t count = fth_json_count(fth_json_get(loads, "index"));
    if (!*name || count == 0)
        abort();
    for (size_t i = 0; i < FTH_COUNT(lists); i++) {
        const struct fth_json *list = fth_json_get(loads, lists[i]);
        if (fth_json_count(list) != count)
            abort();
        FTH_JSON_EACH_ITEM (number, list)
            if (!fth_json_is(number, FTH_JSON_INTEGER) || fth_json_integer(number) < 0)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_buffer content = {0};
    struct fth_error error = FTH_NO_ERROR;
    struct fth_json_document document = {0};
    fth_buffer_text(&content, "element,load,index,cycles,result\n");
    fth_buffer_append(&content, data, size);
    if (!fth_is_series(&content))
        abort();
    enum fth_status status = fth_series_read("fuzz", &content, &document, &error);
    if (status != FTH_OK && (!error.cause[0] || strchr(error.cause, '\n')))
        abort();
    if (status == FTH_OK)
        FTH_JSON_EACH_MEMBER (loads, fth_json_get(document.root, "elements"))
            check_element(loads->key, loads);
    fth_json_fini(&document);
    fth_buffer_fini(&content);
    return 0;
}
