/* Tests the configurations for simulators (formats "accel-sim" and "gem5") of small descriptions:
 * what each attribute changes. tests/exports/formats tests those of complete descriptions. */
#include "check.h"
#include "report/report.h"

#include <stdio.h>

/* Returns the configuration of a GPU with these further members of its device, and these elements.
 * The caller releases it. */
static char *export_gpu(const char *format, const char *device, const char *elements)
{
    char document[2048];
    struct fth_gpu *gpu = NULL;
    char *text = NULL;
    size_t size = 0;
    struct fth_error error = NO_ERROR;
    const int length = snprintf(document, sizeof document,
                                "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"%s}, "
                                "\"elements\": {%s}}",
                                device, elements);
    if (fth_gpu_read_text("test", document, (size_t)length, NULL, &gpu, &error) != FTH_OK ||
        fth_report_gpu(format, gpu, NULL, &text, &size, &error) != FTH_OK)
        fail_msg("%s: %s", elements, error.cause);
    fth_gpu_destroy(gpu);
    return text;
}

struct row {
    const char *device, *elements;
    const char *expected; /* that the configuration contains; "!TEXT": that it does not */
};

static void check_rows(const char *format, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *text = export_gpu(format, rows[i].device, rows[i].elements);
        const bool absent = rows[i].expected[0] == '!';
        if ((strstr(text, rows[i].expected + absent) != NULL) == absent)
            fail_msg("%s, %s: %s\n%s", rows[i].device, rows[i].elements, rows[i].expected, text);
        fth_free(text);
    }
}

#define SMS ", \"sms\": 4"
#define VOLTA SMS ", \"compute_capability\": \"7.0\""

static void the_l1_of_accel_sim_has_the_policies_of_the_description(void **state)
{
    (void)state;
#define L1(more) "\"l1\": {\"size_bytes\": 32768, \"line_bytes\": 128" more "}"
#define SECTORS ", \"sector_bytes\": 32"
    static const struct row rows[] = {
        {VOLTA, L1(", \"sets\": 64, \"ways\": 4, \"policy\": \"lru\""),
         "-gpgpu_cache:dl1 N:64:128:4,L:T:m:N:L,S:512:8,16:0,32\n"},
        {SMS, L1(", \"ways\": 4"), "dl1 N:64:128:4,L:T:m:N:L,"},
        {SMS ", \"compute_capability\": \"6.1\"", L1(", \"ways\": 4"), "dl1 N:64:128:4,L:L:m:N:L,"},
        {SMS ", \"compute_capability\": \"6.9\"", L1(", \"ways\": 4"), "dl1 N:64:128:4,L:L:m:N:L,"},
        {VOLTA, L1(", \"ways\": 4, \"policy\": \"fifo\""), "dl1 N:64:128:4,F:"},
        {VOLTA, L1(", \"ways\": 4, \"policy\": \"fifo\""), "!replacement policy"},
        {VOLTA, L1(", \"ways\": 4, \"policy\": \"plru\""),
         "# The replacement policy of l1 is \"plru\". The simulator has LRU and FIFO; this is "
         "LRU.\n"},
        {VOLTA, L1(", \"sets\": 64, \"ways\": 4, \"index\": \"xor\""), "dl1 N:64:128:4,L:T:m:N:X,"},
        {VOLTA, L1(", \"sets\": 64, \"ways\": 4, \"index\": \"mod\""), "!address bits"},
        {VOLTA, L1(", \"sets\": 4, \"ways\": 64, \"index\": \"bits:[8,9]\""),
         "# The address bits that select a set of l1 (bits:[8,9]) cannot be expressed"},
        {VOLTA, L1(", \"sector_bytes\": 64"), "dl1 N:32:128:8,"},
        {VOLTA, L1(SECTORS), "dl1 S:4:128:64,L:T:m:L:L,A:512:8,16:0,32  # sets and ways are"},
        {VOLTA, L1(SECTORS ", \"write_miss\": \"allocate\""), "dl1 S:4:128:64,L:T:m:L:L,"},
        {VOLTA, L1(SECTORS ", \"write_miss\": \"no_allocate\""), "dl1 S:4:128:64,L:T:m:N:L,"},
        {VOLTA, L1(", \"write_miss\": \"allocate\", \"write_hit\": \"update\""), ",L:T:m:W:L,S:"},
        {VOLTA, L1(", \"write_miss\": \"allocate\", \"write_hit\": \"update\""), "!stores"},
        {VOLTA, L1(SECTORS ", \"write_hit\": \"evict\""), "dl1 S:4:128:64,L:E:m:N:L,"},
        {VOLTA, L1(SECTORS ", \"write_hit\": \"evict\""), "# Policies of stores: the description"},
        {VOLTA ", \"sectors_in_flight_per_sm\": 96", L1(""), ",S:96:8,16:0,32"},
        {VOLTA ", \"sectors_in_flight_per_sm\": 96", L1(""), "!MSHRs (512"},
        {VOLTA, L1(", \"per_sm\": 2"), "# An SM has 2 such caches."},
        {VOLTA, L1(", \"per_sm\": 1"), "!such caches"},
        {VOLTA, L1(", \"caches\": [\"local\"]"), "-gpgpu_gmem_skip_L1D 1"},
        {VOLTA, L1(", \"caches\": [\"global\"]"), "!-gpgpu_gmem_skip_L1D"},
        {VOLTA, L1(", \"caches\": []"),
         "# The L1 caches neither global nor local memory.\n-gpgpu_cache:dl1 none"},
        {VOLTA, "", "# The size of the L1 is not known.\n-gpgpu_cache:dl1 none"},
        {VOLTA, L1(", \"latency_cycles\": 28.5"), "-gpgpu_l1_latency 29\n"},
        {VOLTA, "\"l1\": {\"size_bytes\": 24576, \"line_bytes\": 256, \"ways\": 6}",
         "# l1 has lines of 256 bytes. The simulator does not support them; these are lines of 128 "
         "bytes.\n"},
        {VOLTA, "\"l1\": {\"size_bytes\": 24576, \"line_bytes\": 16}", "dl1 N:32:32:24,"},
        /* 7 ways would need a number of sets that is no power of two. */
        {VOLTA, L1(", \"ways\": 7"), "dl1 N:32:128:8,L:T:m:N:L,S:512:8,16:0,32  # sets and ways"},
    };
    check_rows("accel-sim", rows, FTH_COUNT(rows));
}

static void the_l1_of_accel_sim_is_adaptive_if_the_simulator_can_do_it(void **state)
{
    (void)state;
#define UNIFIED(size, unified, carveouts)                                                          \
    "\"l1\": {\"size_bytes\": " #size ", \"unified_bytes\": " #unified                             \
    ", \"line_bytes\": 128, \"sector_bytes\": 32}, "                                               \
    "\"shared\": {\"size_bytes\": 65536, \"carveout_bytes\": [" carveouts "]}"
    static const struct row rows[] = {
        {VOLTA, UNIFIED(65536, 98304, "32768, 65536"),
         "-gpgpu_adaptive_cache_config 1\n-gpgpu_shmem_option 32,64\n-gpgpu_unified_l1d_size 96\n"},
        {VOLTA, UNIFIED(65536, 98304, "32768, 65536"), "dl1 S:4:128:192,"},
        {VOLTA, UNIFIED(65536, 98304, "32768, 65537"), "!adaptive"},
        {VOLTA, UNIFIED(65536, 98304, "32768, 131072"), "!adaptive"},
        {VOLTA, UNIFIED(65536, 98305, "32769"), "!adaptive"},
        {VOLTA, UNIFIED(16384, 98304, "32768, 65536"), "!adaptive"},
        {VOLTA, UNIFIED(16384, 98304, "32768, 65536"), "# The GPU can divide its memory between"},
        {VOLTA, UNIFIED(65536, 98304, "32768, 65536"), "!here the sizes are fixed"},
        {VOLTA, "\"l1\": {\"size_bytes\": 16384}", "!here the sizes are fixed"},
        {VOLTA, UNIFIED(16384, 98304, "32768, 65536"), "dl1 S:4:128:32,"},
    };
    check_rows("accel-sim", rows, FTH_COUNT(rows));
}

static void the_l2_of_accel_sim_is_divided_into_powers_of_two(void **state)
{
    (void)state;
#define L2(more)                                                                                   \
    "\"l2\": {\"size_bytes\": 3145728, \"line_bytes\": 128, \"sector_bytes\": 32" more "}"
    static const struct row rows[] = {
        {VOLTA, L2(", \"ways\": 16, \"slices\": 12"),
         "-gpgpu_n_mem 6\n-gpgpu_n_sub_partition_per_mchannel 2\n"},
        {VOLTA, L2(", \"ways\": 16, \"slices\": 12"),
         "dl2 S:128:128:16,L:B:m:L:L,A:192:4,32:0,32\n"},
        {VOLTA, L2(", \"ways\": 16, \"slices\": 3"),
         "-gpgpu_n_mem 3\n-gpgpu_n_sub_partition_per_mchannel 1\n"},
        /* 3 x 2^n sub-partitions: 12 is nearer to 14 than 24. */
        {VOLTA, L2(", \"ways\": 16, \"slices\": 14"), "-gpgpu_n_mem 6\n"},
        {VOLTA, L2(", \"ways\": 16, \"slices\": 14"), "# 12 sub-partitions give the size"},
        {VOLTA, L2(", \"ways\": 16, \"slices\": 12"), "!sub-partitions give"},
        {VOLTA, L2(", \"slices\": 16"), "dl2 S:128:128:12,L:B:m:L:L,A:192:4,32:0,32  # sets and"},
        {VOLTA ", \"memory_bus_bits\": 192", L2(""), "channel of 32 bits, of which the bus"},
        {VOLTA ", \"memory_bus_bits\": 192", L2(""), "-gpgpu_n_mem 6\n"},
        {VOLTA ", \"memory_bus_bits\": 3072", L2(""), "-gpgpu_n_mem 24\n"},
        {VOLTA, L2(""), "# The slices of the L2 are not known. Assumed: 16.\n"},
        {VOLTA, "", "# The size of the L2 is not known. Assumed: 4 MiB.\n"},
        {VOLTA, L2(", \"policy\": \"fifo\""), ",F:B:m:L:L,"},
        {VOLTA, L2(", \"partial_write\": \"fetch\""), ",L:B:m:F:L,"},
        {VOLTA, L2(", \"partial_write\": \"mask\""), ",L:B:m:L:L,"},
        {VOLTA, L2(", \"write_miss\": \"no_allocate\""), ",L:B:m:N:L,"},
        {VOLTA, L2(", \"partitions\": 2"), "# The L2 has 2 partitions, and lines"},
        {VOLTA, L2(", \"partitions\": 1"), "!partitions, and"},
        {VOLTA, L2(", \"instances\": 2, \"slices\": 6, \"ways\": 16"), "# Slices of the L2: 12.\n"},
        {VOLTA, L2(", \"instances\": 2, \"slices\": 6, \"ways\": 16"), "together 6291456 bytes"},
        {VOLTA, "\"l2\": {\"size_bytes\": 3145728, \"line_bytes\": 128}",
         "dl2 N:128:128:12,L:B:m:W:L,"},
        {VOLTA, "\"l2\": {\"size_bytes\": 3145728, \"line_bytes\": 64}", "dl2 S:128:128:12,"},
        {VOLTA, "\"l2\": {\"size_bytes\": 3145728, \"line_bytes\": 64}",
         "# The L2 has lines of 64 bytes."},
        {VOLTA, "\"l2\": {\"size_bytes\": 100000, \"line_bytes\": 32}",
         "# No number of sub-partitions gives"},
        {VOLTA, L2(", \"slice_bytes\": 512"), "dramid@9;"},
        {VOLTA, L2(", \"slice_bytes\": 500"), "dramid@8;"},
        {VOLTA,
         "\"l2\": {\"size_bytes\": 4194304, \"slices\": 16, \"slice_masks\": [256, 512, 1024, "
         "2048]}",
         "-gpgpu_memory_partition_indexing 2"},
        {VOLTA, "\"l2\": {\"size_bytes\": 8192, \"slices\": 4, \"slice_masks\": [1280, 2304]}",
         "# The hash that selects the slice cannot be expressed"},
    };
    check_rows("accel-sim", rows, FTH_COUNT(rows));
}

static void accel_sim_has_clocks_and_latencies(void **state)
{
    (void)state;
#define LATENCIES(l1, l2, memory)                                                                  \
    "\"l1\": {\"latency_cycles\": " #l1 "}, \"l2\": {\"latency_cycles\": " #l2 "}, \"memory\": {"  \
    "\"latency_cycles\": " #memory ", \"peak_bytes_per_s\": 512000000000}"
    static const struct row rows[] = {
        {VOLTA, LATENCIES(30, 230.4, 500), "-gpgpu_l2_rop_latency 200\n-dram_latency 270\n"},
        {VOLTA, LATENCIES(30, 30, 500), "!rop_latency"},
        {VOLTA, LATENCIES(30, 230, 230), "!dram_latency"},
        {VOLTA, LATENCIES(30, 30, 30), "!Latencies behind"},
        /* 8 controllers of 32 bytes per cycle */
        {VOLTA ", \"clock_mhz\": 1000", LATENCIES(30, 230, 500),
         "-gpgpu_clock_domains 1000:1000:1000:2000  # interconnect and L2"},
        {VOLTA, LATENCIES(30, 230, 500), "# The clock of the SMs is not known"},
        {VOLTA ", \"clock_mhz\": 1000, \"memory_clock_mhz\": 1000, \"memory_bus_bits\": 256", "",
         "# Assumed: two transfers per memory clock.\n-gpgpu_clock_domains 1000:1000:1000:250  # "},
        {VOLTA ", \"clock_mhz\": 1000", "", ":1000  # interconnect, L2 and DRAM: assumed"},
        {SMS, "", "-gpgpu_occupancy_sm_number 70  # assumed"},
        {SMS ", \"compute_capability\": \"12.1\"", "",
         "-gpgpu_compute_capability_major 12\n-gpgpu_compute_capability_minor 1\n"},
        {SMS ", \"compute_capability\": \"8.6\"", "",
         "pipeline 1536:32  # threads: by the compute capability; warp size: assumed\n"},
        {SMS, "", "pipeline 2048:32  # threads: assumed; warp size: assumed\n"},
        {SMS ", \"max_threads_per_sm\": 1024", "", "pipeline 1024:32  # warp size: assumed\n"},
        {SMS ", \"warp_size\": 32, \"compute_capability\": \"7.5\"", "",
         "pipeline 1024:32  # threads: by the compute"},
        {SMS ", \"warp_size\": 32, \"compute_capability\": \"1.3\"", "",
         "pipeline 2048:32  # threads: assumed"},
        {VOLTA ", \"max_registers_per_block\": 32768", "\"registers\": {\"size_bytes\": 262144}",
         "-gpgpu_shader_registers 65536\n-gpgpu_registers_per_block 32768\n"},
        {VOLTA, "\"registers\": {\"size_bytes\": 262144}",
         "-gpgpu_registers_per_block 65536  # assumed: all registers of an SM\n"},
        {VOLTA, "", "!registers_per_block"},
        {VOLTA, "\"shared\": {\"size_bytes\": 65536, \"default_block_bytes\": 49152}",
         "-gpgpu_shmem_per_block 49152\n"},
        {VOLTA ", \"vendor\": \"NVIDIA\"", "", "!cannot run"},
        {VOLTA ", \"vendor\": \"AMD\"", "", "It cannot run the code of"},
        {VOLTA, "\"tlb_l1\": {}, \"l3\": {}", "# an L3, TLBs.\n"},
        {VOLTA, "\"vector_l1\": {}, \"l1\": {}", "# a cache between the first one and the L2.\n"},
        {VOLTA, "\"l1\": {}", "!there is no key"},
    };
    check_rows("accel-sim", rows, FTH_COUNT(rows));
}

static void gem5_has_ways_with_a_power_of_two_of_sets(void **state)
{
    (void)state;
#define TCP(more) "\"vector_l1\": {\"size_bytes\": 16384, \"line_bytes\": 64" more "}"
    static const struct row rows[] = {
        {SMS, TCP(""), "--tcp-size=16KiB\n--tcp-assoc=16  # assumed\n"},
        {SMS, TCP(", \"ways\": 64"), "--tcp-assoc=64\n"},
        {SMS, TCP(", \"ways\": 256"), "--tcp-assoc=128  # derived\n"}, /* at least 2 sets */
        {SMS, TCP(", \"ways\": 64, \"policy\": \"lru\""), "--tcp-rp=LRURP\n"},
        {SMS, TCP(", \"ways\": 64, \"policy\": \"fifo\""), "--tcp-rp=FIFORP\n"},
        {SMS, TCP(", \"ways\": 64, \"policy\": \"lfu\""), "--tcp-rp=LFURP\n"},
        {SMS, TCP(", \"ways\": 64, \"policy\": \"plru\""), "--tcp-rp=TreePLRURP\n"},
        {SMS, TCP(", \"ways\": 64, \"policy\": \"random\""), "--tcp-rp=RandomRP\n"},
        {SMS, TCP(", \"ways\": 64"), "!--tcp-rp"},
        {SMS,
         "\"l1\": {\"size_bytes\": 24576, \"line_bytes\": 64, \"ways\": 48, \"policy\": \"plru\"}",
         "--tcp-assoc=48\n--tcp-rp=LRURP  # assumed"},
        {SMS,
         "\"l1\": {\"size_bytes\": 24576, \"line_bytes\": 64, \"ways\": 48, \"policy\": "
         "\"random\"}",
         "--tcp-rp=RandomRP\n"},
        {SMS, "\"l1\": {\"size_bytes\": 100}",
         "--tcp-size=100B\n# The size of l1 allows no power of two"},
        {SMS, "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 32}",
         "# The L1 has lines that gem5 does not support.\n--cacheline_size=64  # assumed"},
        {SMS, TCP(", \"latency_cycles\": 125"), "--mandatory_queue_latency=25  #"},
        {SMS, TCP(", \"latency_cycles\": 100"),
         "# An L1 hit takes 100 cycles; gem5's compute unit alone takes 100.\n"},
        {SMS, "\"l2\": {\"size_bytes\": 4194304, \"slices\": 24, \"line_bytes\": 128}",
         "# The L2 has 24 slices; gem5 needs a power of two.\n--num-tccs=32  # "
         "derived\n--tcc-assoc=16  # assumed\n"},
        {SMS, "\"l2\": {\"size_bytes\": 4194304, \"line_bytes\": 128}",
         "# The L2 has lines of 128 bytes.\n"},
        {SMS, "\"l2\": {\"size_bytes\": 4194304, \"instances\": 2}", "--num-compute-units=2\n"},
        {SMS, "\"l2\": {\"size_bytes\": 4194304, \"instances\": 2, \"sms_per_instance\": 3}",
         "--num-compute-units=3\n"},
        {SMS, "\"instruction_l1\": {\"size_bytes\": 32768, \"sms_per_instance\": 2}",
         "--sqc-size=32KiB\n--sqc-assoc=8  # "
         "assumed\n--cu-per-sqc=2\n--cu-per-scalar-cache=2\n--cu-per-sa=2  #"},
        {SMS,
         "\"instruction_l1\": {\"sms_per_instance\": 2}, \"scalar_l1\": {\"sms_per_instance\": 3}",
         "--cu-per-sqc=2\n--cu-per-scalar-cache=3\n--cu-per-sa=6  #"},
        {SMS ", \"architecture\": \"CDNA 2\"", "", "--gpu-device=MI200\n"},
        {SMS ", \"architecture\": \"Vega\"", "", "--gpu-device=Vega10\n"},
        {SMS ", \"architecture\": \"RDNA 3\"", "", "# gem5 executes the code of some AMD GPUs"},
        {SMS ", \"warp_size\": 64, \"cores_per_sm\": 64, \"max_threads_per_sm\": 2560",
         "\"registers\": {\"size_bytes\": 262144}",
         "--simds-per-cu=4  # assumed: 16 lanes per "
         "SIMD\n--wfs-per-simd=10\n--vreg-file-size=256\n"},
        {SMS ", \"warp_size\": 32, \"cores_per_sm\": 64, \"max_threads_per_sm\": 2560", "",
         "!--wfs-per-simd"},
        {SMS, LATENCIES(30, 230.4, 500), "--TCC_latency=200\n--gpu-to-dir-latency=270\n"},
        {SMS, LATENCIES(30, 30, 30), "!Latencies behind"},
    };
    check_rows("gem5", rows, FTH_COUNT(rows));
}

/* A name cannot end the comment that contains it. */
static void texts_of_the_description_stay_in_comments(void **state)
{
    (void)state;
    static const char *const formats[] = {"accel-sim", "gem5"};
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        char *text = export_gpu(formats[i], SMS ", \"vendor\": \"x\\n-gpgpu_n_mem 7\"",
                                "\"l1\": {\"size_bytes\": 1024}");
        assert_null(strstr(text, "\n-gpgpu_n_mem 7"));
        fth_free(text);
    }
    struct fth_gpu *gpu = NULL;
    char *text = NULL;
    size_t size = 0;
    static const char document[] = "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": "
                                   "\"a\\n--evil \\u2028 b\", \"sms\": 1}, \"elements\": {}}";
    assert_int_equal(fth_gpu_read_text("test", document, strlen(document), NULL, &gpu, NULL),
                     FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        assert_int_equal(fth_report_gpu(formats[i], gpu, NULL, &text, &size, NULL), FTH_OK);
        assert_null(strstr(text, "\n--evil"));
        assert_non_null(strstr(text, ": a?--evil"));
        fth_free(text);
    }
    fth_gpu_destroy(gpu);
}

static void only_gpus_with_a_number_of_sms_are_accepted(void **state)
{
    (void)state;
    static const struct {
        const char *format, *device, *cause;
    } rows[] = {{"accel-sim", "", "does not contain the number of SMs"},
                {"gem5", "", "does not contain the number of SMs"},
                {"accel-sim", ", \"sms\": 4, \"kind\": \"cpu\"", "that of a CPU"},
                {"gem5", ", \"sms\": 4, \"kind\": \"cpu\"", "that of a CPU"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char document[256], *text = NULL;
        size_t size = 0;
        struct fth_gpu *gpu = NULL;
        struct fth_error error = NO_ERROR;
        const int length = snprintf(
            document, sizeof document,
            "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"%s}, \"elements\": {}}",
            rows[i].device);
        assert_int_equal(fth_gpu_read_text("test", document, (size_t)length, NULL, &gpu, NULL),
                         FTH_OK);
        assert_int_equal(fth_report_gpu(rows[i].format, gpu, NULL, &text, &size, &error),
                         FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
        fth_gpu_destroy(gpu);
    }
    char *text = export_gpu("gem5", SMS ", \"kind\": \"accelerator\"", "");
    assert_non_null(text);
    fth_free(text);
}

/* Figures that no GPU has must not take forever. */
static void huge_figures_are_limited(void **state)
{
    (void)state;
    static const char elements[] =
        "\"l1\": {\"size_bytes\": 9007199254740992, \"ways\": 9007199254740992}, "
        "\"l2\": {\"size_bytes\": 9007199254740992, \"ways\": 9007199254740992, "
        "\"slices\": 9007199254740992, \"instances\": 4}";
    static const char *const formats[] = {"accel-sim", "gem5"};
    for (size_t i = 0; i < FTH_COUNT(formats); i++) {
        char *text =
            export_gpu(formats[i], SMS ", \"memory_bus_bits\": 9007199254740992", elements);
        assert_non_null(text);
        fth_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_l1_of_accel_sim_has_the_policies_of_the_description),
        cmocka_unit_test(the_l1_of_accel_sim_is_adaptive_if_the_simulator_can_do_it),
        cmocka_unit_test(the_l2_of_accel_sim_is_divided_into_powers_of_two),
        cmocka_unit_test(accel_sim_has_clocks_and_latencies),
        cmocka_unit_test(gem5_has_ways_with_a_power_of_two_of_sets),
        cmocka_unit_test(texts_of_the_description_stay_in_comments),
        cmocka_unit_test(only_gpus_with_a_number_of_sms_are_accepted),
        cmocka_unit_test(huge_figures_are_limited),
    };
    return cmocka_run_group_tests_name("simulators", tests, NULL, NULL);
}
