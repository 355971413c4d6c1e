/* Tests of the reader of fat binaries: files that nvcc wrote (tests/fatbin/make-fatbins), and
 * damaged ones. */
#include "check.h"
#include "fatbin/fatbin.h"

#include <stdio.h>
#include <stdlib.h>

#define DATA FTH_SOURCE_ROOT "/tests/fatbin/"

static struct fth_buffer load(const char *name)
{
    struct fth_buffer content = {0};
    struct fth_error error = FTH_NO_ERROR;
    char path[512];
    snprintf(path, sizeof path, DATA "%s", name);
    if (fth_file_read(path, FTH_FILE_LIMIT("a test file", 65536), &content, &error) != FTH_OK)
        fail_msg("%s: %s", path, error.cause);
    return content;
}

static struct fth_fatbin open_image(const struct fth_buffer *image)
{
    struct fth_fatbin fatbin;
    struct fth_error error = FTH_NO_ERROR;
    assert_true(fth_fatbin_is_image(image->data, image->size));
    if (fth_fatbin_open("image", image->data, image->size, &fatbin, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return fatbin;
}

static struct fth_buffer unpacked(const struct fth_fatbin *fatbin, size_t index)
{
    struct fth_buffer content = {0};
    struct fth_error error = FTH_NO_ERROR;
    assert_in_range(index, 0, fatbin->count - 1);
    if (fth_fatbin_unpack(fatbin, &fatbin->entries[index], &content, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return content;
}

/* Opening the image must fail with this cause. */
static void check_refused(const void *data, size_t size, enum fth_status status, const char *cause)
{
    struct fth_fatbin fatbin;
    struct fth_error error = FTH_NO_ERROR;
    /* A copy of exactly this size, so that tools find accesses beyond it. */
    void *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    assert_int_equal(fth_fatbin_open("image", copy, size, &fatbin, &error), status);
    free(copy);
    if (!strstr(error.cause, cause))
        fail_msg("'%s' instead of '%s'", error.cause, cause);
    assert_null(fatbin.entries);
}

static void store(char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)(value >> 8 * i);
}

/* ---- files of nvcc ---- */

/* Each file has the same PTX, packed in a different way. The text is that of the plain file. */
static void nvcc_packs_ptx_in_three_ways(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        enum fth_fatbin_packing packing;
        size_t index, count, containers;
    } rows[] = {
        {"plain.fatbin", FTH_PACKING_NONE, 0, 1, 1},
        {"lz4.fatbin", FTH_PACKING_LZ4, 0, 1, 1},
        {"zstd.fatbin", FTH_PACKING_ZSTD, 0, 1, 1},
        {"relocatable.fatbin", FTH_PACKING_ZSTD, 1, 2, 1},
        {"arm64.obj", FTH_PACKING_ZSTD, 0, 1, 1},
        {"arm64-relocatable.obj", FTH_PACKING_ZSTD, 0, 1, 1},
        {"x86_64.obj", FTH_PACKING_ZSTD, 0, 2, 2},
    };
    struct fth_buffer plain = load("plain.fatbin");
    struct fth_fatbin first = open_image(&plain);
    struct fth_buffer text = unpacked(&first, 0);
    assert_non_null(strstr(text.data, ".visible .entry scale("));
    assert_int_equal(strlen(text.data), text.size); /* without the padding of the file */
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer image = load(rows[i].file);
        struct fth_fatbin fatbin = open_image(&image);
        assert_int_equal(fatbin.count, rows[i].count);
        assert_int_equal(fatbin.container_count, rows[i].containers);
        const struct fth_fatbin_entry *entry = &fatbin.entries[rows[i].index];
        assert_int_equal(entry->kind, FTH_FATBIN_PTX);
        assert_int_equal(entry->packing, rows[i].packing);
        assert_int_equal(entry->target.number, 90);
        assert_int_equal(entry->target.suffix, '\0');
        assert_null(entry->name);
        struct fth_buffer content = unpacked(&fatbin, rows[i].index);
        assert_string_equal(content.data, text.data);
        fth_buffer_fini(&content);
        fth_fatbin_fini(&fatbin);
        fth_buffer_fini(&image);
    }
    fth_buffer_fini(&text);
    fth_fatbin_fini(&first);
    fth_buffer_fini(&plain);
}

static void translation_units_are_separate_containers(void **state)
{
    (void)state;
    struct fth_buffer image = load("x86_64.obj");
    struct fth_fatbin fatbin = open_image(&image);
    assert_int_equal(fatbin.entries[0].container, 0);
    assert_int_equal(fatbin.entries[1].container, 1);
    assert_ptr_equal(fth_fatbin_choose(&fatbin, 0, 90), &fatbin.entries[0]);
    assert_ptr_equal(fth_fatbin_choose(&fatbin, 1, 90), &fatbin.entries[1]);
    assert_ptr_equal(fth_fatbin_lowest(&fatbin, 1), &fatbin.entries[1]);
    struct fth_buffer text = unpacked(&fatbin, 1);
    assert_non_null(strstr(text.data, ".entry shift("));
    /* Offsets are those in the file. */
    assert_int_equal((unsigned char)image.data[fatbin.entries[1].offset], 1);
    assert_ptr_equal(fatbin.entries[1].payload, image.data + fatbin.entries[1].offset + 80);
    fth_buffer_fini(&text);
    fth_fatbin_fini(&fatbin);
    fth_buffer_fini(&image);
}

static void an_entry_can_have_a_name(void **state)
{
    (void)state;
    struct fth_buffer image = load("named.fatbin");
    struct fth_fatbin fatbin = open_image(&image);
    assert_int_equal(fatbin.entries[0].name_bytes, strlen("scale.cu"));
    assert_memory_equal(fatbin.entries[0].name, "scale.cu", strlen("scale.cu"));
    fth_fatbin_fini(&fatbin);
    fth_buffer_fini(&image);
}

static void ptx_is_chosen_by_architecture(void **state)
{
    (void)state;
    static const struct {
        uint32_t number;
        const char *chosen;
    } rows[] = {
        {70, NULL},
        {75, "compute_75"},
        {89, "compute_75"},
        {90, "compute_90a"},
        {91, "compute_90"},
        {100, "compute_100f"},
        {103, "compute_100f"},
        {110, "compute_90"},
        {120, "compute_120a"},
        {121, "compute_90"},
    };
    struct fth_buffer image = load("architectures.fatbin");
    struct fth_fatbin fatbin = open_image(&image);
    assert_int_equal(fatbin.count, 5);
    for (size_t i = 0; i < 2 * FTH_COUNT(rows); i++) {
        char text[32];
        const size_t row = i % FTH_COUNT(rows);
        if (i == FTH_COUNT(rows)) { /* the order of the entries does not matter */
            const struct fth_fatbin_entry moved = fatbin.entries[1];
            fatbin.entries[1] = fatbin.entries[2];
            fatbin.entries[2] = moved;
        }
        const struct fth_fatbin_entry *entry = fth_fatbin_choose(&fatbin, 0, rows[row].number);
        assert_int_equal(entry != NULL, rows[row].chosen != NULL);
        if (entry)
            assert_string_equal(fth_fatbin_target_format(entry, text, sizeof text),
                                rows[row].chosen);
    }
    assert_int_equal(fth_fatbin_lowest(&fatbin, 0)->target.number, 75);
    assert_null(fth_fatbin_choose(&fatbin, 1, 90));
    assert_null(fth_fatbin_lowest(&fatbin, 1));
    fth_fatbin_fini(&fatbin);
    fth_buffer_fini(&image);
}

/* ---- machine code ---- */

static void machine_code_has_kernels(void **state)
{
    (void)state;
    static const char *const files[] = {"machine-lz4.fatbin", "machine-zstd.fatbin",
                                        "relocatable.fatbin"};
    for (size_t i = 0; i < FTH_COUNT(files); i++) {
        struct fth_buffer image = load(files[i]), names = {0};
        struct fth_fatbin fatbin = open_image(&image);
        char text[32];
        assert_int_equal(fatbin.entries[0].kind, FTH_FATBIN_CUBIN);
        assert_string_equal(fth_fatbin_target_format(&fatbin.entries[0], text, sizeof text),
                            "sm_90");
        assert_int_equal(fth_fatbin_kernels(&fatbin, &fatbin.entries[0], &names, NULL), FTH_OK);
        assert_int_equal(names.size, sizeof "scale");
        assert_string_equal(names.data, "scale");
        fth_buffer_fini(&names);
        fth_fatbin_fini(&fatbin);
        fth_buffer_fini(&image);
    }
}

static void a_cubin_is_an_image_with_one_entry(void **state)
{
    (void)state;
    struct fth_buffer image = load("machine-zstd.fatbin"), names = {0};
    struct fth_fatbin outer = open_image(&image);
    struct fth_buffer cubin = unpacked(&outer, 0);
    struct fth_fatbin fatbin = open_image(&cubin);
    assert_int_equal(fatbin.count, 1);
    assert_int_equal(fatbin.container_count, 1);
    assert_int_equal(fatbin.entries[0].kind, FTH_FATBIN_CUBIN);
    assert_int_equal(fth_fatbin_kernels(&fatbin, &fatbin.entries[0], &names, NULL), FTH_OK);
    assert_string_equal(names.data, "scale");
    fth_fatbin_fini(&fatbin);
    fth_buffer_fini(&names);
    fth_buffer_fini(&cubin);
    fth_fatbin_fini(&outer);
    fth_buffer_fini(&image);
}

/* ---- memory ---- */

/* Only the header states the size: what follows the container must not be read. */
static void a_container_in_memory_has_its_own_size(void **state)
{
    (void)state;
    struct fth_buffer image = load("lz4.fatbin");
    struct fth_fatbin fatbin;
    struct fth_error error = FTH_NO_ERROR;
    fth_buffer_append(&image, "other", 5);
    check_refused(image.data, image.size, FTH_INVALID, "truncated");
    assert_int_equal(fth_fatbin_open_memory("memory", image.data, &fatbin, &error), FTH_OK);
    assert_int_equal(fatbin.count, 1);
    struct fth_buffer text = unpacked(&fatbin, 0);
    assert_non_null(strstr(text.data, ".entry scale("));
    fth_buffer_fini(&text);
    fth_fatbin_fini(&fatbin);
    image.data[0] = 'x';
    assert_int_equal(fth_fatbin_open_memory("memory", image.data, &fatbin, &error), FTH_INVALID);
    assert_non_null(strstr(error.cause, "offset 0: expected a container"));
    fth_buffer_fini(&image);
}

/* ---- damaged files ---- */

static void every_truncation_is_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"plain.fatbin", "architectures.fatbin", "x86_64.obj"};
    for (size_t i = 0; i < FTH_COUNT(files); i++) {
        struct fth_buffer image = load(files[i]);
        for (size_t size = 0; size < image.size; size++)
            if (fth_fatbin_is_image(image.data, size))
                check_refused(image.data, size, FTH_INVALID, "truncated");
        fth_buffer_fini(&image);
    }
}

static void a_truncated_second_container_is_refused(void **state)
{
    (void)state;
    struct fth_buffer image = load("plain.fatbin"), second = load("lz4.fatbin");
    fth_buffer_append(&image, second.data, second.size - 1);
    check_refused(image.data, image.size, FTH_INVALID,
                  "offset 768: the container has 544 bytes, but only 543 follow");
    fth_buffer_fini(&second);
    fth_buffer_fini(&image);
}

/* Offsets of the fields are those of docs/programs/fat-binaries.md; the entry begins at offset 16.
 */
static void damaged_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t offset, bytes;
        uint64_t value;
        enum fth_status status;
        const char *cause;
    } rows[] = {
        {0, 4, 0x12345678, FTH_INVALID,
         "offset 0: expected a container (ba55ed50), found 12345678"},
        {4, 2, 2, FTH_UNSUPPORTED, "offset 0: a container of version 2"},
        {6, 2, 24, FTH_UNSUPPORTED, "with a header of 24 bytes"},
        {8, 8, UINT64_MAX, FTH_INVALID, "offset 0: a container cannot have"},
        {8, 8, 529, FTH_INVALID, "offset 0: the container has 545 bytes, but only 544 follow"},
        {8, 8, 63, FTH_INVALID, "offset 16: the container ends in the header of an entry"},
        {20, 4, 63, FTH_INVALID, "offset 16: the entry has a header of 63 bytes"},
        {20, 4, 529, FTH_INVALID, "offset 16: the entry has a header of 529 bytes"},
        {24, 8, 449, FTH_INVALID, "contents of 449 bytes, but the container ends after 528"},
        {24, 8, UINT64_MAX - 79, FTH_INVALID, "offset 16: the entry has a header of 80 bytes"},
        {32, 4, 449, FTH_INVALID, "the compressed contents have 449 bytes, the entry only 448"},
        {48, 4, 81, FTH_INVALID, "offset 16: the name of the entry is outside of its header"},
        {48, 8, 72 | (uint64_t)9 << 32, FTH_INVALID, "the name of the entry is outside"},
        {52, 4, 81, FTH_INVALID, "offset 16: the name of the entry is outside of its header"},
        {72, 8, (256 << 20) + 1, FTH_INVALID, "the limit of an entry is 256 MiB"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer image = load("lz4.fatbin");
        store(image.data + rows[i].offset, rows[i].value, rows[i].bytes);
        check_refused(image.data, image.size, rows[i].status, rows[i].cause);
        fth_buffer_fini(&image);
    }
}

/* Unpacking must fail with this cause after a change of the file. */
static void check_damaged(const char *file, size_t offset, size_t bytes, uint64_t value,
                          enum fth_status status, const char *cause)
{
    struct fth_buffer image = load(file), text = {0};
    struct fth_error error = FTH_NO_ERROR;
    store(image.data + offset, value, bytes);
    struct fth_fatbin fatbin = open_image(&image);
    assert_int_equal(fth_fatbin_unpack(&fatbin, &fatbin.entries[0], &text, &error), status);
    if (!strstr(error.cause, cause))
        fail_msg("'%s' instead of '%s'", error.cause, cause);
    fth_buffer_fini(&text);
    fth_fatbin_fini(&fatbin);
    fth_buffer_fini(&image);
}

static void damaged_contents_are_refused(void **state)
{
    (void)state;
    check_damaged("lz4.fatbin", 72, 8, 600, FTH_INVALID, "offset 16: the contents of the entry");
    check_damaged("lz4.fatbin", 72, 8, 700, FTH_INVALID, "LZ4, are damaged");
    check_damaged("lz4.fatbin", 32, 4, 0, FTH_INVALID, "LZ4, are damaged");
    check_damaged("lz4.fatbin", 56, 8, 0x11, FTH_UNSUPPORTED, "compressed in an unknown way");
    check_damaged("zstd.fatbin", 72, 8, 600, FTH_INVALID, "are damaged: zstd: ");
    check_damaged("zstd.fatbin", 72, 8, 700, FTH_INVALID, "have 668 bytes instead of 700");
    check_damaged("zstd.fatbin", 100, 4, 0, FTH_INVALID, "are damaged: zstd: ");
}

static void counts_have_limits(void **state)
{
    (void)state;
    enum { LIMIT = 65536, ENTRY = 64, HEADER = 16 };
    static const unsigned char header[HEADER] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16};
    char entry[ENTRY] = {0};
    struct fth_buffer entries = {0}, containers = {0};
    store(entry + 4, ENTRY, 4);
    fth_buffer_append(&entries, header, HEADER);
    for (size_t i = 0; i <= LIMIT; i++) {
        fth_buffer_append(&entries, entry, ENTRY);
        fth_buffer_append(&containers, header, HEADER);
    }
    store(entries.data + 8, (uint64_t)(LIMIT + 1) * ENTRY, 8);
    check_refused(entries.data, entries.size, FTH_INVALID, "more than 65536 entries");
    check_refused(containers.data, containers.size, FTH_INVALID, "more than 65536 containers");
    store(entries.data + 8, (uint64_t)LIMIT * ENTRY, 8);
    entries.size -= ENTRY;
    containers.size -= HEADER;
    struct fth_fatbin fatbin = open_image(&entries);
    assert_int_equal(fatbin.count, LIMIT);
    assert_int_equal(fatbin.entries[0].kind, FTH_FATBIN_OTHER);
    fth_fatbin_fini(&fatbin);
    fatbin = open_image(&containers);
    assert_int_equal(fatbin.count, 0);
    assert_int_equal(fatbin.container_count, LIMIT);
    fth_fatbin_fini(&fatbin);
    fth_buffer_fini(&entries);
    fth_buffer_fini(&containers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvcc_packs_ptx_in_three_ways),
        cmocka_unit_test(translation_units_are_separate_containers),
        cmocka_unit_test(an_entry_can_have_a_name),
        cmocka_unit_test(ptx_is_chosen_by_architecture),
        cmocka_unit_test(machine_code_has_kernels),
        cmocka_unit_test(a_cubin_is_an_image_with_one_entry),
        cmocka_unit_test(a_container_in_memory_has_its_own_size),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(a_truncated_second_container_is_refused),
        cmocka_unit_test(damaged_headers_are_refused),
        cmocka_unit_test(damaged_contents_are_refused),
        cmocka_unit_test(counts_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
