/* Contributions: does a description come from a real device, and can everybody verify it? The check
 * does not trust the description: it analyses the recording again, after the removal of personal
 * data, and compares the result with the description, attribute by attribute. The assumption is
 * that the description and the analysis are of the same version of fathom. */
#include "contribution/contribution.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char operation[] = "check contribution";
static const char format[] = "fathom-contribution/1";
static const char text_file[] = "contribution.txt", description_file[] = "description.json",
                  recording_file[] = "recording.rec";

/* The size of a recording is limited to 1 GiB (docs/recording.md), that of a description to 16 MiB;
 * the rest of an archive is small. */
#define MAX_ARCHIVE_BYTES (((size_t)1 << 30) + ((size_t)17 << 20))

/* What is checked. */
struct contribution {
    const char *name;           /* for messages */
    const char *again;          /* the command that measures the device */
    struct fth_gpu *gpu;        /* without personal data */
    struct fth_buffer recorded; /* the recording without personal data, not compressed */
    char version[64];           /* of the program that recorded */
    bool removed[FTH_PERSONAL_COUNT];
};

static const char cuda_command[] = "fathom topo --full --json -o gpu.json --record gpu.zst";
static const char opencl_command[] =
    "fathom topo --device opencl:NUMBER --json -o gpu.json --record gpu.zst";

/* ---- single checks ---- */

/* Checks that a real device was measured, and finds out by which command. */
static enum fth_status check_device(struct contribution *contribution, const char *recorded_id,
                                    struct fth_error *error)
{
    const char *backend = fth_gpu_text(contribution->gpu, "device", "backend");
    contribution->again = cuda_command;
    if (!backend)
        return fth_fail(error, FTH_INVALID, operation, contribution->name,
                        "the description does not say what was measured (device.backend); measure "
                        "a GPU with '%s'",
                        cuda_command);
    if (strcmp(backend, "opencl") == 0)
        contribution->again = opencl_command;
    else if (strcmp(backend, "cuda") != 0)
        return fth_fail(error, FTH_INVALID, operation, contribution->name,
                        "the description is that of a simulated GPU; measure a real one with '%s'",
                        cuda_command);
    if (strncmp(recorded_id, backend, strlen(backend)) != 0)
        return fth_fail(error, FTH_INVALID, operation, contribution->name,
                        "the recording is of the device '%s', the description of one of the "
                        "backend '%s'; measure both in one run: %s",
                        recorded_id, backend, contribution->again);
    return FTH_OK;
}

/* Checks that an attribute comes from this device, and that a measured one says how well it is
 * known. */
static enum fth_status check_attribute(const struct contribution *contribution, const char *section,
                                       const struct fth_attribute *attribute,
                                       struct fth_error *error)
{
    if (attribute->source == FTH_SOURCE_SIMULATED || attribute->source == FTH_SOURCE_PUBLISHED)
        return fth_fail(error, FTH_INVALID, operation, contribution->name,
                        "%s.%s was not measured, its source is '%s'; contribute what '%s' writes, "
                        "without changes",
                        section, attribute->name, fth_source_name(attribute->source),
                        contribution->again);
    if (attribute->source == FTH_SOURCE_MEASURED && !(attribute->samples > 0) &&
        isnan(attribute->confidence))
        return fth_fail(error, FTH_INVALID, operation, contribution->name,
                        "%s.%s has neither samples nor a confidence; measure again with '%s'",
                        section, attribute->name, contribution->again);
    return FTH_OK;
}

static enum fth_status check_section(const struct contribution *contribution, const char *section,
                                     struct fth_error *error)
{
    for (size_t i = 0; i < fth_gpu_attribute_count(contribution->gpu, section); i++)
        FTH_TRY(check_attribute(contribution, section,
                                fth_gpu_attribute_at(contribution->gpu, section, i), error));
    return FTH_OK;
}

/* Figures that a full measurement of an NVIDIA GPU always has. Others can be unknown for good
 * reasons, which the description states. Of devices with OpenCL, whose caches differ more, only the
 * latency of the first cache is required. */
static const struct {
    const char *section, *name;
} required[] = {
    {"device", "name"},
    {"device", "sms"},
    {"device", "clock_mhz"},
    {"l1", "size_bytes"},
    {"l1", "line_bytes"},
    {"l1", "latency_cycles"},
    {"shared", "size_bytes"},
    {"shared", "latency_cycles"},
    {"l2", "size_bytes"},
    {"l2", "latency_cycles"},
    {"memory", "size_bytes"},
    {"memory", "latency_cycles"},
    {"memory", "read_bytes_per_s"},
};

/* Fails because a figure is missing. */
static enum fth_status missing(const struct contribution *contribution, const char *section,
                               const char *name, struct fth_error *error)
{
    const char *reason = fth_gpu_unknown(contribution->gpu, section, name);
    return fth_fail(error, FTH_INVALID, operation, contribution->name,
                    "%s.%s is missing%s%s; measure again, on a GPU that nothing else uses: %s",
                    section, name, reason ? ": " : "", reason ? reason : "", contribution->again);
}

static enum fth_status check_complete(const struct contribution *contribution,
                                      struct fth_error *error)
{
    const struct fth_gpu *gpu = contribution->gpu;
    if (contribution->again == opencl_command)
        return fth_gpu_attribute(gpu, "l1", "latency_cycles") ||
                       fth_gpu_attribute(gpu, "vector_l1", "latency_cycles")
                   ? FTH_OK
                   : missing(contribution, "l1", "latency_cycles", error);
    for (size_t i = 0; i < FTH_COUNT(required); i++)
        if (!fth_gpu_attribute(gpu, required[i].section, required[i].name))
            return missing(contribution, required[i].section, required[i].name, error);
    return FTH_OK;
}

/* ---- the replay ---- */

/* Analyses the recording again. */
static enum fth_status replay(const struct contribution *contribution, const struct fth_log *log,
                              struct fth_gpu **gpu, struct fth_error *error)
{
    struct fth_recording *recording = NULL;
    struct fth_device *device = NULL;
    struct fth_buffer copy = {0};
    *gpu = NULL;
    fth_buffer_append(&copy, contribution->recorded.data, contribution->recorded.size);
    if (copy.failed) {
        fth_buffer_fini(&copy);
        return fth_no_memory(error, operation, contribution->name);
    }
    FTH_TRY(fth_recording_parse(contribution->name, &copy, &recording, error));
    FTH_TRY(fth_recording_replay(contribution->name, recording, &device, error));
    const struct fth_discover_options options =
        FTH_DISCOVER_OPTIONS(.log = log, .full = contribution->again == cuda_command);
    struct fth_error fault = FTH_NO_ERROR;
    const enum fth_status status = fth_discover(device, &options, gpu, &fault);
    fth_device_close(device);
    if (status == FTH_UNAVAILABLE)
        return fth_fail(error, FTH_INVALID, operation, contribution->name,
                        "the recording is not that of '%s': %s", contribution->again, fault.cause);
    return status == FTH_OK ? FTH_OK : fth_error_move(error, &fault);
}

/* Finds the first line in which two texts differ. Lines are numbered from 1. */
static size_t first_difference(const char *a, const char *b)
{
    size_t line = 1;
    for (; *a && *a == *b; a++, b++)
        line += *a == '\n';
    return line;
}

/* The first attribute that differs. */
struct first {
    char section[64], name[64];
};

static void note_first(void *user, const struct fth_difference *difference)
{
    struct first *first = user;
    if (*first->name)
        return;
    snprintf(first->section, sizeof first->section, "%s", difference->section);
    snprintf(first->name, sizeof first->name, "%s", difference->name);
}

/* Checks that the recording gives the description. */
static enum fth_status check_replay(const struct contribution *contribution,
                                    const struct fth_log *log, struct fth_error *error)
{
    struct fth_gpu *gpu = NULL;
    char *described = NULL, *replayed = NULL;
    size_t size;
    bool ignored[FTH_PERSONAL_COUNT] = {false};
    enum fth_status status = replay(contribution, log, &gpu, error);
    if (status == FTH_OK)
        fth_contribution_strip(gpu, ignored);
    if (status == FTH_OK)
        status = fth_gpu_write_text(contribution->gpu, &described, &size, error);
    if (status == FTH_OK)
        status = fth_gpu_write_text(gpu, &replayed, &size, error);
    if (status == FTH_OK && strcmp(described, replayed) != 0) {
        struct first first = {"", ""};
        fth_gpu_compare(contribution->gpu, gpu, note_first, &first);
        status = fth_fail(error, FTH_INVALID, operation, contribution->name,
                          "the recording gives another description (%s%s%s, line %zu); measure "
                          "both in one run: %s. If only the version of fathom differs, analyse the "
                          "recording again with 'fathom topo --device replay:FILE --json', with "
                          "--full for an NVIDIA GPU",
                          first.section, *first.name ? "." : "a detail", first.name,
                          first_difference(described, replayed), contribution->again);
    }
    fth_free(described);
    fth_free(replayed);
    fth_gpu_destroy(gpu);
    return status;
}

/* ---- the text ---- */

static void put_line(struct fth_buffer *out, const char *key, const char *value)
{
    fth_buffer_format(out, "%s: ", key);
    fth_text_append(out, value && *value ? value : "unknown", 255, "");
    fth_buffer_text(out, "\n");
}

static void put_figures(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    size_t counts[FTH_SOURCE_SIMULATED + 1] = {0};
    const size_t elements = fth_gpu_element_count(gpu);
    for (size_t e = 0; e <= elements; e++) {
        const char *section = e < elements ? fth_gpu_element_name(gpu, e) : "device";
        for (size_t i = 0; i < fth_gpu_attribute_count(gpu, section); i++)
            counts[fth_gpu_attribute_at(gpu, section, i)->source]++;
    }
    fth_buffer_format(out, "figures: %zu measured, %zu from the driver, %zu derived\n",
                      counts[FTH_SOURCE_MEASURED], counts[FTH_SOURCE_DRIVER],
                      counts[FTH_SOURCE_DERIVED]);
}

/* Appends the names of the attributes that were removed. */
static void put_removed(const struct contribution *contribution, struct fth_buffer *out)
{
    size_t removed = 0;
    fth_buffer_text(out, "removed:");
    for (size_t i = 0; i < FTH_PERSONAL_COUNT; i++)
        if (contribution->removed[i])
            fth_buffer_format(out, "%s %s", removed++ ? "," : "", fth_personal_name(i));
    fth_buffer_text(out, removed ? "\n" : " nothing\n");
}

/* Describes a contribution that was checked. `packs`: it is being packed. */
static enum fth_status write_summary(const struct contribution *contribution, bool packs,
                                     char **summary, struct fth_error *error)
{
    struct fth_buffer out = {0};
    size_t size;
    const struct fth_gpu *gpu = contribution->gpu;
    fth_buffer_format(&out, "%s\n", format);
    put_line(&out, "device", fth_gpu_text(gpu, "device", "name"));
    put_line(&out, "backend", fth_gpu_text(gpu, "device", "backend"));
    put_line(&out, "driver", fth_gpu_text(gpu, "device", "driver"));
    put_line(&out, "measured", fth_gpu_text(gpu, "device", "measured_at"));
    put_line(&out, "recorded with fathom", contribution->version);
    put_line(&out, "checked with fathom", fth_version());
    put_line(&out, "command", contribution->again);
    put_figures(gpu, &out);
    if (packs)
        put_removed(contribution, &out);
    return fth_buffer_take(&out, summary, &size, error);
}

/* ---- packing ---- */

/* Performs all checks. `recorded_id`: of the device in the recording. */
static enum fth_status check(struct contribution *contribution, const char *recorded_id,
                             const struct fth_log *log, struct fth_error *error)
{
    FTH_TRY(check_device(contribution, recorded_id, error));
    FTH_TRY(check_section(contribution, "device", error));
    for (size_t i = 0; i < fth_gpu_element_count(contribution->gpu); i++)
        FTH_TRY(check_section(contribution, fth_gpu_element_name(contribution->gpu, i), error));
    FTH_TRY(check_complete(contribution, error));
    return check_replay(contribution, log, error);
}

static void fini(struct contribution *contribution)
{
    fth_gpu_destroy(contribution->gpu);
    fth_buffer_fini(&contribution->recorded);
}

/* Writes the archive. */
static enum fth_status write_pack(const struct contribution *contribution, const char *summary,
                                  char **pack, size_t *size, struct fth_error *error)
{
    struct fth_buffer archive = {0};
    char *text = NULL;
    size_t text_size = 0;
    FTH_TRY(fth_gpu_write_text(contribution->gpu, &text, &text_size, error));
    fth_tar_put(text_file, summary, strlen(summary), &archive);
    fth_tar_put(description_file, text, text_size, &archive);
    fth_tar_put(recording_file, contribution->recorded.data, contribution->recorded.size, &archive);
    fth_tar_end(&archive);
    fth_free(text);
    return fth_buffer_take(&archive, pack, size, error);
}

/* Reads a recording and removes personal data from it. */
static enum fth_status take_recording(struct contribution *contribution,
                                      const struct fth_recording *recording,
                                      struct fth_error *error)
{
    snprintf(contribution->version, sizeof contribution->version, "%s",
             fth_recording_version(recording));
    return fth_contribution_strip_recording(recording, contribution->removed,
                                            &contribution->recorded, error);
}

enum fth_status fth_contribution_pack(const char *description, const char *recording,
                                      const struct fth_log *log, char **pack, size_t *size,
                                      char **summary, struct fth_error *error)
{
    struct contribution contribution = {.name = description};
    struct fth_recording *recorded = NULL;
    *pack = *summary = NULL;
    *size = 0;
    enum fth_status status = fth_gpu_read_file(description, log, &contribution.gpu, error);
    if (status == FTH_OK)
        status = fth_recording_read(recording, &recorded, error);
    if (status == FTH_OK) {
        fth_contribution_strip(contribution.gpu, contribution.removed);
        status = take_recording(&contribution, recorded, error);
    }
    if (status == FTH_OK)
        status = check(&contribution, fth_recording_device(recorded), log, error);
    if (status == FTH_OK)
        status = write_summary(&contribution, true, summary, error);
    if (status == FTH_OK)
        status = write_pack(&contribution, *summary, pack, size, error);
    if (status != FTH_OK) {
        fth_free(*summary);
        *summary = NULL;
    }
    fth_recording_destroy(recorded);
    fini(&contribution);
    return status;
}

/* ---- checking a pack ---- */

/* The files of an archive. */
struct files {
    struct fth_tar_file text, description, recording;
};

static enum fth_status read_files(const char *path, const struct fth_buffer *archive,
                                  struct files *files, struct fth_error *error)
{
    size_t at = 0;
    bool found;
    do {
        struct fth_tar_file file = {.size = 0};
        FTH_TRY(fth_tar_next(path, archive, &at, &file, &found, error));
        if (!found)
            break;
        struct fth_tar_file *place = strcmp(file.name, text_file) == 0 ? &files->text
                                     : strcmp(file.name, description_file) == 0
                                         ? &files->description
                                     : strcmp(file.name, recording_file) == 0 ? &files->recording
                                                                              : NULL;
        if (!place || place->data)
            return fth_fail(error, FTH_INVALID, operation, path,
                            "the archive has %s file '%s'; it must contain %s, %s and %s",
                            place ? "a second" : "an unknown", file.name, text_file,
                            description_file, recording_file);
        *place = file;
    } while (found);
    if (!files->text.data || !files->description.data || !files->recording.data)
        return fth_fail(error, FTH_INVALID, operation, path,
                        "the archive lacks one of %s, %s and %s; pack it again with 'fathom gpus "
                        "--contribute'",
                        text_file, description_file, recording_file);
    if (files->text.size < strlen(format) || memcmp(files->text.data, format, strlen(format)) != 0)
        return fth_fail(error, FTH_INVALID, operation, path,
                        "%s is not of the format %s, which this version of fathom reads", text_file,
                        format);
    return FTH_OK;
}

/* Fails if something that identifies a card was found. */
static enum fth_status check_anonymous(const struct contribution *contribution,
                                       struct fth_error *error)
{
    for (size_t i = 0; i < FTH_PERSONAL_COUNT; i++)
        if (contribution->removed[i])
            return fth_fail(error, FTH_INVALID, operation, contribution->name,
                            "the archive contains the attribute device.%s, which identifies a card "
                            "or its host; pack it again with 'fathom gpus --contribute'",
                            fth_personal_name(i));
    return FTH_OK;
}

enum fth_status fth_contribution_check(const char *path, const struct fth_log *log, char **summary,
                                       struct fth_error *error)
{
    struct contribution contribution = {.name = path};
    struct fth_recording *recorded = NULL;
    struct fth_buffer archive = {0}, bytes = {0};
    struct files files = {.text = {.size = 0}};
    *summary = NULL;
    enum fth_status status =
        fth_file_read(path, FTH_FILE_LIMIT("a contribution", MAX_ARCHIVE_BYTES), &archive, error);
    if (status == FTH_OK)
        status = read_files(path, &archive, &files, error);
    if (status == FTH_OK)
        status = fth_gpu_read_text(description_file, files.description.data, files.description.size,
                                   log, &contribution.gpu, error);
    if (status == FTH_OK) {
        fth_buffer_append(&bytes, files.recording.data, files.recording.size);
        status = bytes.failed ? fth_no_memory(error, operation, path)
                              : fth_recording_parse(recording_file, &bytes, &recorded, error);
    }
    if (status == FTH_OK) {
        fth_contribution_strip(contribution.gpu, contribution.removed);
        status = take_recording(&contribution, recorded, error);
    }
    if (status == FTH_OK)
        status = check_anonymous(&contribution, error);
    if (status == FTH_OK)
        status = check(&contribution, fth_recording_device(recorded), log, error);
    if (status == FTH_OK)
        status = write_summary(&contribution, false, summary, error);
    fth_recording_destroy(recorded);
    fth_buffer_fini(&bytes);
    fth_buffer_fini(&archive);
    fini(&contribution);
    return status;
}
