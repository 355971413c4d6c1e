/* contribution/: measured descriptions that are sent to the maintainers of the catalogue.
 *
 *   contribution.c         checks a description against its recording, packs both, checks a pack
 *   contribution_strip.c   removes what identifies a card or its host
 *   tar.c                  tar archives in memory
 */
#ifndef FTH_CONTRIBUTION_H
#define FTH_CONTRIBUTION_H

#include "device/recording.h"

/* ---- tar.c: POSIX ustar archives of regular files ---- */

/* A file of an archive. */
struct fth_tar_file {
    char name[101];
    const char *data; /* borrowed from the archive */
    size_t size;
};

/* Appends a file to an archive. Owner, mode and time are the same for all files, so that the same
 * content always gives the same bytes. `name` has at most 100 bytes. */
void fth_tar_put(const char *name, const void *data, size_t size, struct fth_buffer *archive);
/* Appends the end of the archive. */
void fth_tar_end(struct fth_buffer *archive);
/* Reads the file at *at and moves *at behind it. *found: false at the end of the archive. `path` is
 * the name of the archive for messages. FTH_INVALID: this is not an archive of regular files. */
FTH_MUST_USE enum fth_status fth_tar_next(const char *path, const struct fth_buffer *archive,
                                          size_t *at, struct fth_tar_file *file, bool *found,
                                          struct fth_error *error);

/* ---- contribution_strip.c ---- */

/* Number of attributes of the device that identify a card or its host. */
enum { FTH_PERSONAL_COUNT = 4 };
/* Returns the name of such an attribute. */
const char *fth_personal_name(size_t index);
/* Removes these attributes. found[i] is set to true if the description has the attribute. */
void fth_contribution_strip(struct fth_gpu *gpu, bool found[FTH_PERSONAL_COUNT]);
/* Writes the recording without them to `out`, uncompressed. The answers are sorted by their
 * requests; a replay gives the same results. `version`: of the program that recorded. */
FTH_MUST_USE enum fth_status fth_contribution_strip_recording(const struct fth_recording *recording,
                                                              bool found[FTH_PERSONAL_COUNT],
                                                              struct fth_buffer *out,
                                                              struct fth_error *error);

#endif
