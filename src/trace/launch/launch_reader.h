/* What the readers of launch files share: launch_file.c reads the document, launch_tensor_map.c the
 * tensor maps, launch_texture.c the textures and surfaces. The functions are in launch_reader.c.
 * Each returns a status and leaves a message with the file and the position in it in reader->error.
 */
#ifndef FTH_LAUNCH_READER_H
#define FTH_LAUNCH_READER_H

#include "base/json.h"
#include "trace/launch/launch.h"

struct fth_launch_reader {
    struct fth_launch *launch;
    const struct fth_json *root;
    struct fth_json_path path; /* the value being read, for messages */
    unsigned loop_depth;
    /* Iterations of all loops so far. They need a limit of their own: a loop can iterate without
     * adding launches, if it contains nothing but a loop with 0 iterations. */
    size_t iterations;
    struct fth_error *error;
};

#define FTH_LAUNCH_READING "read launch file"
/* Fails with FTH_INVALID and a message about the current value. */
#define fth_reader_refuse(reader, ...)                                                             \
    fth_json_refuse((reader)->error, FTH_LAUNCH_READING, (reader)->launch->path, &(reader)->path,  \
                    __VA_ARGS__)

/* Puts the file and the current position in it in front of the cause of an error. */
enum fth_status fth_reader_context(struct fth_launch_reader *reader, enum fth_status status);
/* Fails with FTH_NO_MEMORY. */
enum fth_status fth_reader_no_memory(struct fth_launch_reader *reader);
/* Rejects a value that is not an object, and a key that is not one of `keys`; suggests the most
 * similar key. */
FTH_MUST_USE enum fth_status fth_reader_keys(struct fth_launch_reader *reader,
                                             const struct fth_json *object, const char *const *keys,
                                             size_t count);
/* Reads a number, or a string that contains an expression. */
FTH_MUST_USE enum fth_status fth_reader_number(struct fth_launch_reader *reader,
                                               const struct fth_json *value, double *number);
/* Reads the number object[key]; `absent` is the value if there is no such key. */
FTH_MUST_USE enum fth_status fth_reader_member(struct fth_launch_reader *reader,
                                               const struct fth_json *object, const char *key,
                                               double absent, double *number);
/* Reads an integer from `min` to `max`. */
FTH_MUST_USE enum fth_status fth_reader_integer(struct fth_launch_reader *reader,
                                                const struct fth_json *value, double min,
                                                double max, double *number);

/* ---- launch_tensor_map.c ---- */

/* Reads {"tensormap": "a", "sizes": [64, 128], …} as an argument of a kernel. */
FTH_MUST_USE enum fth_status fth_reader_tensor_map(struct fth_launch_reader *reader,
                                                   const struct fth_json *object,
                                                   struct fth_launch_argument *argument);

/* ---- launch_texture.c ---- */

/* Reads {"texture": "a", "sizes": [64, 64], …} or {"surface": …} as an argument of a kernel. */
FTH_MUST_USE enum fth_status fth_reader_texture(struct fth_launch_reader *reader,
                                                const struct fth_json *object,
                                                struct fth_launch_argument *argument);

#endif
