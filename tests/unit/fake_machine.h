/* A machine that executes nothing. It writes every operation to a log, and its downloads return
 * what the test provides. */
#ifndef FTH_TESTS_FAKE_MACHINE_H
#define FTH_TESTS_FAKE_MACHINE_H

#include "check.h"
#include "device/family/family.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
    char log[16384];
    uint64_t next;       /* address of the next allocation */
    uint64_t max_bytes;  /* of an allocation */
    uint64_t free_bytes; /* as the machine reports them */
    double ns;           /* between the marks */
    /* Fills the result of a download. NULL: zeros. */
    void (*answer)(void *data, uint64_t address, uint64_t bytes);
    enum fth_status transfer_status;
    /* The operation with this number, from 1, fails with FTH_IO; 0: none. `failed` is its name. */
    unsigned fails_at, count;
    const char *failed;
    long live; /* allocations, textures and modules */
} fake;

static inline void fake_log(const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(fake.log);
    va_start(arguments, format);
    vsnprintf(fake.log + used, sizeof fake.log - used, format, arguments);
    va_end(arguments);
}

/* Counts the operation. Returns whether it fails. */
static inline bool fake_fails(const char *name, struct fth_error *error)
{
    if (++fake.count != fake.fails_at)
        return false;
    fake.failed = name;
    (void)fth_fail(error, FTH_IO, "test", name, "the operation failed");
    return true;
}

static inline unsigned long long full(uint64_t number)
{
    return number;
}

static inline enum fth_status fake_load(void *machine, const char *name, const char *ptx,
                                        size_t size, struct fth_machine_module **module,
                                        struct fth_error *error)
{
    if (fake_fails("load", error))
        return FTH_IO;
    static char loaded;
    (void)machine;
    assert_true(size > 0 && strlen(ptx) == size);
    *module = (struct fth_machine_module *)&loaded;
    fake_log("load %s\n", name);
    fake.live++;
    return FTH_OK;
}

static inline void fake_unload(void *machine, struct fth_machine_module *module)
{
    (void)machine;
    (void)module;
    fake_log("unload\n");
    fake.live--;
}

static inline enum fth_status fake_symbol(void *machine, struct fth_machine_module *module,
                                          const char *name, uint64_t *address, uint64_t *bytes,
                                          struct fth_error *error)
{
    if (fake_fails("symbol", error))
        return FTH_IO;
    (void)machine;
    (void)module;
    fake_log("symbol %s\n", name);
    *address = 0xb000;
    *bytes = 65536;
    return FTH_OK;
}

static inline enum fth_status fake_alloc(void *machine, uint64_t bytes, uint64_t *address,
                                         struct fth_error *error)
{
    if (fake_fails("alloc", error))
        return FTH_IO;
    (void)machine;
    if (bytes > fake.max_bytes) {
        fake_log("no %llu\n", full(bytes));
        return fth_fail(error, FTH_NO_MEMORY, "allocate", NULL, "%llu bytes", full(bytes));
    }
    *address = fake.next;
    fake.next += (bytes + 255) / 256 * 256;
    fake_log("alloc %llu at %llx\n", full(bytes), full(*address));
    fake.live++;
    return FTH_OK;
}

static inline void fake_free(void *machine, uint64_t address)
{
    (void)machine;
    fake_log("free %llx\n", full(address));
    fake.live--;
}

static inline enum fth_status fake_free_bytes(void *machine, uint64_t *bytes,
                                              struct fth_error *error)
{
    (void)error;
    (void)machine;
    *bytes = fake.free_bytes;
    return FTH_OK;
}

/* Logs the words of small uploads. */
static inline enum fth_status fake_upload(void *machine, uint64_t address, const void *data,
                                          uint64_t bytes, struct fth_error *error)
{
    if (fake_fails("upload", error))
        return FTH_IO;
    (void)machine;
    fake_log("upload %llu to %llx", full(bytes), full(address));
    for (uint64_t i = 0; i < bytes / 4 && bytes <= 80; i++)
        fake_log("%s%x", i ? " " : ": ", ((const uint32_t *)data)[i]);
    fake_log("\n");
    return FTH_OK;
}

static inline enum fth_status fake_download(void *machine, void *data, uint64_t address,
                                            uint64_t bytes, struct fth_error *error)
{
    if (fake_fails("download", error))
        return FTH_IO;
    (void)machine;
    fake_log("download %llu from %llx\n", full(bytes), full(address));
    memset(data, 0, bytes);
    if (fake.answer)
        fake.answer(data, address, bytes);
    return FTH_OK;
}

static inline enum fth_status fake_fill(void *machine, uint64_t address, unsigned char byte,
                                        uint64_t bytes, struct fth_error *error)
{
    if (fake_fails("fill", error))
        return FTH_IO;
    (void)machine;
    fake_log("fill %llu at %llx with %x\n", full(bytes), full(address), byte);
    return FTH_OK;
}

static inline enum fth_status fake_texture(void *machine, uint64_t address, uint64_t texels,
                                           uint64_t *handle, struct fth_error *error)
{
    if (fake_fails("texture", error))
        return FTH_IO;
    (void)machine;
    fake_log("texture of %llu at %llx\n", full(texels), full(address));
    *handle = 77;
    fake.live++;
    return FTH_OK;
}

static inline void fake_texture_free(void *machine, uint64_t handle)
{
    (void)machine;
    fake_log("free texture %llu\n", full(handle));
    fake.live--;
}

static inline enum fth_status fake_launch(void *machine, const struct fth_machine_launch *launch,
                                          struct fth_error *error)
{
    if (fake_fails("launch", error))
        return FTH_IO;
    (void)machine;
    fake_log("launch %s %ux%u", launch->kernel, launch->blocks, launch->threads);
    if (launch->cluster)
        fake_log(" cluster %u", launch->cluster);
    if (launch->shared_bytes)
        fake_log(" shared %llu", full(launch->shared_bytes));
    if (launch->carveout_percent != -1)
        fake_log(" carveout %d", launch->carveout_percent);
    for (size_t i = 0; i < launch->argument_bytes / 8; i++)
        fake_log("%s%llx", i ? " " : ": ", full(((const uint64_t *)launch->arguments)[i]));
    fake_log("\n");
    return FTH_OK;
}

static inline enum fth_status fake_wait(void *machine, double limit_s, struct fth_error *error)
{
    if (fake_fails("wait", error))
        return FTH_IO;
    (void)machine;
    fake_log("wait %.6f\n", limit_s);
    return FTH_OK;
}

static inline enum fth_status fake_check(void *machine, struct fth_error *error)
{
    (void)error;
    (void)machine;
    return FTH_OK;
}

static inline enum fth_status fake_mark(void *machine, bool end, struct fth_error *error)
{
    if (fake_fails("mark", error))
        return FTH_IO;
    (void)machine;
    fake_log(end ? "end\n" : "begin\n");
    return FTH_OK;
}

static inline enum fth_status fake_marked_ns(void *machine, double *ns, struct fth_error *error)
{
    if (fake_fails("marked_ns", error))
        return FTH_IO;
    (void)machine;
    *ns = fake.ns;
    fake.ns += 100;
    return FTH_OK;
}

static inline enum fth_status fake_copy(void *machine, uint64_t to, uint64_t from, uint64_t bytes,
                                        struct fth_error *error)
{
    if (fake_fails("copy", error))
        return FTH_IO;
    (void)machine;
    fake_log("copy %llu from %llx to %llx\n", full(bytes), full(from), full(to));
    return FTH_OK;
}

static inline enum fth_status fake_transfer(void *machine, const struct fth_transfer *transfer,
                                            uint32_t *samples, struct fth_error *error)
{
    if (fake_fails("transfer", error))
        return FTH_IO;
    (void)machine;
    fake_log("transfer %llu\n", full(transfer->bytes));
    samples[0] = 5;
    return fake.transfer_status == FTH_OK
               ? FTH_OK
               : fth_fail(error, fake.transfer_status, "transfer", NULL, "no transfer");
}

static const struct fth_machine_ops fake_ops = {.load = fake_load,
                                                .unload = fake_unload,
                                                .symbol = fake_symbol,
                                                .alloc = fake_alloc,
                                                .free = fake_free,
                                                .free_bytes = fake_free_bytes,
                                                .upload = fake_upload,
                                                .download = fake_download,
                                                .fill = fake_fill,
                                                .texture = fake_texture,
                                                .texture_free = fake_texture_free,
                                                .launch = fake_launch,
                                                .wait = fake_wait,
                                                .check = fake_check,
                                                .mark = fake_mark,
                                                .marked_ns = fake_marked_ns,
                                                .copy = fake_copy,
                                                .transfer = fake_transfer};

/* Returns a runner on this machine, with four SMs whose %smid are 0, 2, 4 and 6, and an L2 of
 * 1 MiB. */
static inline struct fth_runner fake_runner(void)
{
    static uint32_t sms[] = {0, 2, 4, 6};
    memset(&fake, 0, sizeof fake);
    fake.next = 0x1000;
    fake.max_bytes = UINT64_MAX;
    fake.ns = 1000;
    return (struct fth_runner){.ops = &fake_ops,
                               .facts = {.sms = 4,
                                         .capability = 90,
                                         .l2_bytes = 1 << 20,
                                         .block_shared_bytes = 49152,
                                         .texels = 1 << 20,
                                         .concurrent = true},
                               .sms = sms,
                               .sm_count = FTH_COUNT(sms),
                               .scratch = 0x500,
                               .bank_origin = 0x40,
                               .bank = 0xa000};
}

/* Fails unless the log is this text, and clears it. */
static inline void expect_log(const char *expected)
{
    assert_string_equal(fake.log, expected);
    fake.log[0] = '\0';
}

#endif
