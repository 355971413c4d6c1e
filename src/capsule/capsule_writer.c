/* Creates capsules, and adds to them. Parts are appended to the file in their order, so that a
 * process which is killed leaves all that it has written. The functions run in the process of
 * another program: they print nothing, and the file is closed when the program executes another
 * one. */
#include "capsule/capsule_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Maximum number of threads that compress. Chosen: more do not help, because one thread copies the
 * memory and one writes the file. */
enum { MAX_THREADS = 8 };

static uint64_t checksum(uint64_t offset, const void *data, size_t size)
{
    const struct fth_digest digest = fth_digest(data, size);
    /* The digest is random, so the offset needs no more than a multiplication by an odd number. */
    return digest.words[0] ^ offset * UINT64_C(0x9e3779b97f4a7c15);
}

const struct fth_container_format fth_capsule_format = {
    .magic = FTH_CAPSULE_MAGIC,
    .end_magic = "fthcpend",
    .name = "a capsule",
    .read = "read capsule",
    .write = "write capsule",
    .level = 1, /* the program waits while a capsule is written */
    /* Chosen: compressing less than this takes longer than a launch, and saves little. */
    .plain_bytes = 1024,
    .checksum = checksum,
};

enum fth_status fth_capsule_refuse(const struct fth_capsule_writer *writer, const char *subject,
                                   const char *fault, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, fth_capsule_format.write, writer->path, "%s is invalid: %s",
                    subject, fault);
}

static enum fth_status no_memory(const struct fth_capsule_writer *writer, struct fth_error *error)
{
    return fth_no_memory(error, fth_capsule_format.write, writer->path);
}

enum fth_status fth_capsule_put_part(struct fth_capsule_writer *writer, enum fth_capsule_part type,
                                     const struct fth_buffer *content, uint64_t *offset,
                                     struct fth_error *error)
{
    if (writer->failure.status != FTH_OK)
        return fth_error_move(error, &writer->failure);
    if (fth_container_put(writer->file, type, content, offset, &writer->failure) == FTH_OK)
        return FTH_OK;
    return fth_error_move(error, &writer->failure);
}

/* Writes what was encoded into writer->scratch. */
static enum fth_status put_scratch(struct fth_capsule_writer *writer, enum fth_capsule_part type,
                                   uint64_t *offset, struct fth_error *error)
{
    return fth_capsule_put_part(writer, type, &writer->scratch, offset, error);
}

/* ---- opening ---- */

static enum fth_status fail_system(const char *path, struct fth_error *error)
{
    return fth_fail(error, FTH_IO, fth_capsule_format.write, path, "%s", strerror(errno));
}

/* Opens a file for writing at `offset`, where it then ends. The file stays locked until it is
 * closed, so that two processes do not write the same capsule. */
static enum fth_status open_file(const char *path, int flags, uint64_t offset,
                                 struct fth_atomic_file **file, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    *file = NULL;
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | flags, 0666);
    if (fd < 0)
        return fail_system(path, error);
    if (!fth_file_is_regular(path))
        status = fth_fail(error, FTH_INVALID, fth_capsule_format.write, path,
                          "it is not a regular file");
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = fth_fail(error, FTH_IO, fth_capsule_format.write, path,
                          "another process is writing it; choose another file");
    else if (ftruncate(fd, (off_t)offset) != 0 || lseek(fd, (off_t)offset, SEEK_SET) < 0)
        status = fail_system(path, error);
    else
        status = fth_atomic_attach(fd, path, file, error);
    close(fd);
    return status;
}

static struct fth_capsule_writer *allocate(const char *path)
{
    struct fth_capsule_writer *writer = calloc(1, sizeof *writer);
    char *copy = strdup(path);
    if (!writer || !copy) {
        free(writer);
        free(copy);
        return NULL;
    }
    writer->path = copy;
    return writer;
}

/* Texts of INFO are cut to the longest that a reader accepts. */
static enum fth_status put_info(struct fth_capsule_writer *writer,
                                const struct fth_capsule_info *info, struct fth_error *error)
{
    char *command = strndup(info->command, FTH_PART_MAX_TEXT_BYTES);
    char *gpu = strndup(info->gpu, FTH_PART_MAX_TEXT_BYTES);
    enum fth_status status = FTH_NO_MEMORY;
    if (command && gpu) {
        struct fth_capsule_info cut = *info;
        cut.command = command;
        cut.gpu = gpu;
        writer->is_light = info->is_light;
        fth_capsule_encode_info(&cut, &writer->scratch);
        status = put_scratch(writer, FTH_CAPSULE_PART_INFO, NULL, error);
    } else {
        no_memory(writer, error);
    }
    free(command);
    free(gpu);
    return status;
}

enum fth_status fth_capsule_create(const char *path, const struct fth_capsule_info *info,
                                   struct fth_capsule_writer **out, struct fth_error *error)
{
    struct fth_atomic_file *file = NULL;
    *out = NULL;
    struct fth_capsule_writer *writer = allocate(path);
    if (!writer)
        return fth_no_memory(error, fth_capsule_format.write, path);
    enum fth_status status = open_file(path, O_CREAT, 0, &file, error);
    if (status == FTH_OK)
        status = fth_container_create(&fth_capsule_format, file, &writer->file, error);
    if (status == FTH_OK)
        status = put_info(writer, info, error);
    if (status == FTH_OK)
        *out = writer;
    else
        fth_capsule_abandon(writer);
    return status;
}

void fth_capsule_use_threads(struct fth_capsule_writer *writer)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    fth_container_use_threads(writer->file,
                              cores > 1 ? FTH_MIN((size_t)cores - 1, (size_t)MAX_THREADS) : 1);
}

/* ---- continuing a capsule ---- */

static uint64_t *sizes_of(const struct fth_capsule_launch *launch)
{
    uint64_t *sizes = calloc(launch->region_count + 1, sizeof *sizes);
    for (size_t i = 0; sizes && i < launch->region_count; i++)
        sizes[i] = launch->regions[i].bytes;
    return sizes;
}

/* Remembers a launch, for the images after it. Returns false without memory. */
static bool remember_launch(struct fth_capsule_writer *writer,
                            const struct fth_capsule_launch *launch)
{
    uint64_t *sizes = NULL;
    if (!fth_grow((void **)&writer->launches, writer->launch_count, &writer->launch_capacity,
                  sizeof *writer->launches))
        return false;
    if (!launch->has_after && !writer->is_light) {
        sizes = sizes_of(launch);
        if (!sizes)
            return false;
    }
    writer->launches[writer->launch_count++] = (struct fth_written_launch){
        .number = launch->number, .region_count = launch->region_count, .region_bytes = sizes};
    return true;
}

/* Takes over what a capsule contains. Digests of chunks and texts are not known: what is added is
 * stored again even if the capsule has it. Returns false without memory. */
static bool take_over(struct fth_capsule_writer *writer, const struct fth_capsule *capsule)
{
    const struct fth_capsule_scope *scope = fth_capsule_scope(capsule);
    writer->scope = *scope;
    writer->is_light = fth_capsule_info(capsule)->is_light;
    writer->scope.image_bytes = NULL;
    writer->image_capacity = writer->list_capacity = (size_t)scope->image_count + 1;
    writer->module_capacity = (size_t)scope->module_count + 1;
    writer->image_bytes = calloc(writer->image_capacity, sizeof *writer->image_bytes);
    writer->image_lists = calloc(writer->list_capacity, sizeof *writer->image_lists);
    writer->module_has_ptx = calloc(writer->module_capacity, sizeof *writer->module_has_ptx);
    if (!writer->image_bytes || !writer->image_lists || !writer->module_has_ptx)
        return false;
    writer->scope.image_bytes = writer->image_bytes;
    for (uint32_t i = 0; i < scope->image_count; i++)
        writer->image_bytes[i] = scope->image_bytes[i];
    for (uint32_t i = 0; i < scope->module_count; i++)
        writer->module_has_ptx[i] = !fth_capsule_module(capsule, i + 1)->reason;
    for (size_t i = 0; i < fth_capsule_launch_count(capsule); i++)
        if (!remember_launch(writer, fth_capsule_launch(capsule, i)))
            return false;
    return true;
}

enum fth_status fth_capsule_append(const char *path, struct fth_capsule_writer **out,
                                   struct fth_error *error)
{
    struct fth_capsule *capsule;
    struct fth_atomic_file *file;
    struct fth_capsule_writer *writer = NULL;
    *out = NULL;
    FTH_TRY(fth_capsule_open(path, &capsule, error));
    enum fth_status status = FTH_NO_MEMORY;
    const uint64_t end = fth_capsule_end(capsule);
    writer = allocate(path);
    if (!writer || !take_over(writer, capsule))
        fth_no_memory(error, fth_capsule_format.write, path);
    else
        status = open_file(path, 0, end, &file, error);
    if (status == FTH_OK)
        status = fth_container_continue(&fth_capsule_format, file, end, &writer->file, error);
    fth_capsule_close(capsule);
    if (status == FTH_OK)
        *out = writer;
    else
        fth_capsule_abandon(writer);
    return status;
}

/* ---- modules ---- */

/* Writes a text, or finds it. */
static enum fth_status put_text(struct fth_capsule_writer *writer, const char *text, size_t size,
                                uint32_t *number, struct fth_error *error)
{
    if (size > FTH_CAPSULE_MAX_PTX_BYTES)
        return fth_capsule_refuse(writer, "PTX", "it is larger than 256 MiB", error);
    const struct fth_digest digest = fth_digest(text, size);
    *number = fth_digest_table_find(&writer->text_table, &digest);
    if (*number)
        return FTH_OK;
    const struct fth_buffer content = {.data = (char *)text, .size = size}; /* is only read */
    FTH_TRY(fth_capsule_put_part(writer, FTH_CAPSULE_PART_TEXT, &content, NULL, error));
    *number = ++writer->scope.text_count;
    return fth_digest_table_add(&writer->text_table, &digest, *number) ? FTH_OK
                                                                       : no_memory(writer, error);
}

enum fth_status fth_capsule_put_module(struct fth_capsule_writer *writer,
                                       const struct fth_capsule_module *module, uint32_t *number,
                                       struct fth_error *error)
{
    struct fth_capsule_stored_module stored = {.module = *module};
    const char *fault = NULL;
    *number = 0;
    if (!stored.module.ptx && !stored.module.reason)
        stored.module.reason = "it has no PTX";
    if (fth_capsule_check_module(&stored, &writer->scope, &fault) != FTH_OK)
        return fth_capsule_refuse(writer, "a module", fault, error);
    if (!fth_grow((void **)&writer->module_has_ptx, writer->scope.module_count,
                  &writer->module_capacity, sizeof *writer->module_has_ptx))
        return no_memory(writer, error);
    if (module->ptx)
        FTH_TRY(put_text(writer, module->ptx, module->ptx_bytes, &stored.text, error));
    writer->scratch.size = 0;
    fth_capsule_encode_module(&stored, &writer->scratch);
    FTH_TRY(put_scratch(writer, FTH_CAPSULE_PART_MODULE, NULL, error));
    writer->module_has_ptx[writer->scope.module_count] = module->ptx;
    *number = ++writer->scope.module_count;
    return FTH_OK;
}

enum fth_status fth_capsule_put_ptx(struct fth_capsule_writer *writer, uint32_t module,
                                    const char *ptx, size_t size, struct fth_error *error)
{
    uint32_t text;
    if (module == 0 || module > writer->scope.module_count)
        return fth_capsule_refuse(writer, "PTX", "its module does not exist", error);
    if (writer->module_has_ptx[module - 1])
        return fth_capsule_refuse(writer, "PTX", "its module has PTX already", error);
    FTH_TRY(put_text(writer, ptx, size, &text, error));
    writer->scratch.size = 0;
    fth_put_varint(module, &writer->scratch);
    fth_put_varint(text, &writer->scratch);
    FTH_TRY(put_scratch(writer, FTH_CAPSULE_PART_PTX, NULL, error));
    writer->module_has_ptx[module - 1] = true;
    return FTH_OK;
}

/* ---- launches ---- */

enum fth_status fth_capsule_put_launch(struct fth_capsule_writer *writer,
                                       const struct fth_capsule_launch *launch,
                                       struct fth_error *error)
{
    const char *fault = NULL;
    struct fth_capsule_launch copy = *launch;
    copy.has_after = false;
    enum fth_status status = fth_capsule_check_launch(launch, &writer->scope, &fault);
    if (status == FTH_INVALID)
        return fth_capsule_refuse(writer, "a launch", fault, error);
    writer->scratch.size = 0;
    fth_capsule_encode_launch(launch, &writer->scratch);
    if (status != FTH_OK || !remember_launch(writer, &copy))
        return no_memory(writer, error);
    status = put_scratch(writer, FTH_CAPSULE_PART_LAUNCH, NULL, error);
    if (status != FTH_OK)
        free(writer->launches[--writer->launch_count].region_bytes);
    return status;
}

enum fth_status fth_capsule_put_after(struct fth_capsule_writer *writer, uint64_t number,
                                      const uint32_t *images, size_t count, struct fth_error *error)
{
    const char *fault = NULL;
    size_t index = writer->launch_count;
    while (index > 0 && writer->launches[index - 1].number != number)
        index--;
    if (index == 0)
        return fth_capsule_refuse(writer, "images after a launch", "the launch does not exist",
                                  error);
    struct fth_written_launch *launch = &writer->launches[--index];
    if (!launch->region_bytes)
        fault = "the launch has such images already, or the capsule is light";
    else if (count != launch->region_count)
        fault = "their number differs from that of the regions";
    for (size_t i = 0; !fault && i < count; i++)
        fault = fth_capsule_check_image(images[i], launch->region_bytes[i], &writer->scope);
    if (fault)
        return fth_capsule_refuse(writer, "images after a launch", fault, error);
    writer->scratch.size = 0;
    fth_put_varint(index, &writer->scratch);
    for (size_t i = 0; i < count; i++)
        fth_put_varint(images[i], &writer->scratch);
    FTH_TRY(put_scratch(writer, FTH_CAPSULE_PART_AFTER, NULL, error));
    free(launch->region_bytes);
    launch->region_bytes = NULL;
    return FTH_OK;
}

/* ---- the end ---- */

bool fth_capsule_exceeds(const struct fth_capsule_writer *writer, uint64_t bytes)
{
    return fth_container_exceeds(writer->file, bytes);
}

enum fth_status fth_capsule_finish(struct fth_capsule_writer *writer, struct fth_error *error)
{
    uint64_t index = 0;
    const struct fth_capsule_scope *scope = &writer->scope;
    writer->scratch.size = 0;
    fth_put_varint(scope->module_count, &writer->scratch);
    fth_put_varint(scope->text_count, &writer->scratch);
    fth_put_varint(scope->chunk_count, &writer->scratch);
    fth_put_varint(scope->image_count, &writer->scratch);
    fth_put_varint(writer->launch_count, &writer->scratch);
    enum fth_status status = fth_capsule_write_chunks(writer, error);
    if (status == FTH_OK)
        status = put_scratch(writer, FTH_CAPSULE_PART_END, &index, error);
    if (status == FTH_OK) {
        status = fth_container_commit(writer->file, index, error);
        writer->file = NULL;
    }
    fth_capsule_abandon(writer);
    return status;
}

void fth_capsule_abandon(struct fth_capsule_writer *writer)
{
    if (!writer)
        return;
    fth_container_abort(writer->file);
    for (uint32_t i = 0; writer->image_lists && i < writer->scope.image_count; i++)
        free(writer->image_lists[i]);
    for (size_t i = 0; i < writer->launch_count; i++)
        free(writer->launches[i].region_bytes);
    if (!writer->image.previous)
        free(writer->image.list);
    free(writer->image.changes);
    free(writer->image.partial);
    free(writer->image_lists);
    free(writer->image_bytes);
    free(writer->module_has_ptx);
    free(writer->launches);
    fth_digest_table_fini(&writer->chunk_table);
    fth_digest_table_fini(&writer->text_table);
    fth_buffer_fini(&writer->scratch);
    fth_buffer_fini(&writer->chunks);
    free(writer->path);
    free(writer);
}
