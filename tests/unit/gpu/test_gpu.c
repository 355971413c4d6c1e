/* Tests of gpu/: reading, validating, writing and comparing GPU descriptions. */
#include "check.h"
#include "gpu/gpu.h"
#include "gpu/source_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- helpers ---- */

/* The last warning and the number of warnings. */
struct warnings {
    char text[512];
    int count;
};

static void capture_warning(void *user, enum fth_level level, const char *text)
{
    struct warnings *warnings = user;
    assert_int_equal(level, FTH_LOG_WARNING);
    snprintf(warnings->text, sizeof warnings->text, "%s", text);
    warnings->count++;
}

/* Returns a valid document with these elements. It is valid until the next call. */
static char *make_document(const char *elements)
{
    static char text[1 << 16];
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\"}, \"elements\": {%s}}",
             elements);
    return text;
}

/* Reads a document that must be valid. */
static struct fth_gpu *read_valid(const char *text)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("test", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    return gpu;
}

static char *write_to_text(const struct fth_gpu *gpu)
{
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_gpu_write_text(gpu, &text, &size, NULL), FTH_OK);
    assert_int_equal(strlen(text), size);
    return text;
}

/* ---- invalid documents ---- */

static const struct {
    const char *elements;
    const char *cause; /* NULL: accepted */
} element_rows[] = {
    {"\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"sets\": 32, \"ways\": 4}", NULL},
    {"\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 100}",
     "elements.l1.line_bytes: 100 does not divide size_bytes (16384)"},
    {"\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"sets\": 32, \"ways\": 5}",
     "elements.l1.size_bytes: 16384, but the ways of all sets (160) x line_bytes (128) are 20480"},
    {"\"l1\": {\"line_bytes\": 32, \"sector_bytes\": 64}",
     "elements.l1.sector_bytes: 64 does not divide line_bytes (32)"},
    {"\"l1\": {\"sets\": 0}", "elements.l1.sets: 0 is not a whole number of at least 1"},
    {"\"l1\": {\"ways\": 2.5}", "elements.l1.ways: 2.5 is not a whole number"},
    {"\"l1\": {\"latency_cycles\": -32}", "elements.l1.latency_cycles: -32 is not greater than 0"},
    {"\"l1\": {\"latency_cycles\": 0}", "elements.l1.latency_cycles: 0 is not greater than 0"},
    {"\"shared\": {\"banks\": 0}", "elements.shared.banks: 0 is not a whole number"},
    {"\"shared\": {\"conflict_cycles\": 0, \"carveout_bytes\": [0, 8192]}", NULL},
    {"\"shared\": {\"carveout_bytes\": [0, -1]}", "elements.shared.carveout_bytes: -1 is not"},
    {"\"shared\": {\"carveout_bytes\": [0, 16384, 8192]}",
     "elements.shared.carveout_bytes: not in ascending order: 8192 follows 16384"},
    {"\"shared\": {\"carveout_bytes\": [8192, 8192]}",
     "elements.shared.carveout_bytes: not in ascending order: 8192 follows 8192"},
    {"\"l1\": {\"carveout_size_bytes\": [4096]}, \"shared\": {\"carveout_bytes\": [0, 8192]}",
     "elements.l1.carveout_size_bytes: has length 1"},
    {"\"l1\": {\"carveout_size_bytes\": [4096]}", "elements.l1.carveout_size_bytes: has length 1"},
    {"\"memory\": {\"size_bytes\": 9007199254740993}",
     "elements.memory.size_bytes: the number exceeds 2^53"},
    {"\"memory\": {\"size_bytes\": 9007199254740992}", NULL},
    {"\"memory\": {\"size_bytes\": 1e17}", "elements.memory.size_bytes: the number exceeds 2^53"},
    {"\"memory\": {\"size_bytes\": \"5 GiB\"}",
     "elements.memory.size_bytes: expected a number, found a string"},
    {"\"memory\": {\"size_bytes\": null}",
     "elements.memory.size_bytes: null; omit unknown attributes"},
    {"\"memory\": {\"size_bytes\": true}", "expected a number, found a boolean"},
    {"\"memory\": {\"size_bytes\": [1]}", "expected a number, found a list"},
    {"\"memory\": {\"size_bytes\": {}}", "elements.memory.size_bytes: the object has no \"value\""},
    {"\"memory\": 5", "elements.memory: expected an object, found a number"},
    {"\"memory\": {\"latency_cycles\": 500, \"far_latency_cycles\": 400}",
     "elements.memory.latency_cycles: 500 exceeds far_latency_cycles (400)"},
    {"\"memory\": {\"copy_bytes_per_s\": 2e12, \"peak_bytes_per_s\": 1e12}",
     "elements.memory.copy_bytes_per_s: 2000000000000 exceeds peak_bytes_per_s"},
    {"\"l1\": {\"scope\": \"warp\"}", "elements.l1.scope: 'warp' is not one of sm, gpc, gpu"},
    {"\"l1\": {\"policy\": \"mru\"}", "elements.l1.policy: 'mru' is not one of lru, fifo, lfu"},
    {"\"l1\": {\"policy\": \"weighted\"}",
     "elements.l1.policy: weighted, but way_weights is missing"},
    {"\"l1\": {\"policy\": \"weighted\", \"ways\": 4, \"way_weights\": [1, 3, 1]}",
     "elements.l1.way_weights: has length 3, but there are 4 ways"},
    {"\"l1\": {\"policy\": \"weighted\", \"ways\": 4, \"way_weights\": [1, 3, 1, 1]}", NULL},
    {"\"l1\": {\"policy\": \"clock\", \"ways\": 482, \"rows\": 128, \"row_ways\": 4}", NULL},
    {"\"l1\": {\"policy\": \"clock\", \"ways\": 482}", NULL},
    {"\"l1\": {\"policy\": \"clock\", \"ways\": 513, \"rows\": 128}",
     "elements.l1.rows: 128, which is too few for 513 ways"},
    {"\"l1\": {\"policy\": \"clock\", \"rows\": 96}",
     "elements.l1.rows: 96 is not a power of two up to 65536"},
    {"\"l1\": {\"policy\": \"clock\", \"rows\": 131072}",
     "elements.l1.rows: 131072 is not a power of two up to 65536"},
    {"\"l1\": {\"policy\": \"clock\", \"row_ways\": 33}",
     "elements.l1.row_ways: 33 is more than 32"},
    {"\"l1\": {\"policy\": \"lru\", \"rows\": 128}",
     "elements.l1.rows: present, but the policy is not clock"},
    {"\"l1\": {\"row_ways\": 4}", "elements.l1.row_ways: present, but the policy is not clock"},
    {"\"l2\": {\"policy\": \"clock\"}", "elements.l2.policy: clock, which an L2 or L3 "
                                        "cannot have"},
    {"\"l3\": {\"policy\": \"clock\"}", "elements.l3.policy: clock, which an L2 or L3 "
                                        "cannot have"},
    {"\"l1\": {\"write_hit\": \"update\", \"write_evicts\": \"line\"}",
     "elements.l1.write_evicts: present, but write_hit is update"},
    {"\"l1\": {\"write_miss\": \"allocate\", \"write_hit\": \"evict\", \"write_evicts\": "
     "\"sector\"}",
     NULL},
    {"\"l2\": {\"write_far_copy\": \"update\", \"partitions\": 1}",
     "elements.l2.write_far_copy: present, but there is only one partition"},
    {"\"l2\": {\"write_far_copy\": \"update\", \"partitions\": 2, \"write_miss\": \"allocate\", "
     "\"partial_write\": \"mask\", \"write_policy\": \"write_back\"}",
     NULL},
    {"\"l1\": {\"policy\": \"lru\", \"way_weights\": [1, 3]}",
     "elements.l1.way_weights: present, but the policy is not weighted"},
    {"\"tlb_l1\": {\"overflow_pages\": [16, 17]}",
     "elements.tlb_l1.overflow_pages: has length 2, but overflow_missed has length 0"},
    {"\"tlb_l1\": {\"overflow_pages\": [16, 17], \"overflow_missed\": [0, 18]}",
     "elements.tlb_l1.overflow_missed: 18 exceeds overflow_pages (17)"},
    {"\"tlb_l1\": {\"overflow_pages\": [16, 17], \"overflow_missed\": [0, 17]}", NULL},
    {"\"l2\": {\"spectrum_patterns\": [\"P1\", \"P7\"]}",
     "elements.l2.spectrum_patterns: 'P7' is not one of P1"},
    {"\"l2\": {\"spectrum_patterns\": [\"P1\", \"P2\"], \"spectrum_cycles\": [200]}",
     "elements.l2.spectrum_patterns: has length 2, but spectrum_cycles has length 1"},
    {"\"l2\": {\"access_variants\": [\"ld.ca\", \"none\"], \"access_fill_bytes\": [64, 0]}",
     "elements.l2.access_variants: 'none' is not one of ld.ca"},
    {"\"l2\": {\"access_variants\": [\"ld.ca\", \"ld.ca\"], \"access_fill_bytes\": [64, 0]}",
     "elements.l2.access_variants: contains 'ld.ca' twice"},
    {"\"l1\": {\"access_variants\": [\"ld.ca\"], \"access_fill_bytes\": [32, 0]}",
     "elements.l1.access_variants: has length 1, but access_fill_bytes has length 2"},
    {"\"l1\": {\"access_variants\": [\"ld.ca\"], \"access_fill_bytes\": [32], "
     "\"access_priorities\": [\"last\", \"first\"]}",
     "elements.l1.access_priorities: has length 2, but access_variants has length 1"},
    {"\"l1\": {\"access_variants\": [\"ld.ca\"], \"access_fill_bytes\": [32], "
     "\"access_keeps\": [\"yes\", \"no\"]}",
     "elements.l1.access_keeps: has length 2, but access_variants has length 1"},
    {"\"l1\": {\"access_variants\": [\"ld.ca\", \"ld.cg\"], \"access_fill_bytes\": [32, 0], "
     "\"access_priorities\": [\"normal\", \"none\"]}",
     NULL},
    {"\"l2\": {\"partitions\": 2, \"partition_by_sm\": [0, 1, 2]}",
     "elements.l2.partition_by_sm: 2, but there are 2 partitions"},
    {"\"l2\": {\"partitions\": 2, \"partition_by_sm\": [0, 1]}", NULL},
    {"\"l1\": {\"sets\": 2, \"set_masks\": [384]}", NULL},
    {"\"l1\": {\"policy\": \"clock\", \"line_bytes\": 128, \"sets\": 2, \"rows\": 4, "
     "\"set_masks\": [384], \"row_masks\": [256, 1024]}",
     NULL},
    {"\"l1\": {\"policy\": \"clock\", \"sets\": 1, \"rows\": 2, \"row_masks\": [256]}", NULL},
    {"\"l1\": {\"set_masks\": [384]}", "elements.l1.set_masks: sets is missing"},
    {"\"l1\": {\"sets\": 4, \"set_masks\": [384]}",
     "elements.l1.set_masks: 1 masks do not select one of 4 sets"},
    {"\"l1\": {\"sets\": 2, \"set_masks\": [384], \"index\": \"xor\"}",
     "elements.l1.set_masks: present, but index is present, too"},
    {"\"l1\": {\"sets\": 2, \"set_masks\": [384], \"policy\": \"clock\"}",
     "elements.l1.set_masks: row_masks is missing, which the policy clock needs"},
    {"\"l1\": {\"sets\": 2, \"policy\": \"clock\", \"rows\": 2, \"row_masks\": [384]}",
     "elements.l1.row_masks: set_masks is missing"},
    {"\"l1\": {\"sets\": 2, \"set_masks\": [384], \"row_masks\": [256]}",
     "elements.l1.row_masks: rows is missing"},
    {"\"l1\": {\"line_bytes\": 128, \"sets\": 2, \"set_masks\": [320]}",
     "elements.l1.set_masks: 320 has bits inside a line of 128 bytes"},
    {"\"l1\": {\"sets\": 4, \"set_masks\": [384, 384]}",
     "elements.l1.set_masks: 384 is the XOR of other masks"},
    {"\"l1\": {\"policy\": \"clock\", \"sets\": 2, \"rows\": 4, \"set_masks\": [384], "
     "\"row_masks\": [256, 128]}",
     "elements.l1.row_masks: 128 is the XOR of other masks"},
    {"\"l1\": {\"sets\": 2, \"set_masks\": [9007199254740992]}",
     "elements.l1.set_masks: 9007199254740992 is not below 2^53"},
    {"\"l1\": {\"sets\": 2, \"set_masks\": [0]}", "elements.l1.set_masks: 0 is not"},
    {"\"l2\": {\"sets\": 2, \"set_masks\": [384]}",
     "elements.l2.set_masks: present, but an L2 cannot have them"},
    {"\"l2\": {\"slice_masks\": [128]}", "elements.l2.slice_masks: slices is missing"},
    {"\"l2\": {\"partitions\": 2, \"slices\": 5, \"slice_masks\": [128, 256]}",
     "elements.l2.slices: 5 is not a multiple of the number of partitions, 2"},
    {"\"l2\": {\"slices\": 5, \"slice_masks\": [128, 256]}",
     "elements.l2.slice_masks: 2 masks cannot select 5 slices"},
    {"\"l2\": {\"slices\": 2, \"slice_group_by_sm\": [0, 1], \"slice_latency_cycles\": [9, 9, 9]}",
     "elements.l2.slice_latency_cycles: has length 3, but slice_group_by_sm has 2 groups and a "
     "partition has 2 slices"},
    {"\"l2\": {\"slices\": 2, \"slice_group_by_sm\": [0, 1]}",
     "elements.l2.slice_latency_cycles: has length 0, but slice_group_by_sm has 2 groups and a "
     "partition has 2 slices"},
    {"\"l2\": {\"slices\": 2, \"slice_group_by_sm\": [0, 0], \"slice_latency_cycles\": [9, 9], "
     "\"slice_masks\": [128]}",
     NULL},
    {"\"l2\": {\"slices\": 14}", NULL},
    {"\"l2\": {\"prefetched_part\": 1.5}",
     "elements.l2.prefetched_part: 1.5 is not between 0 and 1"},
    {"\"l1\": {\"addressing\": \"both\"}", "elements.l1.addressing: 'both' is not one of virtual"},
    {"\"l1\": {\"index\": \"hash\"}", "elements.l1.index: 'hash' is not one of"},
    {"\"l1\": {\"index\": \"shift:2\"}", NULL},
    {"\"l1\": {\"index\": \"shift:64\"}", "elements.l1.index: 'shift:64' is not one of"},
    {"\"l1\": {\"index\": \"bits:[7,8]\", \"sets\": 4}", NULL},
    {"\"l1\": {\"index\": \"bits:[7,8,9]\", \"sets\": 6}",
     "elements.l1.index: 3 bits select 8 sets, but there are 6"},
    {"\"l1\": {\"index\": \"bits:[7,7]\"}", "elements.l1.index: 'bits:[7,7]' is not one of"},
    {"\"l1\": {\"index\": \"bits:[7,\"}", "elements.l1.index: 'bits:[7,' is not one of"},
    {"\"l1\": {\"default_size_bytes\": 65536, \"size_bytes\": 32768}",
     "elements.l1.default_size_bytes: 65536 exceeds size_bytes (32768)"},
    {"\"l1\": {\"caches\": []}", NULL},
    {"\"l1\": {\"caches\": [\"texture\"]}",
     "elements.l1.caches: 'texture' is not one of global, local"},
    {"\"l2\": {\"size_bytes\": 4096, \"line_bytes\": 128, \"sets\": 4, \"ways\": 4, "
     "\"partitions\": 2}",
     NULL},
    {"\"l2\": {\"size_bytes\": 4096, \"line_bytes\": 128, \"sets\": 8, \"ways\": 4, "
     "\"partitions\": 2}",
     "elements.l2.size_bytes: 2048 per partition, but"},
    {"\"tlb_l2\": {\"set_ways\": [17, 8, 8, 8, 8, 8, 8], \"page_bytes\": 2097152, \"entries\": 65, "
     "\"reach_bytes\": 136314880, \"sets\": 7}",
     NULL},
    {"\"tlb_l2\": {\"set_ways\": [17, 8], \"entries\": 24}",
     "elements.tlb_l2.entries: 24, but the ways of all sets are 25"},
    {"\"tlb_l2\": {\"set_ways\": [17, 8], \"sets\": 3}",
     "elements.tlb_l2.sets: 3, but set_ways has length 2"},
    {"\"tlb_l2\": {\"set_ways\": [17, 8], \"ways\": 8}",
     "elements.tlb_l2.ways: 8, but set_ways contains 17"},
    {"\"tlb_l2\": {\"set_ways\": []}", "elements.tlb_l2.set_ways: is an empty list"},
    {"\"tlb_l2\": {\"set_ways\": [17, \"8\"]}",
     "elements.tlb_l2.set_ways[1]: expected a number, found a string"},
    {"\"tlb_l1\": {\"entries\": 16, \"page_bytes\": 2097152, \"reach_bytes\": 1}",
     "elements.tlb_l1.reach_bytes: 1, but 16 entries x page_bytes (2097152) are 33554432"},
    {"\"l1\": {\"shared_with\": [\"texture\"]}, \"texture\": {}",
     "elements.l1.shared_with: contains texture, but elements.texture.shared_with does not contain "
     "l1"},
    {"\"l1\": {\"shared_with\": [\"texture\"]}, \"texture\": {\"shared_with\": [\"l1\"]}", NULL},
    {"\"l1\": {\"shared_with\": [\"texture\"]}",
     "elements.l1.shared_with: 'texture' is not an element"},
    {"\"l1\": {\"shared_with\": [\"device\"]}",
     "elements.l1.shared_with: 'device' is not an element"},
    {"\"l1\": {\"shared_with\": [\"l1\"]}", "elements.l1.shared_with: contains the element itself"},
    {"\"l1\": {\"shared_with\": \"texture\"}", "elements.l1.shared_with: expected a list"},
    {"\"l1\": {\"sets\": {\"value\": 4, \"source\": \"guessed\"}}",
     "elements.l1.sets.source: 'guessed' is not one of"},
    {"\"l1\": {\"sets\": {\"value\": 4, \"confidence\": 1.5}}",
     "elements.l1.sets: confidence 1.5 is not between 0 and 1"},
    {"\"l1\": {\"sets\": {\"value\": 4, \"low\": 5}}",
     "elements.l1.sets: low 5 is above the value"},
    {"\"l1\": {\"sets\": {\"value\": 4, \"high\": 3}}", "elements.l1.sets: high 3 is below"},
    {"\"l1\": {\"sets\": {\"value\": 4, \"low\": 3, \"high\": 5, \"samples\": 10}}", NULL},
    {"\"l1\": {\"sets\": {\"value\": 4, \"samples\": -1}}", "elements.l1.sets: samples -1 is not"},
    {"\"l1\": {\"index\": {\"value\": \"mod\", \"low\": 3}}", "only a number has an interval"},
    {"\"l1\": {\"sets\": {\"value\": 4, \"note\": 5}}", "elements.l1.sets.note: expected a string"},
    {"\"l1\": {\"sets\": {\"value\": 4, \"reference\": \"nobody, Table 1\"}}",
     "elements.l1.sets: reference 'nobody' is not in \"references\""},
    {"\"l1\": {\"sets\": 4, \"unknown\": {\"sets\": \"no source\"}}",
     "elements.l1.sets: has a value and is also in \"unknown\""},
    {"\"l1\": {\"unknown\": {\"sets\": 5}}", "elements.l1.unknown.sets: expected a string"},
    {"\"l1\": {\"unknown\": []}", "elements.l1.unknown: expected an object"},
    {"\"l1\": {\"sets\": 4, \"sets\": 4}", "at elements.l1.sets: duplicate object key"},
    {"\"l1\": {\"latency_cycles\": NaN}",
     "at elements.l1.latency_cycles: invalid token near 'NaN'"},
    {"\"device\": {}", "the section already exists"},
    {"\"vector_l1\": {\"write_hit\": \"update\"}, \"scalar_l1\": {\"scope\": \"group\"}, "
     "\"lds\": {\"banks\": 32}, \"l2\": {\"latency_cycles\": 213}, "
     "\"l3\": {\"latency_cycles\": 213, \"instances\": 2}",
     NULL},
    {"\"l2\": {\"latency_cycles\": 213}, \"l3\": {\"latency_cycles\": 212.5}",
     "elements.l3.latency_cycles: 212.5 is below elements.l2.latency_cycles (213)"},
    {"\"lds\": {}, \"shared\": {}", "elements.lds: present, but elements.shared is present, too"},
    {"\"lds\": {\"carveout_bytes\": [0, 8192]}",
     "elements.lds.carveout_bytes: present, but LDS has a fixed size"},
};

static void inconsistent_elements_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(element_rows); i++) {
        const char *text = make_document(element_rows[i].elements);
        struct fth_gpu *gpu = NULL;
        struct fth_error error = NO_ERROR;
        enum fth_status status =
            fth_gpu_read_text("x.json", text, strlen(text), NULL, &gpu, &error);
        if (!element_rows[i].cause) {
            if (status != FTH_OK)
                fail_msg("%s: %s", element_rows[i].elements, error.cause);
        } else {
            if (status == FTH_OK)
                fail_msg("accepted: %s", element_rows[i].elements);
            assert_contains(error.cause, element_rows[i].cause);
            assert_null(gpu);
        }
        fth_gpu_destroy(gpu);
    }
}

/* The number of instances, and of the SMs that share one, must fit the SMs of the device. */
static void instances_fit_the_device(void **state)
{
    (void)state;
    static const struct {
        const char *device, *element;
        const char *cause; /* NULL: accepted */
    } rows[] = {
        {"\"sms\": 304, \"xcds\": 8",
         "\"scope\": \"group\", \"instances\": 8, "
         "\"sms_per_instance\": 38",
         NULL},
        {"\"sms\": 104", "\"instances\": 56, \"sms_per_instance\": 2", NULL},
        {"\"sms\": 4", "\"instances\": 8, \"per_sm\": 2, \"scope\": \"sm\"", NULL},
        {"\"sms\": 4", "\"instances\": 1, \"sms_per_instance\": 4, \"scope\": \"gpu\"", NULL},
        {"\"kind\": \"cpu\"", "\"instances\": 9, \"sms_per_instance\": 5", NULL},
        {"\"sms\": 4", "\"sms_per_instance\": 5", "l2.sms_per_instance: 5 exceeds device.sms (4)"},
        {"\"sms\": 4", "\"instances\": 5", "l2.instances: 5 are more than device.sms (4)"},
        {"\"sms\": 4", "\"instances\": 9, \"per_sm\": 2",
         "l2.instances: 9 are more than device.sms (4) x per_sm"},
        {"\"sms\": 304", "\"instances\": 8, \"sms_per_instance\": 37",
         "l2.instances: 8 of 37 SMs each are too few for device.sms (304)"},
        {"\"sms\": 4", "\"sms_per_instance\": 2, \"per_sm\": 1",
         "l2.sms_per_instance: 2, but per_sm is present, too"},
        {"\"sms\": 4", "\"sms_per_instance\": 2, \"scope\": \"sm\"",
         "l2.scope: sm, but an instance serves several SMs"},
        {"\"sms\": 4", "\"instances\": 3, \"scope\": \"sm\"",
         "l2.scope: sm, but an instance serves several SMs"},
        {"\"sms\": 4", "\"instances\": 2, \"scope\": \"gpu\"",
         "l2.scope: gpu, but an instance does not serve all SMs"},
        {"\"sms\": 4", "\"sms_per_instance\": 3, \"scope\": \"gpu\"",
         "l2.scope: gpu, but an instance does not serve all SMs"},
        {"\"sms\": 4, \"xcds\": 5", "", "device.xcds: 5 exceeds sms (4)"},
        {"\"sms\": 4, \"shader_arrays\": 5", "", "device.shader_arrays: 5 exceeds sms (4)"},
        {"\"kind\": \"fpga\"", "", "device.kind: 'fpga' is not one of gpu, cpu, accelerator"},
        {"\"clock_resolution_cycles\": 0", "", "device.clock_resolution_cycles: 0 is not greater"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[512];
        struct fth_gpu *gpu = NULL;
        struct fth_error error = NO_ERROR;
        snprintf(text, sizeof text,
                 "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", %s}, "
                 "\"elements\": {\"l2\": {%s}}}",
                 rows[i].device, rows[i].element);
        const enum fth_status status =
            fth_gpu_read_text("x.json", text, strlen(text), NULL, &gpu, &error);
        if (status != (rows[i].cause ? FTH_INVALID : FTH_OK))
            fail_msg("%s: %s", text, gpu ? "accepted" : error.cause);
        if (rows[i].cause)
            assert_contains(error.cause, rows[i].cause);
        fth_gpu_destroy(gpu);
    }
}

static void invalid_documents_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
    } rows[] = {
        {"[]", "the document: expected an object, found a list"},
        {"{}", "schema: missing"},
        {"{\"schema\": 1}", "schema: missing"},
        {"{\"schema\": \"fathom-gpu/2\"}", "schema: 'fathom-gpu/2' is not supported"},
        {"{\"schema\": \"fathom-gpu/1\"}", "device: missing"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}}", "elements: missing"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {}, \"elements\": {}}",
         "device.name: missing"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"\"}, \"elements\": {}}",
         "device.name: is empty"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"compute_capability\": "
         "\"nine\"}, \"elements\": {}}",
         "device.compute_capability: 'nine' does not have the form 9.0"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}, \"elements\": {}, "
         "\"noise\": {\"outlier_rate\": 2}}",
         "noise.outlier_rate: 2 is not between 0 and 1"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}, \"elements\": {}, "
         "\"references\": []}",
         "references: expected an object"},
        {"{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}, \"elements\": []}",
         "elements: expected an object"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_gpu *gpu = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(
            fth_gpu_read_text("x.json", rows[i].text, strlen(rows[i].text), NULL, &gpu, &error),
            FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
        assert_string_equal(error.argument, "x.json");
    }
}

static void values_set_by_a_program_are_validated(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_valid(make_document("\"l1\": {}"));
    struct fth_attribute attribute = fth_attribute_make("latency_cycles", FTH_NUMBER);
    static const double invalid[] = {NAN, INFINITY, -1, 1e300};
    for (size_t i = 0; i < FTH_COUNT(invalid); i++) {
        attribute.number = invalid[i];
        assert_int_equal(fth_gpu_set(gpu, fth_gpu_section(gpu, "l1"), &attribute, NULL), FTH_OK);
        assert_int_equal(fth_gpu_validate(gpu, NULL), FTH_INVALID);
    }
    attribute.number = 32;
    assert_int_equal(fth_gpu_set(gpu, fth_gpu_section(gpu, "l1"), &attribute, NULL), FTH_OK);
    assert_int_equal(fth_gpu_validate(gpu, NULL), FTH_OK);
    assert_int_equal(fth_gpu_attribute_count(gpu, "l1"), 1);
    attribute = fth_attribute_make("sets", FTH_TEXT);
    attribute.text = "four";
    assert_int_equal(fth_gpu_set(gpu, fth_gpu_section(gpu, "l1"), &attribute, NULL), FTH_OK);
    assert_int_equal(fth_gpu_validate(gpu, NULL), FTH_INVALID);
    fth_gpu_destroy(gpu);
}

/* ---- reading and writing ---- */

static void unknown_attributes_are_warned_about_and_kept(void **state)
{
    (void)state;
    static const struct {
        const char *elements, *warning;
    } rows[] = {
        {"\"l1\": {\"siz_bytes\": 5}", "x: elements.l1.siz_bytes: unknown attribute, kept "
                                       "unchanged (did you mean 'size_bytes'?)"},
        {"\"l1\": {\"colour\": {\"deep\": [1.5, null, \"x\"]}}",
         "x: elements.l1.colour: unknown attribute, kept unchanged"},
        {"\"l4\": {\"size_bytes\": 5}", "x: elements.l4.size_bytes: unknown attribute"},
        {"\"l1\": {\"sets\": {\"value\": 4, \"mood\": 1}}",
         "x: elements.l1.sets.mood: unknown field, ignored"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct warnings warnings = {"", 0};
        struct fth_log log = {capture_warning, NULL, NULL, &warnings};
        struct fth_gpu *gpu = NULL;
        const char *text = make_document(rows[i].elements);
        assert_int_equal(fth_gpu_read_text("x", text, strlen(text), &log, &gpu, NULL), FTH_OK);
        assert_contains(warnings.text, rows[i].warning);
        char *once = write_to_text(gpu);
        struct fth_gpu *again = read_valid(once);
        char *twice = write_to_text(again);
        assert_string_equal(once, twice);
        assert_int_equal(fth_gpu_compare(gpu, again, NULL, NULL), 0);
        fth_free(once);
        fth_free(twice);
        fth_gpu_destroy(gpu);
        fth_gpu_destroy(again);
    }
    struct fth_gpu *gpu = read_valid(make_document(rows[1].elements));
    const struct fth_attribute *kept = fth_gpu_attribute(gpu, "l1", "colour");
    assert_int_equal(kept->kind, FTH_RAW);
    assert_string_equal(kept->text, "{\"deep\":[1.5,null,\"x\"]}");
    fth_gpu_destroy(gpu);
}

static void plain_and_annotated_attributes_are_read(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_valid(
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", \"sms\": 4},"
        " \"elements\": {\"l1\": {\"size_bytes\": 16384, \"latency_cycles\": {\"value\": 32.5,"
        " \"source\": \"measured\", \"method\": \"chase\", \"confidence\": 0.998, \"samples\": "
        "4096,"
        " \"low\": 32, \"high\": 33, \"note\": \"n\", \"reference\": \"a, Table 1; b\"},"
        " \"shared_with\": [\"texture\"], \"unknown\": {\"sets\": \"why\"}},"
        " \"texture\": {\"shared_with\": {\"value\": [\"l1\"]}},"
        " \"tlb_l2\": {\"set_ways\": [17, 8]}},"
        " \"references\": {\"a\": \"A\", \"b\": \"B\"}}");
    assert_int_equal(fth_gpu_element_count(gpu), 3);
    assert_string_equal(fth_gpu_element_name(gpu, 1), "texture");
    assert_null(fth_gpu_element_name(gpu, 3));
    assert_true(fth_gpu_number(gpu, "device", "sms", NAN) == 4);
    assert_true(isnan(fth_gpu_number(gpu, "device", "clock_mhz", NAN)));
    assert_true(fth_gpu_number(gpu, "nowhere", "x", -1) == -1);
    assert_string_equal(fth_gpu_text(gpu, "device", "name"), "x");
    assert_null(fth_gpu_text(gpu, "device", "sms"));
    const struct fth_attribute *plain = fth_gpu_attribute(gpu, "l1", "size_bytes");
    assert_int_equal(plain->source, FTH_SOURCE_NONE);
    assert_true(isnan(plain->confidence) && isnan(plain->low) && isnan(plain->samples));
    const struct fth_attribute *full = fth_gpu_attribute(gpu, "l1", "latency_cycles");
    assert_true(full->number == 32.5 && full->low == 32 && full->high == 33);
    assert_true(full->confidence == 0.998 && full->samples == 4096);
    assert_int_equal(full->source, FTH_SOURCE_MEASURED);
    assert_string_equal(full->method, "chase");
    assert_string_equal(full->reference, "a, Table 1; b");
    assert_string_equal(full->note, "n");
    const struct fth_attribute *list = fth_gpu_attribute(gpu, "tlb_l2", "set_ways");
    assert_int_equal(list->count, 2);
    assert_true(list->numbers[0] == 17 && list->numbers[1] == 8);
    assert_string_equal(fth_gpu_attribute(gpu, "texture", "shared_with")->texts[0], "l1");
    assert_string_equal(fth_gpu_unknown(gpu, "l1", "sets"), "why");
    assert_null(fth_gpu_unknown(gpu, "l1", "ways"));
    assert_null(fth_gpu_attribute_at(gpu, "l1", 99));
    fth_gpu_destroy(gpu);
    fth_gpu_destroy(NULL);
}

/* A document with many elements and an unknown attribute, the placeholder of an abridged example.
 * It must be read, with one warning. */
static void example_with_placeholder_is_read(void **state)
{
    (void)state;
    struct warnings warnings = {"", 0};
    struct fth_log log = {capture_warning, NULL, NULL, &warnings};
    static const char text[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"NVIDIA H200\", \"vendor\": "
        "\"NVIDIA\", \"compute_capability\": \"9.0\", \"sms\": 132, \"warp_size\": 32, "
        "\"clock_mhz\": 1980, \"max_threads_per_block\": 1024, \"schedulers_per_sm\": 4, "
        "\"backend\": \"cuda\", \"driver\": \"580.159.04\"}, \"noise\": {\"seed\": 1, "
        "\"jitter_cycles\": 0, \"outlier_rate\": 0}, \"elements\": {\"l1\": {\"scope\": \"sm\", "
        "\"size_bytes\": 262144, \"line_bytes\": 128, \"sector_bytes\": 32, \"sets\": 4, \"ways\": "
        "512, \"index\": \"mod\", \"policy\": \"lru\", \"latency_cycles\": 32, \"per_sm\": 1, "
        "\"shared_with\": [\"texture\", \"readonly\"]}, \"texture\": {\"scope\": \"sm\", "
        "\"shared_with\": [\"l1\"]}, \"readonly\": {\"shared_with\": [\"l1\"]}, \"constant_l1\": "
        "{}, \"constant_l15\": {}, \"instruction_l0\": {}, \"instruction_l1\": {}, "
        "\"instruction_l15\": {}, \"shared\": {\"scope\": \"sm\", \"size_bytes\": 233472, "
        "\"latency_cycles\": 29, \"banks\": 32, \"bank_bytes\": 4, \"conflict_cycles\": 2}, "
        "\"l2\": {\"scope\": \"gpu\", \"size_bytes\": 62914560, \"partitions\": 2, "
        "\"far_latency_cycles\": 512, \"\xe2\x80\xa6\": \"\xe2\x80\xa6\"}, \"tlb_l1\": {\"scope\": "
        "\"gpu\", \"page_bytes\": 2097152, \"set_ways\": [16], \"policy\": \"lru\", "
        "\"miss_penalty_cycles\": 27}, \"tlb_l2\": {\"page_bytes\": 2097152, \"set_ways\": [17, 8, "
        "8, 8, 8, 8, 8]}, \"memory\": {\"scope\": \"gpu\", \"size_bytes\": 150754820096, "
        "\"latency_cycles\": 662, \"read_bytes_per_s\": 4.3e12, \"write_bytes_per_s\": 0, "
        "\"copy_bytes_per_s\": 0}, \"registers\": {\"scope\": \"sm\", \"size_bytes\": 262144}}}";
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("design", text, strlen(text), &log, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(warnings.count, 1); /* about the placeholder */
    fth_gpu_destroy(gpu);
}

/* ---- comparing ---- */

/* The paths of all differences, each followed by + if only b has the attribute, or by - if only a
 * has it. */
struct difference_list {
    char text[512];
};

static void append_difference(void *user, const struct fth_difference *d)
{
    struct difference_list *difference_list = user;
    size_t used = strlen(difference_list->text);
    snprintf(difference_list->text + used, sizeof difference_list->text - used, "%s.%s%s ",
             d->section, d->name,
             !d->a   ? "+"
             : !d->b ? "-"
                     : "");
}

static void compare_reports_differences(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *differences;
    } rows[] = {
        {"\"l1\": {\"sets\": 4}", "\"l1\": {\"sets\": 4}", ""},
        {"\"l1\": {\"sets\": 4}", "\"l1\": {\"sets\": 8}", "l1.sets "},
        {"\"l1\": {\"sets\": 4, \"ways\": 2}", "\"l1\": {\"sets\": 4}", "l1.ways- "},
        {"\"l1\": {\"sets\": 4}", "\"l1\": {\"sets\": 4, \"ways\": 2}", "l1.ways+ "},
        {"", "\"l1\": {\"sets\": 4}", "l1.sets+ "},
        {"\"l1\": {\"sets\": 4}", "\"l1\": {\"sets\": {\"value\": 4, \"note\": \"n\"}}", ""},
        {"\"l1\": {\"latency_cycles\": {\"value\": 32, \"low\": 31, \"high\": 33}}",
         "\"l1\": {\"latency_cycles\": {\"value\": 34, \"low\": 33, \"high\": 35}}", ""},
        {"\"l1\": {\"latency_cycles\": {\"value\": 32, \"low\": 31, \"high\": 33}}",
         "\"l1\": {\"latency_cycles\": {\"value\": 35, \"low\": 34, \"high\": 36}}",
         "l1.latency_cycles "},
        {"\"l1\": {\"latency_cycles\": {\"value\": 32, \"high\": 33}}",
         "\"l1\": {\"latency_cycles\": 33}", ""},
        {"\"l1\": {\"policy\": \"lru\"}", "\"l1\": {\"policy\": \"fifo\"}", "l1.policy "},
        {"\"tlb_l1\": {\"set_ways\": [16, 8]}", "\"tlb_l1\": {\"set_ways\": [8, 16]}",
         "tlb_l1.set_ways "},
        {"\"l1\": {\"caches\": [\"global\", \"local\"]}",
         "\"l1\": {\"caches\": [\"local\", "
         "\"global\"]}",
         ""},
        {"\"l1\": {\"caches\": [\"global\"]}", "\"l1\": {\"caches\": [\"local\"]}", "l1.caches "},
        {"\"l1\": {\"caches\": [\"global\"]}", "\"l1\": {\"caches\": []}", "l1.caches "},
        {"\"l1\": {\"new\": [1]}", "\"l1\": {\"new\": [2]}", "l1.new "},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_gpu *a = read_valid(make_document(rows[i].a)),
                       *b = read_valid(make_document(rows[i].b));
        struct difference_list difference_list = {""};
        size_t count = fth_gpu_compare(a, b, append_difference, &difference_list);
        assert_string_equal(difference_list.text, rows[i].differences);
        assert_int_equal(count, *rows[i].differences ? 1 : 0);
        fth_gpu_destroy(a);
        fth_gpu_destroy(b);
    }
}

/* ---- the schema and its documentation ---- */

static void every_attribute_is_documented(void **state)
{
    (void)state;
    size_t size;
    char *text = read_source_file("docs/gpu-description.md", &size);
    const struct fth_attribute_def *attribute;
    for (size_t i = 0; (attribute = fth_schema_attribute_at(i)); i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "`%s`", attribute->name);
        assert_contains(text, quoted);
    }
    const struct fth_element_def *element;
    for (size_t i = 0; (element = fth_schema_element_at(i)); i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "`%s`", element->name);
        assert_contains(text, quoted);
    }
    fth_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inconsistent_elements_are_refused),
        cmocka_unit_test(instances_fit_the_device),
        cmocka_unit_test(invalid_documents_are_refused),
        cmocka_unit_test(values_set_by_a_program_are_validated),
        cmocka_unit_test(unknown_attributes_are_warned_about_and_kept),
        cmocka_unit_test(plain_and_annotated_attributes_are_read),
        cmocka_unit_test(example_with_placeholder_is_read),
        cmocka_unit_test(compare_reports_differences),
        cmocka_unit_test(every_attribute_is_documented),
    };
    return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
