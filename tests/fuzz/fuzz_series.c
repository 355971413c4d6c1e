/* Fuzzes the reader of the output of 'fathom dissect --series' (fth_series_read). The input is
 * the text after the heading. It must be rejected with a message, or give a document in which the
 * lists of each element have the same length and no negative numbers. */
#include "base/json.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_element(const char *name, const json_t *loads)
{
    static const char *const lists[] = {"index", "cycles", "miss"};
    const size_t count = json_array_size(json_object_get(loads, "index"));
    if (!*name || count == 0)
        abort();
    for (size_t i = 0; i < FTH_COUNT(lists); i++) {
        const json_t *list = json_object_get(loads, lists[i]), *number;
        size_t at;
        if (json_array_size(list) != count)
            abort();
        json_array_foreach (list, at, number)
            if (!json_is_integer(number) || json_integer_value(number) < 0)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_buffer content = {0};
    struct fth_error error = FTH_NO_ERROR;
    json_t *root = NULL, *loads;
    const char *name;
    fth_buffer_text(&content, "element,load,index,cycles,result\n");
    fth_buffer_append(&content, data, size);
    if (!fth_is_series(&content))
        abort();
    enum fth_status status = fth_series_read("fuzz", &content, &root, &error);
    if (status != FTH_OK && (!error.cause[0] || strchr(error.cause, '\n')))
        abort();
    if (status == FTH_OK)
        json_object_foreach (json_object_get(root, "elements"), name, loads)
            check_element(name, loads);
    json_decref(root);
    fth_buffer_fini(&content);
    return 0;
}
