/* Tables 5.4 to 5.9 of D. Größler: Capturing the Memory Topology of GPUs (Bachelor's thesis,
 * Technische Universität München, 2022), row by row, and what the same figures must be here.
 *
 * The left half of a row is what is printed there. The right half is the exact figure and how the
 * printed one is related to it: the thesis's tool reports where the times change, which is some
 * lines beside the end of a cache, and on caches since Volta it reports 6 to 8 KiB too little, as
 * its author says himself (Section 5.3.4). */
#ifndef FTH_TESTS_TABLES_H
#define FTH_TESTS_TABLES_H

#include <stdint.h>

/* What the printed size is to the exact one. */
enum size_relation {
    NOT_CACHED, /* a row of dashes: there must be no size, and the reason */
    BESIDE,     /* within `lines_off` lines of it, either way */
    SHORT,      /* 6 to 8 KiB less, rounded: 5.5 to 8.5 */
    TOO_LARGE,  /* "> 62.5 KiB": more than a constant bank; a size, or that it is at least 64 KiB */
    BETWEEN,    /* a range, in which it lies */
    TOLD,       /* from the driver in both cases, and equal */
    PART,       /* what CUDA lets a program have of it; exact is Table 5.3's specification */
};

/* What the printed line is: the thesis's tool finds how far apart misses are. */
enum line_relation {
    LINE,   /* the line */
    SECTOR, /* a sector of the line, `exact_line_bytes`: Volta fetches 32 of 128 bytes (NVIDIA;
               mt4g) */
    FILL    /* what L2 is filled with from memory at a time */
};

/* The three that may be one. */
enum { L1D = 1, TXT = 2, RO = 4 };

struct table_row {
    /* printed */
    const char *element;
    double size_kib, to_kib; /* the second of a range only; 0: none */
    unsigned line_bytes;     /* 0: - */
    double latency_cycles;   /* 0: - */
    unsigned shared_by;      /* 0: - */
    unsigned per_sm;         /* 0: - */
    /* exact */
    enum size_relation size;
    const char *attribute; /* the size that is meant */
    uint64_t exact_bytes;
    unsigned lines_off;
    enum line_relation line;
    unsigned exact_line_bytes; /* of SECTOR */
};

enum { TABLE_ROWS = 8 };

struct table {
    const char *name; /* of the GPU's description */
    const char *number;
    struct table_row rows[TABLE_ROWS];
};

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define SIZE "size_bytes"
/* Sizes since Volta are those beside the largest shared memory: the tool uses shared memory, and
 * its author ran it "on default settings". */
#define DEFAULT "default_size_bytes"
#define NOTHING NOT_CACHED, SIZE, 0, 0, LINE, 0

/* clang-format off */
static const struct table tables[] = {
    /* Kepler: a texture cache in four quarters, apart from L1. */
    {"k20c", "5.4", {
        {"l1",           16.137, 0, 128,  64, 0,        1, BESIDE, SIZE, 16 * KIB, 2, LINE, 0},
        {"texture",      12.012, 0,  32, 111, RO,       4, BESIDE, SIZE, 12 * KIB, 1, LINE, 0},
        {"readonly",     12.129, 0,  32, 130, TXT,      4, BESIDE, SIZE, 12 * KIB, 5, LINE, 0},
        {"constant_l1",   1.828, 0,  64,  50, 0,        4, BESIDE, SIZE,  2 * KIB, 3, LINE, 0},
        {"constant_l15", 32.813, 0, 256, 120, 0,        0, BESIDE, SIZE, 32 * KIB, 4, LINE, 0},
        {"shared",       48,     0,   0,  47, 0,        0, TOLD,   SIZE, 48 * KIB, 0, LINE, 0},
        {"l2",         1280,     0,  32, 223, 0,        0, TOLD, SIZE, 1280 * KIB, 0, FILL, 0},
        {"memory", 4.633 * MIB,  0,   0, 339, 0,        0, PART,   SIZE,  5 * GIB, 0, LINE, 0}}},
    /* Maxwell: global loads are not cached in L1; a texture cache in two halves. */
    {"gf840m", "5.5", {
        {"l1",            0,     0,   0,   0, 0,        0, NOTHING},
        {"texture",      12.129, 0,  32,  92, RO,       2, BESIDE, SIZE, 12 * KIB, 5, LINE, 0},
        {"readonly",     12.129, 0,  32,  92, TXT,      2, BESIDE, SIZE, 12 * KIB, 5, LINE, 0},
        {"constant_l1",   2.109, 0,  64,  33, 0,        1, BESIDE, SIZE,  2 * KIB, 2, LINE, 0},
        /* 32.8 KiB in another run of the same tool: 4 lines too much there, 6 too few here. */
        {"constant_l15", 30.469, 0, 256,  86, 0,        0, BESIDE, SIZE, 32 * KIB, 7, LINE, 0},
        {"shared",       64,     0,   0,  31, 0,        0, TOLD,   SIZE, 64 * KIB, 0, LINE, 0},
        {"l2",         1024,     0,  32, 173, 0,        0, TOLD, SIZE, 1024 * KIB, 0, FILL, 0},
        {"memory", 1.958 * MIB,  0,   0, 448, 0,        0, PART,   SIZE,  2 * GIB, 0, LINE, 0}}},
    /* Pascal: one cache for all three, in two halves. */
    {"p6000", "5.6", {
        {"l1",           24.012, 0,  32,  92, TXT | RO,  2, BESIDE, SIZE, 24 * KIB, 1, LINE, 0},
        {"texture",      24.012, 0,  32,  85, L1D | RO,  2, BESIDE, SIZE, 24 * KIB, 1, LINE, 0},
        {"readonly",     24.012, 0,  32,  94, L1D | TXT, 2, BESIDE, SIZE, 24 * KIB, 1, LINE, 0},
        {"constant_l1",   2.141, 0,  64,  33, 0,         1, BESIDE, SIZE,  2 * KIB, 3, LINE, 0},
        {"constant_l15", 31.25,  0, 256,  94, 0,         0, BESIDE, SIZE, 32 * KIB, 3, LINE, 0},
        {"shared",       96,     0,   0,  31, 0,         0, TOLD,   SIZE, 96 * KIB, 0, LINE, 0},
        {"l2",         3072,     0,  32, 243, 0,         0, TOLD, SIZE, 3072 * KIB, 0, FILL, 0},
        {"memory", 23.877 * MIB, 0,   0, 412, 0,         0, PART,   SIZE, 24 * GIB, 0, LINE, 0}}},
    /* Since Volta one cache for all three beside shared memory. */
    {"v100", "5.7", {
        {"l1",           25.629, 0,  32,  36, TXT | RO,  1, SHORT, DEFAULT, 32 * KIB, 0, SECTOR, 128},
        {"texture",      24.023, 0,  32,  80, L1D | RO,  1, SHORT, DEFAULT, 32 * KIB, 0, SECTOR, 128},
        {"readonly",     25.629, 0,  32,  36, L1D | TXT, 1, SHORT, DEFAULT, 32 * KIB, 0, SECTOR, 128},
        {"constant_l1",   2.078, 0,  64,  32, 0,         1, BESIDE, SIZE,  2 * KIB, 2, LINE, 0},
        {"constant_l15", 62.5,   0, 256, 105, 0,         0, TOO_LARGE, SIZE,     0, 0, LINE, 0},
        {"shared",       96,     0,   0,  27, 0,         0, TOLD,   SIZE, 96 * KIB, 0, LINE, 0},
        {"l2",         6144,     0,  64, 215, 0,         0, TOLD, SIZE, 6144 * KIB, 0, FILL, 0},
        {"memory", 31.748 * MIB, 0,   0, 430, 0,         0, PART,   SIZE, 32 * GIB, 0, LINE, 0}}},
    {"rtx2080ti", "5.8", {
        {"l1",           26.137, 0,  32,  40, TXT | RO,  1, SHORT, DEFAULT, 32 * KIB, 0, SECTOR, 128},
        {"texture",      25.012, 0,  32,  86, L1D | RO,  1, SHORT, DEFAULT, 32 * KIB, 0, SECTOR, 128},
        {"readonly",     26.137, 0,  32,  40, L1D | TXT, 1, SHORT, DEFAULT, 32 * KIB, 0, SECTOR, 128},
        {"constant_l1",   2.078, 0,  64,  32, 0,         1, BESIDE, SIZE,  2 * KIB, 2, LINE, 0},
        /* Differs from run to run there; 46 KiB on a T4 (Jia et al.), which code shares. */
        {"constant_l15", 38,    46, 256, 105, 0,         0, BETWEEN, SIZE, 46 * KIB, 0, LINE, 0},
        {"shared",       64,     0,   0,  30, 0,         0, TOLD,   SIZE, 64 * KIB, 0, LINE, 0},
        {"l2",         5632,     0,  64, 230, 0,         0, TOLD, SIZE, 5632 * KIB, 0, FILL, 0},
        {"memory",   11 * MIB,   0,   0, 425, 0,         0, PART,   SIZE, 11 * GIB, 0, LINE, 0}}},
    {"a100", "5.9", {
        {"l1",           22.254, 0,  32,  39, TXT | RO,  1, SHORT, DEFAULT, 28 * KIB, 0, SECTOR, 128},
        {"texture",      21.191, 0,  32,  89, L1D | RO,  1, SHORT, DEFAULT, 28 * KIB, 0, SECTOR, 128},
        {"readonly",     22.254, 0,  32,  38, L1D | TXT, 1, SHORT, DEFAULT, 28 * KIB, 0, SECTOR, 128},
        {"constant_l1",   2.141, 0,  64,  34, 0,         1, BESIDE, SIZE,  2 * KIB, 3, LINE, 0},
        {"constant_l15", 62.5,   0, 256, 114, 0,         0, TOO_LARGE, SIZE,     0, 0, LINE, 0},
        {"shared",      164,     0,   0,  28, 0,         0, TOLD,  SIZE, 164 * KIB, 0, LINE, 0},
        {"l2",        40960,     0,  64, 223, 0,         0, TOLD, SIZE, 40960 * KIB, 0, FILL, 0},
        /* Printed as "39.409 KiB". */
        {"memory", 39.409 * MIB, 0,   0, 567, 0,         0, PART,   SIZE, 40 * GIB, 0, LINE, 0}}},
};
/* clang-format on */

#endif
