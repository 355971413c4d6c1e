/* The file format fathom-recording/1 (docs/recording.md), which recording_device.c writes and
 * replay_device.c reads: a text header, the descriptions and answers of a device in order, and an
 * end marker that shows that the file is complete. The functions here convert to and from bytes in
 * memory; recording_device.c compresses and stores them. */
#ifndef FTH_RECORDING_H
#define FTH_RECORDING_H

#include "device/device.h"

/* ---- writing: each function appends to `out` ---- */

/* `device` is the id of the recorded device. */
void fth_recording_put_header(const char *device, struct fth_buffer *out);
/* The same for a recording that another version of fathom has made. */
void fth_recording_put_header_of(const char *device, const char *version, struct fth_buffer *out);
/* A description that the device returned, as JSON. */
void fth_recording_put_description(const char *json, size_t size, struct fth_buffer *out);
/* The samples of one request. `key` is the canonical text of the request. */
void fth_recording_put_answer(const char *key, size_t key_size, const struct fth_samples *samples,
                              struct fth_buffer *out);
/* `checksum` covers every byte before the end marker. */
void fth_recording_put_end(uint64_t entries, uint64_t checksum, struct fth_buffer *out);

/* FNV-1a with 64 bits. It starts with FTH_RECORDING_CHECKSUM_START, and `before` is the checksum of
 * the preceding bytes. A single altered byte always changes the result. */
#define FTH_RECORDING_CHECKSUM_START UINT64_C(0xcbf29ce484222325)
uint64_t fth_recording_checksum(uint64_t before, const void *data, size_t size);
enum { FTH_RECORDING_CHECKSUM_BYTES = 8 }; /* the last bytes of the file */

/* ---- reading ---- */

struct fth_recording;

/* Checks the whole recording and indexes its answers. Takes ownership of the bytes: `content` is
 * empty afterwards, also on failure. `name` is the file name for messages. */
FTH_MUST_USE enum fth_status fth_recording_parse(const char *name, struct fth_buffer *content,
                                                 struct fth_recording **recording,
                                                 struct fth_error *error);
/* Reads a file, compressed or not. */
FTH_MUST_USE enum fth_status fth_recording_read(const char *path, struct fth_recording **recording,
                                                struct fth_error *error);
void fth_recording_destroy(struct fth_recording *recording);

/* Returns the id of the recorded device, empty if the header has none. */
const char *fth_recording_device(const struct fth_recording *recording);
/* Returns the version of fathom that recorded, empty if the header has none. */
const char *fth_recording_version(const struct fth_recording *recording);
size_t fth_recording_description_count(const struct fth_recording *recording);
/* Adds the content of description `index` to `gpu`. */
FTH_MUST_USE enum fth_status fth_recording_add_description(const struct fth_recording *recording,
                                                           size_t index, struct fth_gpu *gpu,
                                                           struct fth_error *error);

/* Answers are sorted by key; those with the same key are in the order of the file. */
size_t fth_recording_answer_count(const struct fth_recording *recording);
/* Returns the number of answers with that key. *first is the index of the first one. */
size_t fth_recording_find(const struct fth_recording *recording, const char *key, size_t key_size,
                          size_t *first);
/* Returns the key of answer `index`, which is not terminated by a NUL. */
const char *fth_recording_key(const struct fth_recording *recording, size_t index, size_t *size);
/* Fills `samples` with answer `index`. Release them with fth_samples_fini. */
FTH_MUST_USE enum fth_status fth_recording_answer(const struct fth_recording *recording,
                                                  size_t index, struct fth_samples *samples,
                                                  struct fth_error *error);

/* Opens a device that answers from a recording, of which it takes ownership, also on failure.
 * `name` is the name of the file for messages. */
FTH_MUST_USE enum fth_status fth_recording_replay(const char *name, struct fth_recording *recording,
                                                  struct fth_device **device,
                                                  struct fth_error *error);

/* Adds all sections and references of `from` to `gpu`. */
FTH_MUST_USE enum fth_status fth_recording_add(struct fth_gpu *gpu, const struct fth_gpu *from,
                                               struct fth_error *error);

#endif
