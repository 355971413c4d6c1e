/* fleet/read/fleet_source.h: the files that measurements are read from, as a sequence of pieces
 * (fleet_source.c). */
#ifndef FTH_FLEET_SOURCE_H
#define FTH_FLEET_SOURCE_H

#include "fleet/fleet.h"

/* Largest description or record that is read, in bytes; as for GPU descriptions. */
#define FTH_FLEET_MAX_DOCUMENT ((size_t)16 * 1024 * 1024)

/* A file. */
struct fth_fleet_file {
    const char *path;
    const char *name; /* for messages; without the folder if a folder is read */
};

/* Documents to be read. */
struct fth_fleet_piece {
    const struct fth_fleet_file *file;
    size_t number;          /* of the piece, from 0 on */
    size_t line;            /* of its first line; 0: it is one document */
    struct fth_buffer text; /* kept for the next piece; freed by the caller */
    bool unread;            /* the text is not read yet (fth_fleet_piece_read) */
};

/* The state of reading. */
struct fth_fleet_source {
    struct fth_arena arena;
    struct fth_fleet_file *files;
    size_t file_count, next; /* next: index of the next file */
    bool is_folder;
    size_t pieces;              /* how many were returned */
    size_t current;             /* index of the open file */
    struct fth_zreader *reader; /* NULL: no file is open */
    struct fth_buffer ahead;    /* bytes that were read, but not returned */
    bool at_end, has_lines;     /* of the open file */
    size_t line;                /* of the first byte of `ahead` */
};

/* Opens a file, a folder or standard input ("-"). The caller closes it, also after a failure. */
FTH_MUST_USE enum fth_status fth_fleet_source_open(struct fth_fleet_source *source,
                                                   const char *path, struct fth_error *error);
/* Closes all files and frees the names. */
void fth_fleet_source_close(struct fth_fleet_source *source);
/* Returns the next piece; *more is false at the end. After a failure, which concerns piece->file
 * only, the next call continues with the next file. */
FTH_MUST_USE enum fth_status fth_fleet_source_next(struct fth_fleet_source *source,
                                                   struct fth_fleet_piece *piece, bool *more,
                                                   struct fth_error *error);
/* Reads the text of a piece that is unread. Several threads may do so at the same time. */
FTH_MUST_USE enum fth_status fth_fleet_piece_read(struct fth_fleet_piece *piece,
                                                  struct fth_error *error);

#endif
