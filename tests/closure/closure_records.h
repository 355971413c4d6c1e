/* Records of closure tests: one row of CSV for each figure that was measured, with its confidence
 * and whether it is right. `scripts/calibrate` reads them. */
#ifndef FTH_TESTS_CLOSURE_RECORDS_H
#define FTH_TESTS_CLOSURE_RECORDS_H

#include "base/base.h"
#include "check.h"

#include <stdio.h>

/* Appends the records of a GPU to a file. Several processes may append at the same time: a single
 * write adds all rows to the end of the file. */
static inline void append_records(const char *path, const struct fth_buffer *records)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_int_equal(setvbuf(file, NULL, _IOFBF, records->size + 1), 0);
    assert_int_equal(fwrite(records->data, 1, records->size, file), records->size);
    assert_int_equal(fclose(file), 0);
}

#endif
