/* The debug information of PTX, for the files of debug/.
 *
 *   debug_sections.c  the bytes and labels of a section, from the directives of the text
 *   debug_entries.c   the entries (DIEs) of DWARF 2 to 4: types, kernels and their parameters
 *   debug_members.c   fth_ptx_debug_members: the members of a parameter
 *
 * The text is untrusted. Everything that is read has a limit; what exceeds it, or is not known, is
 * as if there were no debug information. */
#ifndef FTH_PTX_DEBUG_H
#define FTH_PTX_DEBUG_H

#include "ptx/ptx.h"

/* The tags of DWARF that matter here (DWARF 4, section 7.5.4). */
enum {
    TAG_ARRAY = 0x01,
    TAG_CLASS = 0x02,
    TAG_ENUMERATION = 0x04,
    TAG_PARAMETER = 0x05,
    TAG_MEMBER = 0x0d,
    TAG_POINTER = 0x0f,
    TAG_REFERENCE = 0x10,
    TAG_STRUCT = 0x13,
    TAG_TYPEDEF = 0x16,
    TAG_UNION = 0x17,
    TAG_INHERITANCE = 0x1c,
    TAG_SUBRANGE = 0x21,
    TAG_BASE = 0x24,
    TAG_CONST = 0x26,
    TAG_SUBPROGRAM = 0x2e,
    TAG_VOLATILE = 0x35,
    TAG_RESTRICT = 0x37,
    TAG_RVALUE_REFERENCE = 0x42
};

/* An entry. A value that it does not have is 0 or NULL. */
struct fth_debug_entry {
    uint32_t offset; /* in the section */
    uint32_t tag;
    uint32_t depth;       /* its children follow it, with a depth that is one larger */
    const char *name;     /* in the section */
    const char *linkage;  /* the mangled name */
    uint32_t type;        /* the offset of the entry of its type; 0: void */
    uint32_t declaration; /* the offset of the entry that this one completes */
    uint64_t bytes, location, count;
    uint32_t encoding; /* of a base type */
    bool is_bit_field;
};

struct fth_ptx_debug {
    struct fth_buffer info, abbreviations; /* the sections */
    struct fth_debug_entry *entries;       /* sorted by their offsets */
    size_t count, capacity;
};

/* The definition of a label in a section. */
struct fth_debug_label {
    const char *name; /* in the text, not terminated */
    size_t size;      /* of the name */
    size_t offset;    /* in the section */
};
struct fth_debug_labels {
    struct fth_debug_label *items;
    size_t count, capacity;
    bool failed; /* out of memory */
};

/* Appends the bytes of a section of this name, such as ".debug_info". Uses of labels are zeros.
 * Adds the labels that the section defines to `labels`, which can be NULL. */
void fth_debug_section(const char *text, const char *name, struct fth_buffer *bytes,
                       struct fth_debug_labels *labels);
/* Sorts the labels by their names, as fth_debug_labels_find expects them. */
void fth_debug_labels_sort(struct fth_debug_labels *labels);
/* Returns the label of this name, or NULL. */
const struct fth_debug_label *fth_debug_labels_find(const struct fth_debug_labels *labels,
                                                    const char *name, size_t size);
void fth_debug_labels_fini(struct fth_debug_labels *labels);
/* Reads the entries of all units. Returns false without memory; entries that cannot be read end the
 * list. */
bool fth_debug_read_entries(struct fth_ptx_debug *debug);
/* Returns the entry at an offset of the section, or NULL. */
const struct fth_debug_entry *fth_debug_entry_at(const struct fth_ptx_debug *debug,
                                                 uint32_t offset);

#endif
