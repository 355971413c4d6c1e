/* The parameters of the model: those of Table 2 of the paper, and those that newer GPUs need. Each
 * has a name, a default value, and usually an attribute of GPU descriptions that replaces the
 * default.
 *
 * The paper gives these defaults: L1s with one bank, two ports, 32 MSHRs and eight merges per MSHR,
 * and four sets of 32 MSHRs for the L2 (Section 4.4.2); the latency model A2, in which a miss
 * takes 2 + 0.25 x (busy MSHRs) steps (Section 5.1). The other defaults are assumptions, which a
 * GPU description replaces as far as it has the attributes. */
#include "model/model.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* COUNT: whole number; BYTES: size such as 32K; WORD: one of the words in `unit`; TEXT: text that
 * is checked where it is used (set_key() checks only index functions); REAL: number, or empty for
 * unknown. */
enum kind { COUNT, BYTES, WORD, TEXT, REAL };

/* The largest number up to which a double holds every integer: 2^53. */
#define MAX_INTEGER 9007199254740992.0

struct parameter_row {
    const char *name;
    const char *unit; /* numbers: the unit, or ""; WORD: the words; TEXT: the forms of the value */
    const char *what; /* the meaning, as --parameters shows it */
    enum kind kind;
    double min, max; /* allowed range of numbers */
    /* Attribute of the description: "element.attribute" or, for a parameter of a level, the
     * attribute of the element "l1" or "l2". NULL: none. */
    const char *from;
    const char *default_value[FTH_MODEL_LEVELS]; /* per level; [0] for the other parameters */
    const char *l1_what;                         /* for the L1 instead of `what`; NULL: the same */
};

#define WORDS_POLICY "lru, fifo, lfu, plru, random, clock"
#define WORDS_BYPASS "off, won, rwon"
#define WORDS_MERGED "hit, miss"

static const struct parameter_row level_rows[FTH_LEVEL_KEYS] = {
    [FTH_KEY_SIZE] =
        {"size_bytes",
         "bytes",
         "capacity of the whole L2, all sides together",
         BYTES,
         4,
         1ull << 40,
         "size_bytes",
         {"128K", "4M"},
         "capacity; unless it is set, the carve-out of each launch determines it if the "
         "description lists carve-outs"},
    [FTH_KEY_SETS] = {"sets",
                      "",
                      "sets per bank; 0: derived from the capacity and the ways",
                      COUNT,
                      0,
                      1 << 26,
                      "sets",
                      {"4", "0"},
                      NULL},
    [FTH_KEY_WAYS] = {"ways",
                      "",
                      "associativity; 0: derived from the capacity and the sets",
                      COUNT,
                      0,
                      1 << 26,
                      "ways",
                      {"0", "16"},
                      NULL},
    [FTH_KEY_LINE] = {"line_bytes",
                      "bytes",
                      "line size (block size)",
                      BYTES,
                      4,
                      4096,
                      "line_bytes",
                      {"128", "128"},
                      NULL},
    [FTH_KEY_SECTOR] =
        {"sector_bytes",
         "bytes",
         "sector size: sectors of a line are fetched and marked valid separately; 0: one "
         "sector per line",
         BYTES,
         0,
         4096,
         "sector_bytes",
         {"32", "32"},
         NULL},
    [FTH_KEY_FILL] = {"fill_bytes",
                      "bytes",
                      "minimum number of bytes that a miss fetches; 0: a sector",
                      BYTES,
                      0,
                      4096,
                      "fill_bytes",
                      {"0", "64"},
                      NULL},
    [FTH_KEY_PARTITIONS] = {"partitions",
                            "",
                            "partitions per side of the L2, over which addresses are interleaved",
                            COUNT,
                            1,
                            1024,
                            NULL, /* the attribute l2.partitions becomes FTH_KEY_SIDES */
                            {"1", "1"},
                            "partitions, over which addresses are interleaved"},
    [FTH_KEY_PARTITION_BYTES] = {"partition_bytes",
                                 "bytes",
                                 "contiguous bytes per partition (interleaving); 0: a line",
                                 BYTES,
                                 0,
                                 1 << 30,
                                 NULL,
                                 {"0", "0"},
                                 NULL},
    [FTH_KEY_BANKS] = {"banks", "", "banks per partition", COUNT, 1, 1024, NULL, {"1", "1"}, NULL},
    [FTH_KEY_BANK_BYTES] =
        {"bank_bytes",
         "bytes",
         "contiguous bytes per bank within a partition (interleaving); 0: a line",
         BYTES,
         0,
         1 << 30,
         NULL,
         {"0", "0"},
         NULL},
    [FTH_KEY_PORTS] = {"ports",
                       "",
                       "requests (one line each) that a bank accepts per step",
                       COUNT,
                       1,
                       1024,
                       NULL,
                       {"2", "2"},
                       NULL},
    [FTH_KEY_INDEX] =
        {"index",
         "mod, shift:N, prime, xor, bits:[...]",
         "index function, which computes the set of a line: mod, shift:N (SMODn in the paper), "
         "prime (PRI), xor or bits:[...]",
         TEXT,
         0,
         0,
         "index",
         {"xor", "prime"},
         NULL},
    [FTH_KEY_POLICY] =
        {"policy", WORDS_POLICY, "replacement policy", WORD, 0, 0, "policy", {"lru", "lru"}, NULL},
    [FTH_KEY_BYPASS] = {"bypass",
                        WORDS_BYPASS,
                        "off: reads and writes are cached; won: writes bypass the cache and evict "
                        "the line they hit; rwon: reads and writes bypass it",
                        WORD,
                        0,
                        0,
                        NULL,
                        {"off", "off"},
                        NULL},
    [FTH_KEY_MERGED] =
        {"merged",
         WORDS_MERGED,
         "whether an access to sectors that are all in flight counts as a hit or as a miss",
         WORD,
         0,
         0,
         NULL,
         {"hit", "hit"},
         NULL},
    [FTH_KEY_MSHR_SETS] = {"mshr_sets",
                           "",
                           "sets of MSHRs (miss status holding registers)",
                           COUNT,
                           1,
                           4096,
                           NULL,
                           {"1", "4"},
                           NULL},
    [FTH_KEY_MSHR_SIZE] = {"mshr_size",
                           "",
                           "MSHRs per set; 0: no limit",
                           COUNT,
                           0,
                           1 << 20,
                           NULL,
                           {"32", "32"},
                           NULL},
    [FTH_KEY_MSHR_MERGES] = {"mshr_merges",
                             "",
                             "maximum number of requests that merge with one MSHR; 0: no limit",
                             COUNT,
                             0,
                             1 << 20,
                             NULL,
                             {"8", "8"},
                             NULL},
    [FTH_KEY_LATENCY] =
        {"latency",
         "STEPS, a1..a4, K1,K2",
         "steps of a miss: fixed, or K1 + K2 x busy MSHRs; a1..a4: K1 = 1, 2, 4, "
         "8 and K2 = K1 / 8",
         TEXT,
         0,
         0,
         NULL,
         {"a2", "a2"},
         "steps of a miss: fixed, or K1 + K2 x busy MSHRs x active SMs / (sides x "
         "partitions x banks x ports of the L2); a1..a4: K1 = 1, 2, 4, 8 and K2 = K1 / 8"},
    [FTH_KEY_LATENCY_CYCLES] = {"latency_cycles",
                                "cycles",
                                "latency of a hit, for times and the average access time",
                                REAL,
                                0,
                                1e9,
                                "latency_cycles",
                                {"", ""},
                                NULL},
    [FTH_KEY_BYTES_PER_S] = {"bytes_per_s",
                             "bytes/s",
                             "bandwidth of reads, for times and the time floor",
                             REAL,
                             0,
                             1e18,
                             "read_bytes_per_s",
                             {"", ""},
                             "bandwidth of reads of all L1s together, for the time floor"},
};

static const struct parameter_row global_rows[FTH_MODEL_KEYS - FTH_KEY_SMS] = {
    [0] = {"gpu.sms",
           "",
           "number of SMs, streaming multiprocessors (P in the paper)",
           COUNT,
           1,
           65536,
           "device.sms",
           {"16"},
           NULL},
    [FTH_KEY_SCHEDULERS - FTH_KEY_SMS] = {"gpu.schedulers",
                                          "",
                                          "warp schedulers per SM",
                                          COUNT,
                                          1,
                                          64,
                                          "device.schedulers_per_sm",
                                          {"4"},
                                          NULL},
    [FTH_KEY_MAX_WARPS -
        FTH_KEY_SMS] = {"gpu.max_warps",
                        "",
                        "maximum number of resident warps per SM (MAXCW in the paper)",
                        COUNT,
                        1,
                        65536,
                        "device.max_threads_per_sm", /* divided by 32 */
                        {"64"},
                        NULL},
    [FTH_KEY_MAX_BLOCKS -
        FTH_KEY_SMS] = {"gpu.max_blocks",
                        "",
                        "maximum number of resident blocks per SM (MAXCB in the paper)",
                        COUNT,
                        1,
                        65536,
                        "device.max_blocks_per_sm",
                        {"32"},
                        NULL},
    [FTH_KEY_MAPPING - FTH_KEY_SMS] = {"gpu.mapping",
                                       "description, rr, bpart1, bpart2, rand, shuffle, LIST, "
                                       "@FILE",
                                       "assignment of blocks to SMs: in the order of the "
                                       "description (description); round robin with 1, 4 or 8 "
                                       "consecutive blocks per SM (rr, bpart1, bpart2); "
                                       "random (rand); random with the same number per SM "
                                       "(shuffle); or by a list of SMs that is repeated",
                                       TEXT,
                                       0,
                                       0,
                                       "device.block_order",
                                       {"rr"},
                                       NULL},
    [FTH_KEY_SEED - FTH_KEY_SMS] =
        {"gpu.seed", "", "seed of all random choices", COUNT, 0, MAX_INTEGER, NULL, {"1"}, NULL},
    [FTH_KEY_REGISTERS - FTH_KEY_SMS] = {"gpu.registers",
                                         "",
                                         "32-bit registers per SM",
                                         COUNT,
                                         0,
                                         1 << 30,
                                         "device.max_registers_per_block", /* assumed equal */
                                         {"65536"},
                                         NULL},
    [FTH_KEY_SHARED - FTH_KEY_SMS] = {"gpu.shared_bytes",
                                      "bytes",
                                      "shared memory per SM; 0: no limit",
                                      BYTES,
                                      0,
                                      1 << 30,
                                      "shared.size_bytes",
                                      {"0"},
                                      NULL},
    [FTH_KEY_RESERVED - FTH_KEY_SMS] = {"gpu.reserved_bytes",
                                        "bytes",
                                        "shared memory that the driver reserves per block",
                                        BYTES,
                                        0,
                                        1 << 30,
                                        "shared.reserved_block_bytes",
                                        {"0"},
                                        NULL},
    [FTH_KEY_KERNEL_REGISTERS - FTH_KEY_SMS] = {"kernel.registers",
                                                "",
                                                "registers per thread; 0: unknown, no limit",
                                                COUNT,
                                                0,
                                                1024,
                                                NULL,
                                                {"0"},
                                                NULL},
    [FTH_KEY_KERNEL_SHARED -
        FTH_KEY_SMS] = {"kernel.shared_bytes",
                        "bytes",
                        "shared memory per block, for traces that do not record it",
                        BYTES,
                        0,
                        1 << 30,
                        NULL,
                        {"0"},
                        NULL},
    /* A description calls the sides of the L2 its partitions. The parameter l2.partitions
     * (FTH_KEY_PARTITIONS) is another one: that of the paper. */
    [FTH_KEY_SIDES - FTH_KEY_SMS] = {"l2.sides",
                                     "",
                                     "sides of the L2 (near and far partitions); each also holds "
                                     "copies of lines of other sides "
                                     "that SMs near it have read",
                                     COUNT,
                                     1,
                                     FTH_MODEL_MAX_SIDES,
                                     "l2.partitions",
                                     {"1"},
                                     NULL},
    /* The default is 0xB3000 (733184), which was published for an H100 (ademeure/cuda-side-boost).
     * An H200 has 0xAB000 (docs/results/h200.md). */
    [FTH_KEY_HOME_MASK - FTH_KEY_SMS] =
        {"l2.home_mask",
         "",
         "address bits that select the home side of a line: the side is the number of these bits "
         "that are 1, modulo the number of sides",
         COUNT,
         0,
         MAX_INTEGER,
         "l2.home_mask",
         {"733184"},
         NULL},
    [FTH_KEY_SIDE_OF_SM - FTH_KEY_SMS] = {"l2.side_of_sm",
                                          "description, alternate, LIST, @FILE",
                                          "side that each SM is near; description: the partition "
                                          "of the description; alternate: SM i "
                                          "is near side i modulo the number of sides",
                                          TEXT,
                                          0,
                                          0,
                                          "l2.partition_by_sm",
                                          {"alternate"},
                                          NULL},
    [FTH_KEY_JOINS -
        FTH_KEY_SMS] = {"l2.joins",
                        "description, none, LIST, @FILE",
                        "group of each SM (description: as measured, else its GPC); if SMs of a "
                        "group read the same sectors of a "
                        "line at about the same time, the L2 gets one request",
                        TEXT,
                        0,
                        0,
                        "l2.join_group_by_sm",
                        {"none"},
                        NULL},
    [FTH_KEY_JOIN_ROUNDS - FTH_KEY_SMS] =
        {"l2.join_rounds",
         "",
         "without times: time within which reads join (l2.joins), in rounds; in a round, the "
         "schedulers of each "
         "active SM issue once on average; 12 if the description has the groups or GPCs of the SMs",
         COUNT,
         1,
         1 << 20,
         NULL,
         {"1"},
         NULL},
    [FTH_KEY_COLD - FTH_KEY_SMS] = {"l2.cold",
                                    "0, 1",
                                    "1: the L2 is empty at the start of each launch, as under a "
                                    "profiler; 0: it keeps its lines",
                                    COUNT,
                                    0,
                                    1,
                                    NULL,
                                    {"1"},
                                    NULL},
    [FTH_KEY_FAR_CYCLES - FTH_KEY_SMS] = {"l2.far_latency_cycles",
                                          "cycles",
                                          "latency of a hit in the far side of the L2",
                                          REAL,
                                          0,
                                          1e9,
                                          "l2.far_latency_cycles",
                                          {""},
                                          NULL},
    [FTH_KEY_MEMORY_CYCLES - FTH_KEY_SMS] = {"memory.latency_cycles",
                                             "cycles",
                                             "latency of an access that misses in all caches",
                                             REAL,
                                             0,
                                             1e9,
                                             "memory.latency_cycles",
                                             {""},
                                             NULL},
    [FTH_KEY_MEMORY_BYTES_PER_S -
        FTH_KEY_SMS] = {"memory.bytes_per_s",
                        "bytes/s",
                        "bandwidth of memory, for times and the time floor: its peak or, if "
                        "unknown, that of reads",
                        REAL,
                        0,
                        1e18,
                        "memory.peak_bytes_per_s",
                        {""},
                        NULL},
    [FTH_KEY_TIMING - FTH_KEY_SMS] =
        {"gpu.timing",
         "auto, on, off",
         "whether accesses have times; auto: if the description has the latencies and bandwidths "
         "that this needs, and no parameter is set that only the model without time has",
         WORD,
         0,
         0,
         NULL,
         {"auto"},
         NULL},
    [FTH_KEY_CLOCK_HZ - FTH_KEY_SMS] = {"gpu.clock_hz",
                                        "Hz",
                                        "clock of the SMs, for times",
                                        REAL,
                                        0,
                                        1e12,
                                        "device.clock_mhz",
                                        {""},
                                        NULL},
    [FTH_KEY_ISSUE_CYCLES - FTH_KEY_SMS] = {"time.issue_cycles",
                                            "cycles",
                                            "time between two instructions of a warp",
                                            REAL,
                                            0,
                                            1e6,
                                            NULL,
                                            {"2"},
                                            NULL},
    [FTH_KEY_PORT_CYCLES -
        FTH_KEY_SMS] = {"time.port_cycles",
                        "cycles",
                        "time that the port of an SM to the L2 is busy with a request",
                        REAL,
                        0,
                        1e6,
                        NULL,
                        {"1.1"},
                        NULL},
    [FTH_KEY_JOIN_CYCLES -
        FTH_KEY_SMS] = {"time.join_cycles",
                        "cycles",
                        "time from an SM to the unit that joins reads (l2.joins)",
                        REAL,
                        0,
                        1e6,
                        NULL,
                        {"125"},
                        NULL},
    [FTH_KEY_JOIN_READS -
        FTH_KEY_SMS] = {"time.join_reads",
                        "",
                        "maximum number of reads that are joined to one request of the L2",
                        COUNT,
                        1,
                        1000000,
                        NULL,
                        {"4"},
                        NULL},
    [FTH_KEY_MERGE_CYCLES -
        FTH_KEY_SMS] = {"time.merge_cycles",
                        "cycles",
                        "maximum time in which reads of several warps that miss in one line of an "
                        "L1 become one request of the L2",
                        REAL,
                        0,
                        1e6,
                        NULL,
                        {"34"},
                        NULL},
    [FTH_KEY_STORE_MERGE_CYCLES -
        FTH_KEY_SMS] = {"time.store_merge_cycles",
                        "cycles",
                        "time in which stores of an SM to the same sectors reach the L2 once",
                        REAL,
                        0,
                        1e6,
                        "l1.store_merge_cycles",
                        {"12"},
                        NULL},
    [FTH_KEY_BLOCK_CYCLES -
        FTH_KEY_SMS] = {"time.block_cycles",
                        "cycles",
                        "time between the starts of two blocks of the first wave on one SM",
                        REAL,
                        0,
                        1e6,
                        NULL,
                        {"7"},
                        NULL},
    [FTH_KEY_START_CYCLES - FTH_KEY_SMS] = {"time.start_cycles",
                                            "cycles",
                                            "time within which all SMs start their first blocks",
                                            REAL,
                                            0,
                                            1e6,
                                            NULL,
                                            {"300"},
                                            NULL},
    [FTH_KEY_LAUNCH_SECTORS - FTH_KEY_SMS] =
        {"time.launch_sectors",
         "sectors",
         "what every launch reads from memory in addition: code, constants and parameters",
         COUNT,
         0,
         1 << 30,
         NULL,
         {"80"},
         NULL},
    [FTH_KEY_PARTIAL_WAYS -
        FTH_KEY_SMS] = {"l2.partial_ways",
                        "",
                        "maximum number of lines of a set that are written in part; further ones "
                        "are completed from memory; 0: no limit",
                        COUNT,
                        0,
                        1 << 26,
                        NULL,
                        {"2"},
                        NULL},
    [FTH_KEY_WARP_CYCLES - FTH_KEY_SMS] = {"time.warp_cycles",
                                           "cycles",
                                           "time between the starts of two warps of a block",
                                           REAL,
                                           0,
                                           1e6,
                                           NULL,
                                           {"8"},
                                           NULL},
    [FTH_KEY_REFILL_CYCLES - FTH_KEY_SMS] =
        {"time.refill_cycles",
         "cycles",
         "time from the end of a block until the SM can start another one in its place",
         REAL,
         0,
         1e6,
         NULL,
         {"260"},
         NULL},
    [FTH_KEY_REFILL_PERIOD -
        FTH_KEY_SMS] = {"time.refill_period_cycles",
                        "cycles",
                        "a GPC starts new blocks once per period; 0: at any time",
                        REAL,
                        0,
                        1e6,
                        NULL,
                        {"150"},
                        NULL},
    [FTH_KEY_MEMORY_PERCENT - FTH_KEY_SMS] = {"time.memory_percent",
                                              "%",
                                              "part of the bandwidth of memory that kernels reach",
                                              REAL,
                                              1,
                                              100,
                                              NULL,
                                              {"90"},
                                              NULL},
    [FTH_KEY_LAUNCH_NS - FTH_KEY_SMS] = {"time.launch_ns",
                                         "ns",
                                         "time that every launch takes in addition",
                                         REAL,
                                         0,
                                         1e9,
                                         NULL,
                                         {"2000"},
                                         NULL},
};

static const struct parameter_row *row_at(size_t key)
{
    return key < FTH_KEY_SMS ? &level_rows[key % FTH_LEVEL_KEYS] : &global_rows[key - FTH_KEY_SMS];
}

static const char *default_of(size_t key)
{
    return row_at(key)->default_value[key < FTH_KEY_SMS ? key / FTH_LEVEL_KEYS : 0];
}

static void name_of(size_t key, char name[40])
{
    if (key < FTH_KEY_SMS)
        snprintf(name, 40, "%s.%s", key < FTH_LEVEL_KEYS ? "l1" : "l2", row_at(key)->name);
    else
        snprintf(name, 40, "%s", row_at(key)->name);
}

bool fth_model_parameter(size_t index, struct fth_model_parameter *parameter)
{
    if (index >= FTH_MODEL_KEYS)
        return false;
    const struct parameter_row *row = row_at(index);
    *parameter = (struct fth_model_parameter){
        .unit = row->unit,
        .what = index < FTH_LEVEL_KEYS && row->l1_what ? row->l1_what : row->what,
        .default_value = default_of(index),
        .from = row->from};
    name_of(index, parameter->name);
    return true;
}

/* ---- values ---- */

void fth_model_put_text(struct fth_model_params *params, size_t key, const char *text,
                        enum fth_model_source source)
{
    struct fth_model_value *value = &params->values[key];
    value->source = source;
    snprintf(value->text, sizeof value->text, "%s", text);
}

void fth_model_put(struct fth_model_params *params, size_t key, double number,
                   enum fth_model_source source)
{
    char text[40];
    fth_model_put_text(params, key,
                       isnan(number) ? "" : fth_number_format(number, text, sizeof text), source);
    params->values[key].number = number;
}

uint64_t fth_model_integer(const struct fth_model_params *params, size_t key)
{
    return (uint64_t)params->values[key].number;
}

/* Returns whether a text is one of the words in a list such as "lru, fifo, lfu". */
static bool is_one_of(const char *words, const char *text)
{
    size_t size = strlen(text);
    if (size == 0)
        return false; /* strstr finds it everywhere, even at the end of the list */
    for (const char *at = words; (at = strstr(at, text)) != NULL; at++)
        if ((at == words || at[-1] == ' ') && (at[size] == ',' || at[size] == '\0'))
            return true;
    return false;
}

static enum fth_status refuse(const char *name, const char *cause, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, "set parameter", name, "%s", cause);
}

static bool parse_number(const struct parameter_row *row, const char *text, double *number)
{
    uint64_t bytes;
    char *end;
    errno = 0;
    if (row->kind == BYTES && fth_size_parse(text, &bytes, NULL) == FTH_OK) {
        *number = (double)bytes;
        return true;
    }
    *number = row->kind == REAL ? fth_strtod(text, &end) : (double)strtoull(text, &end, 0);
    return row->kind != BYTES && end != text && !*end && !errno && *text != '-' &&
           isfinite(*number);
}

/* Sets one parameter from text, after checking it. A REAL that is empty becomes NAN: unknown. */
static enum fth_status set_key(struct fth_model_params *params, size_t key, const char *text,
                               enum fth_model_source source, struct fth_error *error)
{
    const struct parameter_row *row = row_at(key);
    char name[40], cause[200];
    name_of(key, name);
    if (strlen(text) >= sizeof params->values[key].text)
        return refuse(name,
                      "the value is too long; if it is a list, write it to a file and use @FILE",
                      error);
    if (row->kind == WORD || row->kind == TEXT) {
        unsigned bits[64];
        snprintf(cause, sizeof cause, "'%.60s' is not one of: %s", text, row->unit);
        if ((row->kind == WORD && !is_one_of(row->unit, text)) ||
            (key % FTH_LEVEL_KEYS == FTH_KEY_INDEX && key < FTH_KEY_SMS &&
             fth_index_parse(text, bits) < 0))
            return refuse(name, cause, error);
        fth_model_put_text(params, key, text, source);
        return FTH_OK;
    }
    double number;
    if (!*text && row->kind == REAL) {
        fth_model_put(params, key, (double)NAN, source);
        return FTH_OK;
    }
    if (!parse_number(row, text, &number)) {
        snprintf(cause, sizeof cause, "'%.60s' is not a %s", text,
                 row->kind == BYTES ? "size, such as 32K"
                                    : "valid number (only a number of cycles may have a fraction)");
        return refuse(name, cause, error);
    }
    if (number < row->min || number > row->max) {
        snprintf(cause, sizeof cause, "%.60s is not between %.0f and %.0f", text, row->min,
                 row->max);
        return refuse(name, cause, error);
    }
    fth_model_put(params, key, number, source);
    return FTH_OK;
}

/* Checks that the numbers of the description are in the range of their parameters. */
static enum fth_status check_description(const struct fth_model_params *params,
                                         struct fth_error *error)
{
    for (size_t key = 0; key < FTH_MODEL_KEYS; key++) {
        const struct parameter_row *row = row_at(key);
        const struct fth_model_value *value = &params->values[key];
        char name[40];
        if (value->source != FTH_MODEL_DESCRIPTION || row->kind == WORD || row->kind == TEXT ||
            !(value->number < row->min || value->number > row->max))
            continue;
        name_of(key, name);
        return fth_fail(
            error, FTH_INVALID, "model caches of", params->gpu,
            "its description gives %s the value %s, but the model is limited to %.0f to "
            "%.0f; correct the description",
            name, value->text, row->min, row->max);
    }
    return FTH_OK;
}

enum fth_status fth_model_params_create(const struct fth_gpu *gpu, struct fth_model_params **params,
                                        struct fth_error *error)
{
    *params = calloc(1, sizeof **params);
    if (!*params)
        return fth_no_memory(error, "set parameters", NULL);
    enum fth_status status = FTH_OK;
    for (size_t key = 0; key < FTH_MODEL_KEYS && status == FTH_OK; key++)
        status = set_key(*params, key, default_of(key), FTH_MODEL_DEFAULT, error);
    if (status == FTH_OK && gpu) {
        fth_model_describe(*params, gpu);
        status = check_description(*params, error);
    }
    if (status != FTH_OK) {
        fth_model_params_destroy(*params);
        *params = NULL;
    }
    return status;
}

enum fth_status fth_model_params_copy(const struct fth_model_params *params,
                                      struct fth_model_params **copy, struct fth_error *error)
{
    *copy = malloc(sizeof **copy);
    if (!*copy)
        return fth_no_memory(error, "set parameters", NULL);
    **copy = *params;
    return FTH_OK;
}

void fth_model_params_destroy(struct fth_model_params *params)
{
    free(params);
}

enum fth_status fth_model_set(struct fth_model_params *params, const char *name, const char *value,
                              struct fth_error *error)
{
    char names[FTH_MODEL_KEYS][40];
    const char *list[FTH_MODEL_KEYS];
    for (size_t key = 0; key < FTH_MODEL_KEYS; key++) {
        name_of(key, names[key]);
        list[key] = names[key];
        if (strcmp(names[key], name) != 0)
            continue;
        enum fth_status status = set_key(params, key, value, FTH_MODEL_SET, error);
        /* If sets or ways is set (and not to 0), the other one becomes 0, that is, it is derived.
         * So the one that is set last counts. FTH_KEY_WAYS directly follows FTH_KEY_SETS. */
        size_t level_key = key % FTH_LEVEL_KEYS;
        if (status == FTH_OK && key < FTH_KEY_SMS && params->values[key].number > 0 &&
            (level_key == FTH_KEY_SETS || level_key == FTH_KEY_WAYS))
            fth_model_put(params, level_key == FTH_KEY_SETS ? key + 1 : key - 1, 0, FTH_MODEL_SET);
        return status;
    }
    const char *nearest = fth_suggest(name, list, FTH_MODEL_KEYS);
    return nearest ? fth_fail(error, FTH_NOT_FOUND, "set parameter", name,
                              "no such parameter; did you mean %s?", nearest)
                   : fth_fail(error, FTH_NOT_FOUND, "set parameter", name,
                              "no such parameter; 'fathom model --parameters' lists them");
}

const char *fth_model_value(const struct fth_model_params *params, size_t index,
                            enum fth_model_source *source)
{
    if (index >= FTH_MODEL_KEYS)
        return NULL;
    if (source)
        *source = params->values[index].source;
    return params->values[index].text;
}
