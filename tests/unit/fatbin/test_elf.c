/* Tests of the readers below fat binaries, with data that the tests build: ELF files and LZ4
 * blocks. */
#include "check.h"
#include "fatbin/fatbin.h"

#include <stdlib.h>

static void store(uint8_t *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* ---- ELF ---- */

/* A cubin with four sections, whose headers follow the contents:
 *
 *     0 header | 64 names | 128 three symbols | 200 .bss has nothing | 200 four section headers */
enum { NAMES = 64, SYMBOLS = 128, SECTIONS = 200, SECTION = 64, SYMBOL = 24, SIZE = 456 };
enum { SECTION_0, SECTION_NAMES, SECTION_SYMBOLS, SECTION_BSS };

static void set_section(uint8_t *file, size_t index, size_t name, size_t type, size_t offset,
                        size_t size, size_t link)
{
    uint8_t *header = file + SECTIONS + index * SECTION;
    store(header, name, 4);
    store(header + 4, type, 4);
    store(header + 24, offset, 8);
    store(header + 32, size, 8);
    store(header + 40, link, 4);
}

static void set_symbol(uint8_t *file, size_t index, size_t name, uint8_t info, uint8_t other)
{
    uint8_t *symbol = file + SYMBOLS + index * SYMBOL;
    store(symbol, name, 4);
    symbol[4] = info;
    symbol[5] = other;
}

static void build(uint8_t file[SIZE])
{
    static const char names[] = "\0.names\0.symtab\0.bss\0first\0helper\0second";
    memset(file, 0, SIZE);
    memcpy(file, "\177ELF\2\1\1", 8); /* with the NUL after the version */
    store(file + 18, 190, 2);
    store(file + 40, SECTIONS, 8);
    store(file + 58, SECTION, 2);
    store(file + 60, 4, 2);
    store(file + 62, SECTION_NAMES, 2);
    memcpy(file + NAMES, names, sizeof names);
    set_section(file, SECTION_NAMES, 1, 3, NAMES, sizeof names, 0);
    set_section(file, SECTION_SYMBOLS, 8, 2, SYMBOLS, (size_t)3 * SYMBOL, SECTION_NAMES);
    set_section(file, SECTION_BSS, 16, 8, SYMBOLS, (size_t)1 << 40, 0);
    set_symbol(file, 0, 21, 0x12, 0x10); /* a global function with the mark of a kernel */
    set_symbol(file, 1, 27, 0x12, 0);
    set_symbol(file, 2, 34, 0x02, 0x10); /* a local one */
}

static void sections_are_found_by_name(void **state)
{
    (void)state;
    uint8_t file[SIZE];
    struct fth_elf elf;
    struct fth_elf_section section;
    build(file);
    assert_int_equal(fth_elf_open("file", file, SIZE, &elf, NULL), FTH_OK);
    assert_int_equal(elf.machine, FTH_ELF_CUDA);
    assert_int_equal(elf.section_count, 4);
    assert_int_equal(fth_elf_find(&elf, ".symtab", &section, NULL), FTH_OK);
    assert_ptr_equal(section.data, file + SYMBOLS);
    assert_int_equal(section.size, 3 * SYMBOL);
    assert_int_equal(fth_elf_find(&elf, ".bss", &section, NULL), FTH_OK);
    assert_null(section.data);
    assert_int_equal(fth_elf_find(&elf, ".sym", &section, NULL), FTH_NOT_FOUND);
    assert_int_equal(fth_elf_find(&elf, "symtab", &section, NULL), FTH_NOT_FOUND);
    store(file + 60, 0, 2); /* no sections */
    assert_int_equal(fth_elf_open("file", file, SIZE, &elf, NULL), FTH_OK);
    assert_int_equal(fth_elf_find(&elf, ".symtab", &section, NULL), FTH_NOT_FOUND);
}

static void kernels_are_marked_functions(void **state)
{
    (void)state;
    uint8_t file[SIZE];
    struct fth_elf elf;
    struct fth_buffer names = {0};
    build(file);
    assert_int_equal(fth_elf_open("file", file, SIZE, &elf, NULL), FTH_OK);
    assert_int_equal(fth_elf_kernels(&elf, &names, NULL), FTH_OK);
    assert_int_equal(names.size, sizeof "first\0second");
    assert_memory_equal(names.data, "first\0second", sizeof "first\0second");
    fth_buffer_fini(&names);
}

/* Each row changes one number of the file. All three readers run; one of them must fail. */
static void damaged_elf_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t offset, bytes;
        uint64_t value;
        enum fth_status status;
        const char *cause;
    } rows[] = {
        {0, 1, 'E', FTH_INVALID, "this is not an ELF file"},
        {4, 1, 1, FTH_UNSUPPORTED, "not for a little-endian machine with 64 bits"},
        {5, 1, 2, FTH_UNSUPPORTED, "not for a little-endian machine with 64 bits"},
        {40, 8, SIZE + 1, FTH_INVALID, "the list of sections of 256 bytes at offset 457 exceeds"},
        {40, 8, UINT64_MAX, FTH_INVALID, "the list of sections"},
        {58, 2, 65, FTH_INVALID, "a section header of 65 bytes; expected 64"},
        {60, 2, 5, FTH_INVALID, "the list of sections of 320 bytes at offset 200 exceeds the 456"},
        {62, 2, 4, FTH_INVALID, "in section 4, but there are only 4"},
        {SECTIONS + SECTION + 24, 8, UINT64_MAX, FTH_INVALID, "a section of 41 bytes"},
        {SECTIONS + SECTION + 32, 8, SIZE, FTH_INVALID, "a section of 456 bytes at offset 64"},
        {SECTIONS + 2 * SECTION + 32, 8, SIZE, FTH_INVALID, "a section of 456 bytes at offset 128"},
        {SECTIONS + 2 * SECTION + 40, 4, 4, FTH_INVALID, "in section 4, but there are only 4"},
        {SYMBOLS, 4, 41, FTH_INVALID, "the name of a kernel is outside of the names"},
        {SYMBOLS, 4, UINT32_MAX, FTH_INVALID, "the name of a kernel is outside of the names"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint8_t file[SIZE];
        struct fth_elf elf;
        struct fth_elf_section section;
        struct fth_buffer names = {0};
        struct fth_error error = FTH_NO_ERROR;
        build(file);
        store(file + rows[i].offset, rows[i].value, rows[i].bytes);
        enum fth_status status = fth_elf_open("file", file, SIZE, &elf, &error);
        if (status == FTH_OK)
            status = fth_elf_find(&elf, ".symtab", &section, &error);
        if (status == FTH_OK)
            status = fth_elf_kernels(&elf, &names, &error);
        fth_buffer_fini(&names);
        assert_int_equal(status, rows[i].status);
        if (!strstr(error.cause, rows[i].cause))
            fail_msg("row %zu: '%s' instead of '%s'", i, error.cause, rows[i].cause);
    }
}

/* Symbols can share one long name; all names together have a limit. */
static void names_of_kernels_have_a_limit(void **state)
{
    (void)state;
    enum { NAME_BYTES = 65536, COUNT = 300, TABLE = SIZE + NAME_BYTES };
    static uint8_t file[TABLE + COUNT * SYMBOL];
    struct fth_elf elf;
    struct fth_buffer names = {0};
    struct fth_error error = FTH_NO_ERROR;
    build(file);
    memset(file + SIZE, 'k', NAME_BYTES - 1);
    file[TABLE - 1] = 0;
    set_section(file, SECTION_BSS, 0, 3, SIZE, NAME_BYTES, 0);
    set_section(file, SECTION_SYMBOLS, 8, 2, TABLE, (size_t)COUNT * SYMBOL, SECTION_BSS);
    for (size_t i = 0; i < COUNT; i++) {
        file[TABLE + i * SYMBOL + 4] = 0x12;
        file[TABLE + i * SYMBOL + 5] = 0x10;
    }
    assert_int_equal(fth_elf_open("file", file, sizeof file, &elf, NULL), FTH_OK);
    assert_int_equal(fth_elf_kernels(&elf, &names, &error), FTH_INVALID);
    assert_non_null(strstr(error.cause, "exceed 16 MiB"));
    fth_buffer_fini(&names);
    file[TABLE - 1] = 'k'; /* the name does not end */
    error = FTH_NO_ERROR;
    assert_int_equal(fth_elf_kernels(&elf, &names, &error), FTH_INVALID);
    assert_non_null(strstr(error.cause, "longer than 65536 bytes"));
    fth_buffer_fini(&names);
}

static void an_elf_file_without_cuda_code_is_refused(void **state)
{
    (void)state;
    uint8_t file[SIZE];
    struct fth_fatbin fatbin;
    struct fth_error error = FTH_NO_ERROR;
    build(file);
    store(file + 18, 62, 2);
    assert_int_equal(fth_fatbin_open("file", file, SIZE, &fatbin, &error), FTH_INVALID);
    assert_non_null(strstr(error.cause, "no section .nv_fatbin"));
    memcpy(file + NAMES + 16, ".nv_fatbin", 11); /* the name of the section without contents */
    assert_int_equal(fth_fatbin_open("file", file, SIZE, &fatbin, &error), FTH_OK);
    assert_int_equal(fatbin.count, 0);
    fth_fatbin_fini(&fatbin);
}

/* ---- LZ4 ---- */

#define BLOCK(bytes) (bytes), sizeof(bytes) - 1

static const struct {
    const char *block;
    size_t size;
    const char *text; /* NULL: the block is refused */
    size_t text_size; /* of a refused block: the size to try */
} blocks[] = {
    {BLOCK("\x30"
           "abc"),
     "abc", 3},
    {BLOCK("\x00"), "", 0},
    /* Literals and a match that overlaps itself: distance 1, 4 + 1 bytes. */
    {BLOCK("\x11"
           "a\x01\0\x10"
           "b"),
     "aaaaaab", 7},
    {BLOCK("\x20"
           "xy\x02\0\x10"
           "z"),
     "xyxyxyz", 7},
    /* Lengths with more bytes: 15 + 1 literals, a match of 15 + 255 + 0 + 4 is too long. */
    {BLOCK("\xf0\x01"
           "0123456789abcdef"),
     "0123456789abcdef", 16},
    {BLOCK("\x1f"
           "a\x01\0\xff\0\0"),
     NULL, 100},
    {BLOCK("\x1f"
           "a\x01\0\x01\x10"
           "b"),
     "aaaaaaaaaaaaaaaaaaaaab", 22},
    {BLOCK(""), NULL, 0},
    {BLOCK("\x40"
           "abc"),
     NULL, 4}, /* too few literals */
    {BLOCK("\x30"
           "abc"),
     NULL, 4}, /* too little output */
    {BLOCK("\x30"
           "abc"),
     NULL, 2}, /* too much output */
    {BLOCK("\x11"
           "a\x01\0\x10"
           "b"),
     NULL, 5}, /* a match beyond the output */
    {BLOCK("\x11"
           "a\x02\0\x10"
           "b"),
     NULL, 7}, /* distance before the beginning */
    {BLOCK("\x11"
           "a\0\0\x10"
           "b"),
     NULL, 7}, /* distance 0 */
    {BLOCK("\x11"
           "a\x01"),
     NULL, 6}, /* half a distance */
    {BLOCK("\x11"
           "a\x01\0"),
     NULL, 6},                 /* no last sequence */
    {BLOCK("\xf0"), NULL, 15}, /* no further byte of a length */
    {BLOCK("\xf0\xff\xff"), NULL, 15},
};

static void lz4_blocks_are_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(blocks); i++) {
        uint8_t *out = calloc(1, blocks[i].text_size + 16), *block = malloc(blocks[i].size + 1);
        memcpy(block, blocks[i].block, blocks[i].size);
        const bool decoded = fth_lz4_decode(block, blocks[i].size, out, blocks[i].text_size);
        if (decoded != (blocks[i].text != NULL))
            fail_msg("row %zu: decoded %d", i, decoded);
        assert_int_equal(out[blocks[i].text_size], 0); /* nothing behind the output */
        if (decoded)
            assert_memory_equal(out, blocks[i].text, blocks[i].text_size);
        free(block);
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_are_found_by_name),
        cmocka_unit_test(kernels_are_marked_functions),
        cmocka_unit_test(damaged_elf_files_are_refused),
        cmocka_unit_test(names_of_kernels_have_a_limit),
        cmocka_unit_test(an_elf_file_without_cuda_code_is_refused),
        cmocka_unit_test(lz4_blocks_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
