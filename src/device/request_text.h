/* Helpers for reading the canonical text of requests (docs/recording.md), part by part. On success,
 * the functions move the scanner behind the part. They return false, and leave the scanner where it
 * is, if the text does not continue with that part. */
#ifndef FTH_REQUEST_TEXT_H
#define FTH_REQUEST_TEXT_H

#include "device/device.h"

struct fth_scanner {
    const char *at, *end;
};

/* The given text. */
bool fth_scan(struct fth_scanner *scanner, const char *text);
/* A decimal number up to `max`. */
bool fth_scan_number(struct fth_scanner *scanner, uint64_t max, uint64_t *number);
/* The same for 32-bit numbers. */
bool fth_scan_u32(struct fth_scanner *scanner, uint32_t *number);
/* The name, up to the next space, semicolon or end of the text. */
bool fth_scan_name(struct fth_scanner *scanner, const char *name);
/* An option: the word and a number. If the word is missing, returns true and leaves *number
 * unchanged. */
bool fth_scan_option(struct fth_scanner *scanner, const char *word, uint64_t *number);
bool fth_scan_option_u32(struct fth_scanner *scanner, const char *word, uint32_t *number);
/* The name of a path. */
bool fth_scan_path(struct fth_scanner *scanner, enum fth_path *path);
/* "STRIDExCOUNT [step N]". */
bool fth_scan_chain(struct fth_scanner *scanner, struct fth_chain *chain);

#endif
