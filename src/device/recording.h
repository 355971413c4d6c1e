/* The file of record.c and replay.c, fathom-recording/1 (docs/recording.md): a header that can be
 * read, what was asked and answered in order, and an end that tells a whole file from a part of
 * one. Here it is bytes in memory, in both directions; the two users compress and store them. */
#ifndef FTH_RECORDING_H
#define FTH_RECORDING_H

#include "device/device.h"

/* ---- writing: each appends to `out` ---- */

void fth_recording_put_header(const char *device, struct fth_buffer *out);
/* What a device said of itself, as JSON. */
void fth_recording_put_description(const char *json, size_t size, struct fth_buffer *out);
/* What it answered to the request with that canonical text. */
void fth_recording_put_answer(const char *key, size_t key_size, const struct fth_samples *samples,
                              struct fth_buffer *out);
/* `checksum` is that of every byte before the end. */
void fth_recording_put_end(uint64_t entries, uint64_t checksum, struct fth_buffer *out);

/* FNV-1a, 64 bits; a single altered byte always shows. */
#define FTH_RECORDING_CHECKSUM UINT64_C(0xcbf29ce484222325)
uint64_t fth_recording_checksum(uint64_t before, const void *data, size_t size);
enum { FTH_RECORDING_CHECKSUM_BYTES = 8 }; /* the last of the file */

/* ---- reading ---- */

struct fth_recording;

/* Checks the whole and indexes it. Takes the bytes over, which is to say that `content` is empty
 * afterwards, also on failure. `name` stands for the file in messages. */
FTH_MUST_USE enum fth_status fth_recording_parse(const char *name, struct fth_buffer *content,
                                                 struct fth_recording **recording,
                                                 struct fth_error *error);
/* Reads a file, compressed or not. */
FTH_MUST_USE enum fth_status fth_recording_read(const char *path, struct fth_recording **recording,
                                                struct fth_error *error);
void fth_recording_destroy(struct fth_recording *recording);

/* The id of the device that answered. */
const char *fth_recording_device(const struct fth_recording *recording);
size_t fth_recording_description_count(const struct fth_recording *recording);
/* Adds to `gpu` what description `index` says. */
FTH_MUST_USE enum fth_status fth_recording_description(const struct fth_recording *recording,
                                                       size_t index, struct fth_gpu *gpu,
                                                       struct fth_error *error);

/* Answers stand sorted by key, those of one key in the order given. */
size_t fth_recording_answer_count(const struct fth_recording *recording);
/* Those of that key: how many, and the first of them. */
size_t fth_recording_find(const struct fth_recording *recording, const char *key, size_t key_size,
                          size_t *first);
const char *fth_recording_key(const struct fth_recording *recording, size_t index, size_t *size);
/* Fills `samples`, to be finished with fth_samples_fini. */
FTH_MUST_USE enum fth_status fth_recording_answer(const struct fth_recording *recording,
                                                  size_t index, struct fth_samples *samples,
                                                  struct fth_error *error);

/* Adds everything in `from` to `gpu`. */
FTH_MUST_USE enum fth_status fth_recording_add(struct fth_gpu *gpu, const struct fth_gpu *from,
                                               struct fth_error *error);

#endif
