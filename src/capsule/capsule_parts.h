/* What the writer and the reader of capsules share: the parts of the file
 * (docs/programs/capsules.md describes their fields), and the checks that both make. */
#ifndef FTH_CAPSULE_PARTS_H
#define FTH_CAPSULE_PARTS_H

#include "base/container/container.h"
#include "capsule/capsule.h"

/* The types of the parts. */
enum fth_capsule_part {
    FTH_CAPSULE_PART_INFO = 0x4f464e49,   /* "INFO" */
    FTH_CAPSULE_PART_TEXT = 0x54584554,   /* "TEXT" */
    FTH_CAPSULE_PART_MODULE = 0x4c444f4d, /* "MODL" */
    FTH_CAPSULE_PART_PTX = 0x20585450,    /* "PTX " */
    FTH_CAPSULE_PART_CHUNKS = 0x4b4e4843, /* "CHNK" */
    FTH_CAPSULE_PART_IMAGE = 0x47414d49,  /* "IMAG" */
    FTH_CAPSULE_PART_LAUNCH = 0x48434e4c, /* "LNCH" */
    FTH_CAPSULE_PART_AFTER = 0x52544641,  /* "AFTR" */
    FTH_CAPSULE_PART_END = 0x20444e45     /* "END " */
};

extern const struct fth_container_format fth_capsule_format;

/* Chunks in a part: as many as a writer puts into it, and at most. A reader decompresses a whole
 * part to read a chunk, so parts are small. */
enum { FTH_CAPSULE_PART_CHUNKS_WRITTEN = 16, FTH_CAPSULE_PART_MAX_CHUNKS = 64 };

/* ---- capsule_launch.c ---- */

/* What the parts before a part define. */
struct fth_capsule_scope {
    uint32_t module_count, text_count, image_count, chunk_count;
    const uint64_t *image_bytes; /* size of each image; that of image 1 has the index 0 */
};

/* A decoder of the content of a part. */
struct fth_capsule_decoder {
    struct fth_bytes bytes;
    struct fth_arena *arena; /* what was decoded */
    uint64_t memory;         /* bytes that decoding may still allocate */
    const char *fault;       /* what is wrong with the content; NULL: nothing yet */
};

struct fth_capsule_stored_module {
    struct fth_capsule_module module;
    uint32_t text; /* number of the text with its PTX; 0: it has none */
};

/* Notes what is wrong with the content; the first fault counts. */
void fth_capsule_decoder_refuse(struct fth_capsule_decoder *decoder, const char *fault);
/* Allocates an array of `count` elements, which is decoded next. Each element has at least one byte
 * in the content. Returns NULL on failure, and if `count` is 0. */
void *fth_capsule_decoder_array(struct fth_capsule_decoder *decoder, uint64_t count, size_t size);

void fth_capsule_encode_info(const struct fth_capsule_info *info, struct fth_buffer *out);
void fth_capsule_decode_info(struct fth_capsule_decoder *decoder, struct fth_capsule_info *info);
void fth_capsule_encode_module(const struct fth_capsule_stored_module *module,
                               struct fth_buffer *out);
void fth_capsule_decode_module(struct fth_capsule_decoder *decoder,
                               struct fth_capsule_stored_module *module);
void fth_capsule_encode_launch(const struct fth_capsule_launch *launch, struct fth_buffer *out);
/* Allocates the arrays of the launch in the arena. */
void fth_capsule_decode_launch(struct fth_capsule_decoder *decoder,
                               struct fth_capsule_launch *launch);
/* Ends decoding: the content must have been used up. FTH_INVALID: decoder->fault says what is
 * wrong. FTH_NO_MEMORY: memory is exhausted. */
FTH_MUST_USE enum fth_status fth_capsule_decoded(struct fth_capsule_decoder *decoder);

/* Check a module and a launch, as writers and readers do. They return FTH_INVALID, and what is
 * wrong in *fault; or FTH_NO_MEMORY. */
FTH_MUST_USE enum fth_status fth_capsule_check_module(
    const struct fth_capsule_stored_module *module, const struct fth_capsule_scope *scope,
    const char **fault);
FTH_MUST_USE enum fth_status fth_capsule_check_launch(const struct fth_capsule_launch *launch,
                                                      const struct fth_capsule_scope *scope,
                                                      const char **fault);
/* Returns what is wrong with the image of a region of `bytes` bytes; NULL: nothing. The number 0
 * stands for no image. */
const char *fth_capsule_check_image(uint32_t image, uint64_t bytes,
                                    const struct fth_capsule_scope *scope);

/* ---- capsule_texture.c ---- */

void fth_capsule_encode_textures(const struct fth_capsule_launch *launch, struct fth_buffer *out);
void fth_capsule_decode_textures(struct fth_capsule_decoder *decoder,
                                 struct fth_capsule_launch *launch);
/* Returns what is wrong with a texture of a launch; NULL: nothing. */
const char *fth_capsule_check_texture(const struct fth_capsule_texture *texture,
                                      const struct fth_capsule_launch *launch);

/* ---- capsule_table.c ---- */

/* Finds the number of contents by their digest. Initialised with {0}. */
struct fth_digest_entry;
struct fth_digest_table {
    struct fth_digest_entry *entries;
    size_t count, capacity;
};
/* Returns 0 if the table does not have the digest. */
uint32_t fth_digest_table_find(const struct fth_digest_table *table,
                               const struct fth_digest *digest);
/* Adds a digest that the table does not have. Returns false without memory. */
bool fth_digest_table_add(struct fth_digest_table *table, const struct fth_digest *digest,
                          uint32_t number);
void fth_digest_table_fini(struct fth_digest_table *table);

/* ---- capsule_lists.c ---- */

/* The lists of chunks of all images. A list is a tree, whose nodes the lists of other images share.
 * Node 0 stands for zeros. Initialised with {0}. */
enum { FTH_LIST_NODE_BITS = 6, FTH_LIST_NODE_ENTRIES = 1 << FTH_LIST_NODE_BITS };
struct fth_chunk_lists {
    uint32_t (*nodes)[FTH_LIST_NODE_ENTRIES];
    size_t count, capacity;
};
struct fth_chunk_list {
    uint64_t bytes;  /* size of the image */
    uint32_t root;   /* its node */
    unsigned levels; /* of nodes */
};
/* Returns the number of chunks of an image of this size. */
static inline uint64_t fth_capsule_chunks_of(uint64_t bytes)
{
    return bytes / FTH_CHUNK_BYTES + (bytes % FTH_CHUNK_BYTES != 0);
}
/* Returns a list that consists of zeros. */
struct fth_chunk_list fth_chunk_list_of_zeros(uint64_t bytes);
/* Returns the chunk at an index below fth_capsule_chunks_of(list->bytes). */
uint32_t fth_chunk_list_get(const struct fth_chunk_lists *lists, const struct fth_chunk_list *list,
                            uint64_t index);
/* Decodes the rest of a part IMAGE: the chunks in which the image differs from `list`, which
 * becomes the list of the image. Other lists do not change. Chunks have numbers up to
 * `chunk_count`. */
void fth_chunk_list_decode(struct fth_chunk_lists *lists, struct fth_chunk_list *list,
                           uint32_t chunk_count, struct fth_capsule_decoder *decoder);
void fth_chunk_lists_fini(struct fth_chunk_lists *lists);

/* ---- capsule_cache.c ---- */

/* Keeps some decompressed parts CHUNKS. */
struct fth_chunk_cache;
FTH_MUST_USE enum fth_status fth_chunk_cache_create(const struct fth_container *container,
                                                    struct fth_chunk_cache **cache,
                                                    struct fth_error *error);
/* Copies `size` bytes at `offset` of the content of the part at `part`, whose content has `bytes`
 * bytes. Several threads may call this function at the same time. */
FTH_MUST_USE enum fth_status fth_chunk_cache_read(struct fth_chunk_cache *cache, uint64_t part,
                                                  size_t bytes, size_t offset, void *data,
                                                  size_t size, struct fth_error *error);
void fth_chunk_cache_destroy(struct fth_chunk_cache *cache);

/* ---- capsule_image.c ---- */

/* Writes the chunks that were not written yet. */
FTH_MUST_USE enum fth_status fth_capsule_write_chunks(struct fth_capsule_writer *writer,
                                                      struct fth_error *error);

/* ---- capsule_writer.c ---- */

/* An image that is being written. */
struct fth_image_writer {
    bool is_active;
    uint32_t previous; /* 0: the image is written as its difference from zeros */
    uint64_t bytes;    /* of the image */
    uint64_t added;    /* bytes so far */
    uint32_t *list;    /* the chunks of `previous`, or zeros */
    /* The indices and numbers of the chunks that differ from the list. */
    struct fth_chunk_change {
        uint32_t index, chunk;
    } * changes;
    size_t change_count, change_capacity;
    unsigned char *partial; /* a chunk of which not all bytes were added yet */
};

/* A launch that was written. */
struct fth_written_launch {
    uint64_t number;
    size_t region_count;
    uint64_t *region_bytes; /* sizes of the regions; NULL: it can have no images any more */
};

struct fth_capsule_writer {
    struct fth_container_writer *file;
    char *path;
    bool is_light;
    struct fth_error
        failure; /* of an earlier call that could not write; its status can be FTH_OK */
    struct fth_buffer scratch; /* content of the part being written */
    struct fth_buffer chunks;  /* chunks of the next part */
    struct fth_digest_table chunk_table, text_table;
    struct fth_capsule_scope scope;
    uint64_t *image_bytes;
    uint32_t **image_lists; /* by index: the chunks of an image; NULL: they are not needed */
    size_t image_capacity, list_capacity;
    bool *module_has_ptx;
    size_t module_capacity;
    struct fth_written_launch *launches;
    size_t launch_count, launch_capacity;
    struct fth_image_writer image;
};

/* Appends a part. After a failure, all later calls fail in the same way, because the file may end
 * with an incomplete part. */
FTH_MUST_USE enum fth_status fth_capsule_put_part(struct fth_capsule_writer *writer,
                                                  enum fth_capsule_part type,
                                                  const struct fth_buffer *content,
                                                  uint64_t *offset, struct fth_error *error);
/* Fails with FTH_INVALID: `subject` cannot be written because of `fault`. */
enum fth_status fth_capsule_refuse(const struct fth_capsule_writer *writer, const char *subject,
                                   const char *fault, struct fth_error *error);

/* ---- capsule_reader.c ---- */

/* Where the next part of a capsule belongs: the end of its last complete part other than END. */
uint64_t fth_capsule_end(const struct fth_capsule *capsule);
const struct fth_capsule_scope *fth_capsule_scope(const struct fth_capsule *capsule);

#endif
