/* The table of the parameters of the model. */
#ifndef FTH_PARAMS_TABLE_H
#define FTH_PARAMS_TABLE_H

#include "model/model.h"

/* COUNT: whole number; BYTES: size such as 32K; WORD: one of the words in `unit`; TEXT: text that
 * is checked where it is used (params.c checks only index functions); REAL: number, or empty for
 * unknown. */
enum fth_parameter_kind {
    FTH_PARAMETER_COUNT,
    FTH_PARAMETER_BYTES,
    FTH_PARAMETER_WORD,
    FTH_PARAMETER_TEXT,
    FTH_PARAMETER_REAL
};

struct fth_parameter_row {
    const char *name;
    const char *unit; /* numbers: the unit, or ""; WORD: the words; TEXT: the forms of the value */
    const char *what; /* the meaning, as --parameters shows it */
    enum fth_parameter_kind kind;
    double min, max; /* allowed range of numbers */
    /* Attribute of the description: "element.attribute" or, for a parameter of a level, the
     * attribute of the element "l1" or "l2". NULL: none. */
    const char *from;
    const char *default_value[FTH_MODEL_LEVELS]; /* per level; [0] for the other parameters */
    const char *l1_what;                         /* for the L1 instead of `what`; NULL: the same */
};

/* Returns the row of a parameter. The parameters of both levels have the same rows. */
const struct fth_parameter_row *fth_parameter_row(size_t key);

#endif
