/* What the files of the container's writer share. */
#ifndef FTH_CONTAINER_PARTS_H
#define FTH_CONTAINER_PARTS_H

#include "base/container/container.h"

#include <zstd.h>

/* ---- container_writer.c ---- */

/* Writes the header and the compressed content of a part to `part`, with space for the checksum.
 * Returns false without memory. */
bool fth_part_compress(const struct fth_container_format *format, ZSTD_CCtx *zstd, uint32_t type,
                       const struct fth_buffer *content, struct fth_buffer *part);

/* ---- container_queue.c ---- */

/* Maximum number of threads of a queue. */
enum { FTH_PART_MAX_THREADS = 16 };

/* Adds the checksum to a compressed part and writes it. Called by one thread at a time, in the
 * order of the parts. */
typedef enum fth_status fth_append_part(void *context, struct fth_buffer *part,
                                        struct fth_error *error);

struct fth_part_queue;

/* Returns NULL if no thread can be started. */
struct fth_part_queue *fth_part_queue_create(const struct fth_container_format *format,
                                             size_t threads, fth_append_part *append,
                                             void *context);
/* Copies the content of a part, which is compressed and written later. Waits while the queue is
 * full. Returns the failure of an earlier part if there was one. To be called by one thread. */
FTH_MUST_USE enum fth_status fth_part_queue_put(struct fth_part_queue *queue, uint32_t type,
                                                const struct fth_buffer *content,
                                                struct fth_error *error);
/* Returns the size of the contents that were not written yet, in bytes. */
size_t fth_part_queue_bytes(struct fth_part_queue *queue);
/* Waits until all parts are written. */
FTH_MUST_USE enum fth_status fth_part_queue_wait(struct fth_part_queue *queue,
                                                 struct fth_error *error);
/* Writes what was put, ends the threads, and frees the queue; takes NULL. In a child of the process
 * that created it, where the threads do not exist, only frees it. */
void fth_part_queue_destroy(struct fth_part_queue *queue);

#endif
