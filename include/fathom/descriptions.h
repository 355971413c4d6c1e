/* GPU descriptions, and the catalogue of descriptions that come with fathom. */
#ifndef FATHOM_DESCRIPTIONS_H
#define FATHOM_DESCRIPTIONS_H

#include <fathom/status.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A description of a GPU, a fathom-gpu/1 document (docs/gpu-description.md). It consists of
 * sections: "device", "noise" and one per element of the memory system ("l1", "l2", "tlb_l1", …).
 * Each section has attributes. It can also list attributes that are unknown, each with the reason
 * ("unknown" in the document). */
struct fth_gpu;

/* The type of an attribute's value, and the members of struct fth_attribute that hold it. */
enum fth_kind {
    FTH_NUMBER,  /* `number` */
    FTH_TEXT,    /* `text` */
    FTH_NUMBERS, /* a list: `numbers` and `count` */
    FTH_TEXTS,   /* a list: `texts` and `count` */
    FTH_RAW      /* JSON in `text`: an attribute that this version of fathom does not know */
};

/* Where a value comes from. */
enum fth_source {
    FTH_SOURCE_NONE,      /* not stated */
    FTH_SOURCE_MEASURED,  /* measured by fathom */
    FTH_SOURCE_DRIVER,    /* reported by the vendor's driver */
    FTH_SOURCE_DERIVED,   /* computed from other attributes */
    FTH_SOURCE_PUBLISHED, /* from a publication, named by `reference` */
    /* Measured by fathom on a simulated GPU: a figure of the description that the GPU was made
     * from, or a default of the simulator. */
    FTH_SOURCE_SIMULATED
};

/* An attribute: a value and its provenance. Members that do not apply or are unknown are NAN
 * (numbers) or NULL (pointers). The unit of a number is part of the name, such as "size_bytes". */
struct fth_attribute {
    const char *name;
    enum fth_kind kind;
    double number;
    const char *text;
    size_t count; /* length of `numbers` or `texts` */
    const double *numbers;
    const char *const *texts;

    enum fth_source source;
    const char *method;    /* how the value was obtained, in words */
    const char *reference; /* "KEY, locator; KEY, locator". The member "references" of the document
                            * explains the keys; no function of this header returns it. */
    const char *note;
    double confidence; /* how certain the value is, 0 to 1 */
    double samples;    /* number of raw samples that the value is based on */
    double low, high;  /* the interval that the number stands for; how it is computed depends on
                        * the method */
};

/* Reads a description from a file and validates it. `path` "-" is standard input; files compressed
 * with zstd are recognised. Unknown attributes and elements are kept, with a warning to `log`.
 * FTH_NOT_FOUND: there is no such file. FTH_INVALID: the file is not a valid description or larger
 * than 16 MiB. */
FTH_API FTH_MUST_USE enum fth_status fth_gpu_read_file(const char *path, const struct fth_log *log,
                                                       struct fth_gpu **gpu,
                                                       struct fth_error *error);
/* Reads a description from `size` bytes of JSON text, as fth_gpu_read_file does. `name` replaces
 * the path in messages. */
FTH_API FTH_MUST_USE enum fth_status fth_gpu_read_text(const char *name, const char *text,
                                                       size_t size, const struct fth_log *log,
                                                       struct fth_gpu **gpu,
                                                       struct fth_error *error);
/* Releases a description and all that was borrowed from it. */
FTH_API void fth_gpu_destroy(struct fth_gpu *gpu);

/* Writes a description as JSON in canonical form: reading the text and writing it again gives the
 * same bytes. */
FTH_API FTH_MUST_USE enum fth_status fth_gpu_write_text(const struct fth_gpu *gpu, char **text,
                                                        size_t *size, struct fth_error *error);

/* Checks every value and every relation between values, such as size = sets x ways x line size.
 * FTH_INVALID: the error names the first violation. Reading a description includes this check. */
FTH_API FTH_MUST_USE enum fth_status fth_gpu_validate(const struct fth_gpu *gpu,
                                                      struct fth_error *error);

/* Returns the name of the `index`-th element that a description can have, in the order in which
 * reports show them; NULL past the last. The text is static. */
FTH_API const char *fth_element_name(size_t index);

/* Returns the number of elements of a description. */
FTH_API size_t fth_gpu_element_count(const struct fth_gpu *gpu);
/* Returns the name of the `index`-th element, in the order of the document; NULL past the last. */
FTH_API const char *fth_gpu_element_name(const struct fth_gpu *gpu, size_t index);
/* Returns the number of attributes of a section. `section`, here and below, is "device", "noise" or
 * the name of an element; a section that the description lacks has no attributes. */
FTH_API size_t fth_gpu_attribute_count(const struct fth_gpu *gpu, const char *section);
/* Returns the `index`-th attribute of a section, in the order of the document; NULL past the last.
 */
FTH_API const struct fth_attribute *fth_gpu_attribute_at(const struct fth_gpu *gpu,
                                                         const char *section, size_t index);
/* Returns the attribute with this name, or NULL if the section does not have it. */
FTH_API const struct fth_attribute *fth_gpu_attribute(const struct fth_gpu *gpu,
                                                      const char *section, const char *name);
/* Returns the value of an attribute of kind FTH_NUMBER, or `absent` if there is none. */
FTH_API double fth_gpu_number(const struct fth_gpu *gpu, const char *section, const char *name,
                              double absent);
/* Returns the value of an attribute of kind FTH_TEXT, or NULL if there is none. */
FTH_API const char *fth_gpu_text(const struct fth_gpu *gpu, const char *section, const char *name);
/* Returns the reason why an attribute is unknown, or NULL if the description gives none. */
FTH_API const char *fth_gpu_unknown(const struct fth_gpu *gpu, const char *section,
                                    const char *name);
/* Returns the reason for the `index`-th unknown attribute of a section and stores the name of the
 * attribute in *name. Returns NULL past the last, and leaves *name unchanged. */
FTH_API const char *fth_gpu_unknown_at(const struct fth_gpu *gpu, const char *section, size_t index,
                                       const char **name);

/* One difference between two descriptions. Numbers are compared as intervals (fth_attribute.low and
 * high; without them, the number itself): they differ if their intervals do not overlap. */
struct fth_difference {
    const char *section;
    const char *name;              /* of the attribute */
    const struct fth_attribute *a; /* NULL: only the second description has the attribute */
    const struct fth_attribute *b; /* NULL: only the first description has the attribute */
    double apart;      /* gap between the two intervals (0 if they overlap), divided by the larger
                        * absolute value of the two numbers; NAN: not numbers, or only one
                        * description has the attribute */
    bool circumstance; /* the attribute identifies the individual card or its state (UUID, driver,
                        * power, …), or is raw data that varies from run to run, or follows from
                        * the replacement policy that a simulated GPU assumes because its
                        * description has none; it does not characterise the GPU model */
};
/* Calls `each` (NULL: nothing is called) for every difference and returns their number. The
 * differences come in the order of description `a`, followed by what only `b` has. The struct is
 * valid during the call; its pointers are valid as long as both descriptions. */
FTH_API size_t fth_gpu_compare(const struct fth_gpu *a, const struct fth_gpu *b,
                               void (*each)(void *user, const struct fth_difference *difference),
                               void *user);

/* The descriptions that come with fathom, and those that a site has added to the folders below. */
struct fth_catalogue;

/* Collects the names of descriptions from three places, in this order:
 *
 *     1. the folder PREFIX/share/fathom/gpus, where PREFIX/bin contains the running program
 *     2. the data folder of the installation, which is fixed when fathom is built
 *     3. the library itself
 *
 * A name that occurs in several places stands for the description in the first of them. Folders
 * that cannot be read are skipped; the descriptions are not read yet. Fails only with
 * FTH_NO_MEMORY. */
FTH_API FTH_MUST_USE enum fth_status fth_catalogue_open(struct fth_catalogue **catalogue,
                                                        struct fth_error *error);
/* Releases a catalogue. Descriptions that were read from it stay valid. */
FTH_API void fth_catalogue_close(struct fth_catalogue *catalogue);
/* Returns the number of descriptions. */
FTH_API size_t fth_catalogue_count(const struct fth_catalogue *catalogue);
/* Returns the name of the `index`-th description, in alphabetical order; NULL past the last. */
FTH_API const char *fth_catalogue_name(const struct fth_catalogue *catalogue, size_t index);
/* Returns the file of the `index`-th description; NULL past the last, and if the description is
 * built into the library. */
FTH_API const char *fth_catalogue_path(const struct fth_catalogue *catalogue, size_t index);
/* Finds the description of a GPU by the name that its driver reports, such as "NVIDIA
 * A100-SXM4-40GB". The word NVIDIA, a form factor after a dash and a size of memory do not count,
 * so that this one is the A100; a MIG slice has no description. Returns its name in the catalogue;
 * NULL if there is none. Reads all descriptions, and ignores those that cannot be read. */
FTH_API const char *fth_catalogue_find(const struct fth_catalogue *catalogue,
                                       const char *device_name);
/* Reads a description by its name in the catalogue (ignoring case), from a file, or from standard
 * input ("-"). FTH_NOT_FOUND: there is neither such a name nor such a file; the error names the
 * most similar name. Otherwise as fth_gpu_read_file. */
FTH_API FTH_MUST_USE enum fth_status fth_catalogue_read(const struct fth_catalogue *catalogue,
                                                        const char *name_or_path,
                                                        const struct fth_log *log,
                                                        struct fth_gpu **gpu,
                                                        struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
