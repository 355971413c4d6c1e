/* The parts of a replay, for the files of program/. */
#ifndef FTH_REPLAY_PARTS_H
#define FTH_REPLAY_PARTS_H

#include "capsule/capsule.h"
#include "program/program.h"

/* ---- replay_memory.c ---- */

/* Memory of the host for a region of a capsule. */
struct fth_replay_block {
    uint64_t address, bytes;
    unsigned char *host;
    size_t mapped_bytes; /* by mmap; 0: from calloc */
    /* What it contains, if that is known: an image of the capsule; 0: zeros. */
    bool is_known;
    uint32_t image;
};

/* The memory of the launch that is replayed. It keeps the memory of the last launch, because most
 * launches of a program access the same regions. */
struct fth_replay_memory {
    struct fth_session *session;
    struct fth_capsule *capsule;
    uint64_t max_bytes;              /* of the images of a launch */
    struct fth_replay_block *blocks; /* sorted by address */
    size_t count, mapped; /* the first `mapped` blocks are in the memory of the session */
    unsigned char *scratch;
};

FTH_MUST_USE enum fth_status fth_replay_memory_init(struct fth_replay_memory *memory,
                                                    struct fth_error *error);
void fth_replay_memory_fini(struct fth_replay_memory *memory);
/* Puts the regions of a launch into the memory of the session, with their contents before the
 * launch. FTH_UNAVAILABLE: they exceed the limit. */
FTH_MUST_USE enum fth_status fth_replay_memory_enter(struct fth_replay_memory *memory,
                                                     const struct fth_capsule_launch *launch,
                                                     const struct fth_session_module *module,
                                                     struct fth_error *error);
/* Removes the regions from the memory of the session. */
void fth_replay_memory_leave(struct fth_replay_memory *memory);
/* After a launch that is not compared: keeps the regions that the program did not change for the
 * next launch. */
void fth_replay_memory_keep(struct fth_replay_memory *memory,
                            const struct fth_capsule_launch *launch);
/* Returns the memory of a region of the launch that was entered. */
unsigned char *fth_replay_memory_host(const struct fth_replay_memory *memory,
                                      const struct fth_capsule_region *region,
                                      const struct fth_session_module *module);
/* Returns whether the capsule lacks contents that the launch depends on: its addresses, its control
 * flow or its barriers. */
FTH_MUST_USE enum fth_status fth_replay_lacks_data(struct fth_replay_memory *memory,
                                                   const struct fth_capsule_launch *captured,
                                                   const struct fth_session_launch *launch,
                                                   bool *lacks, struct fth_error *error);

/* Where memory differs from that of the program. */
struct fth_replay_difference {
    size_t compared;                         /* number of regions */
    uint64_t bytes;                          /* that differ */
    uint64_t first;                          /* the address of the first one, */
    const struct fth_capsule_region *region; /* and its region */
};
/* Compares the memory with the images after the launch, without the tensor maps. */
FTH_MUST_USE enum fth_status fth_replay_memory_compare(struct fth_replay_memory *memory,
                                                       const struct fth_capsule_launch *launch,
                                                       const struct fth_session_module *module,
                                                       struct fth_replay_difference *difference,
                                                       struct fth_error *error);

/* ---- replay_arguments.c ---- */

/* Adds the parameters of a launch to its result. The texts are in `arena`. If `module` is NULL, the
 * PTX is unknown, and the types come from the kernel's name if it states them. */
FTH_MUST_USE enum fth_status fth_replay_describe(struct fth_arena *arena,
                                                 const struct fth_capsule_launch *captured,
                                                 struct fth_session_module *module,
                                                 struct fth_replay_launch *result,
                                                 struct fth_error *error);

/* ---- replay_module.c ---- */

/* A module of a capsule. */
struct fth_replay_module {
    struct fth_session_module *loaded; /* suspended; NULL: it is not loaded */
    struct fth_error failure;          /* why it could not be loaded */
};
/* Loads the module of a launch, if it was not loaded yet; its variables get their addresses in the
 * program. FTH_UNSUPPORTED: it has no PTX. `modules` has one element for each module. */
FTH_MUST_USE enum fth_status fth_replay_load(struct fth_session *session,
                                             const struct fth_capsule *capsule,
                                             struct fth_replay_module *modules, uint32_t number,
                                             struct fth_error *error);
/* Writes the tensor maps of a launch to its parameters and to its memory. */
FTH_MUST_USE enum fth_status fth_replay_tensor_maps(const struct fth_replay_memory *memory,
                                                    const struct fth_capsule_launch *launch,
                                                    const struct fth_session_module *module,
                                                    unsigned char *parameters,
                                                    size_t parameter_bytes,
                                                    struct fth_error *error);

/* ---- replay_texture.c ---- */

/* Creates the textures and surfaces of a launch, whose memory was entered. */
FTH_MUST_USE enum fth_status fth_replay_textures_enter(const struct fth_replay_memory *memory,
                                                       const struct fth_capsule_launch *launch,
                                                       struct fth_error *error);
/* Frees them; also after a failure of fth_replay_textures_enter. */
void fth_replay_textures_leave(const struct fth_replay_memory *memory,
                               const struct fth_capsule_launch *launch);

#endif
