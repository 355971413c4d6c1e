/* Reads keys and numbers of launch files. */
#include "trace/launch/launch_reader.h"

#include <math.h>
#include <string.h>

enum fth_status fth_reader_context(struct fth_launch_reader *reader, enum fth_status status)
{
    if (status != FTH_OK)
        fth_error_context(reader->error, "%s: %s", reader->launch->path,
                          fth_json_path_text(&reader->path));
    return status;
}

enum fth_status fth_reader_no_memory(struct fth_launch_reader *reader)
{
    return fth_no_memory(reader->error, FTH_LAUNCH_READING, reader->launch->path);
}

enum fth_status fth_reader_keys(struct fth_launch_reader *reader, const struct fth_json *object,
                                const char *const *keys, size_t count)
{
    if (!fth_json_is(object, FTH_JSON_OBJECT))
        return fth_reader_refuse(reader, "expected an object");
    FTH_JSON_EACH_MEMBER (value, object) {
        const char *key = value->key;
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known = known || strcmp(keys[i], key) == 0;
        const char *nearest = known ? NULL : fth_suggest(key, keys, count);
        if (!known)
            return fth_reader_refuse(reader, "unknown key '%s'%s%s%s", key,
                                     nearest ? "; did you mean '" : "", nearest ? nearest : "",
                                     nearest ? "'?" : "");
    }
    return FTH_OK;
}

enum fth_status fth_reader_number(struct fth_launch_reader *reader, const struct fth_json *value,
                                  double *number)
{
    if (fth_json_is_number(value)) {
        *number = fth_json_double(value);
        return FTH_OK;
    }
    if (!fth_json_is(value, FTH_JSON_TEXT))
        return fth_reader_refuse(reader, "expected a number or an expression such as \"N/32\"");
    return fth_reader_context(
        reader, fth_launch_evaluate(reader->launch, fth_json_string(value), number, reader->error));
}

enum fth_status fth_reader_member(struct fth_launch_reader *reader, const struct fth_json *object,
                                  const char *key, double absent, double *number)
{
    const struct fth_json *value = fth_json_get(object, key);
    *number = absent;
    if (!value)
        return FTH_OK;
    size_t back = fth_json_path_key(&reader->path, key);
    enum fth_status status = fth_reader_number(reader, value, number);
    fth_json_path_back(&reader->path, back);
    return status;
}

enum fth_status fth_reader_integer(struct fth_launch_reader *reader, const struct fth_json *value,
                                   double min, double max, double *number)
{
    FTH_TRY(fth_reader_number(reader, value, number));
    if (*number != floor(*number) || !(*number >= min) || !(*number <= max))
        return fth_reader_refuse(reader, "%.9g is not an integer from %.9g to %.9g", *number, min,
                                 max);
    return FTH_OK;
}
