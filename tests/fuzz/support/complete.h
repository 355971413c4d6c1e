/* Completes lines of inputs with what a fuzzer cannot guess, such as checksums, for the targets
 * that read points of explorations and recordings. */
#ifndef FUZZ_COMPLETE_H
#define FUZZ_COMPLETE_H

#include "base/base.h"

/* Appends a line to a file of points:
 *
 *   - It adds the checksum to the line, unless the line begins with '#'.
 *   - It adds the identity of the exploration to the first line of the file, in place of its first
 *     tab or at its end, unless the line begins with '#' or '!'. */
void fuzz_put_points_line(struct fth_buffer *file, const char *line, size_t size);

/* Appends the recording that a list of lines "REQUEST=SAMPLE,SAMPLE,..." describes. Requests can be
 * any text. A line without '=' has no samples. */
void fuzz_put_recording(struct fth_buffer *file, const char *lines, size_t size);

#endif
