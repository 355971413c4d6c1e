/* Runs the differential suite on a real GPU and writes its results to a golden file.
 *
 *   harvest OUT.zst     run every case on cuda:0 and write the golden file
 *   harvest --full OUT  the same, with all results instead of digests, to find out which differ
 *   harvest --list      list the cases; needs no GPU
 *   harvest --ptx DIR   write the PTX module of every family; needs no GPU
 *
 * tests/differential/build-harvest builds it for a machine that has only NVIDIA's driver. */
#include "device/cuda/cuda.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct run {
    struct fth_cuda cuda;
    struct diff_suite *suite;
    struct diff_golden golden;
    uint64_t input, output; /* device memory, large enough for every case */
    size_t failures;
    bool full; /* write all results, also of cases of which the golden file has only digests */
};

static void print_error(const char *what, const struct fth_error *error)
{
    char text[1024];
    fprintf(stderr, "harvest: %s: %s\n", what, fth_error_text(error, text, sizeof text));
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int list_cases(const struct diff_suite *suite)
{
    size_t values = 0, ptx = 0, input = 0, output = 0;
    for (size_t f = 0; f < suite->family_count; f++) {
        const struct diff_family *family = &suite->families[f];
        ptx += family->ptx_bytes;
        for (size_t i = 0; i < family->count; i++) {
            const struct diff_case *c = &suite->cases[family->first + i];
            printf("%s: %s, %zu threads, %016llx\n", family->name, c->name, c->threads,
                   (unsigned long long)c->hash);
            values += c->threads * c->per_thread * c->results;
            input += c->input_bytes;
            output += c->output_bytes;
        }
    }
    printf(
        "%zu cases in %zu families, %zu values, %zu bytes of PTX, %zu of operands, %zu of results"
        ", hash %016llx\n",
        suite->case_count, suite->family_count, values, ptx, input, output,
        (unsigned long long)suite->hash);
    return 0;
}

static int write_ptx(const struct diff_suite *suite, const char *folder)
{
    for (size_t f = 0; f < suite->family_count; f++) {
        char path[4096], name[64];
        struct fth_error error = FTH_NO_ERROR;
        snprintf(name, sizeof name, "%s", suite->families[f].name);
        for (char *at = name; *at; at++)
            if (*at == ' ')
                *at = '-';
        snprintf(path, sizeof path, "%s/%s.ptx", folder, name);
        if (fth_file_write(path, suite->families[f].ptx, suite->families[f].ptx_bytes, &error) !=
            FTH_OK) {
            print_error("--ptx", &error);
            return 1;
        }
    }
    return 0;
}

static enum fth_status run_case(struct run *run, fth_cu_module module, const struct diff_case *c,
                                struct fth_error *error)
{
    struct diff_golden_case *golden_case = &run->golden.cases[run->golden.count];
    unsigned char *output = calloc(c->output_bytes, 1);
    if (!output)
        return fth_fail(error, FTH_NO_MEMORY, "run", c->name, "out of memory");
    fth_cu_function function;
    const uint64_t arguments[] = {run->input, run->output};
    const struct fth_cuda_launch launch = {.grid = {c->grid[0], c->grid[1], c->grid[2]},
                                           .block = {c->block[0], c->block[1], c->block[2]},
                                           .arguments = arguments,
                                           .argument_bytes = sizeof arguments};
    enum fth_status status = fth_cuda_function(&run->cuda, module, c->entry, &function, error);
    if (status == FTH_OK && c->input_bytes)
        status = fth_cuda_upload(&run->cuda, run->input, c->input, c->input_bytes, error);
    if (status == FTH_OK)
        status = fth_cuda_fill(&run->cuda, run->output, 0, c->output_bytes, error);
    if (status == FTH_OK)
        status = fth_cuda_launch(&run->cuda, function, &launch, error);
    if (status == FTH_OK)
        status = fth_cuda_synchronize(&run->cuda, error);
    if (status == FTH_OK)
        status = fth_cuda_download(&run->cuda, output, run->output, c->output_bytes, error);
    if (status != FTH_OK) {
        free(output);
        return status;
    }
    if (!run->full)
        diff_digest(c, output);
    snprintf(golden_case->name, sizeof golden_case->name, "%s", c->name);
    golden_case->hash = c->hash;
    golden_case->output = output;
    golden_case->bytes = run->full ? c->output_bytes : diff_golden_bytes(c);
    run->golden.count++;
    return FTH_OK;
}

/* Compiles and runs each case of a family separately, to find the cases that do not compile. */
static void run_cases_separately(struct run *run, const struct diff_family *family)
{
    size_t head = (size_t)(strstr(family->ptx, ".visible .entry") - family->ptx);
    for (size_t i = 0; i < family->count; i++) {
        const struct diff_case *c = &run->suite->cases[family->first + i];
        struct fth_error error = FTH_NO_ERROR;
        struct fth_buffer text = {0};
        fth_cu_module module = NULL;
        fth_buffer_append(&text, family->ptx, head);
        fth_buffer_text(&text, c->ptx);
        enum fth_status status = fth_cuda_module_load(&run->cuda, text.data, &module, &error);
        if (status == FTH_OK)
            status = run_case(run, module, c, &error);
        if (status != FTH_OK) {
            print_error(c->name, &error);
            run->failures++;
        }
        fth_cuda_module_unload(&run->cuda, module);
        fth_buffer_fini(&text);
    }
}

static void run_family(struct run *run, const struct diff_family *family)
{
    struct fth_error error = FTH_NO_ERROR;
    fth_cu_module module = NULL;
    double start = now();
    if (fth_cuda_module_load(&run->cuda, family->ptx, &module, &error) != FTH_OK) {
        print_error(family->name, &error);
        run_cases_separately(run, family);
        return;
    }
    double loaded = now();
    for (size_t i = 0; i < family->count; i++) {
        const struct diff_case *c = &run->suite->cases[family->first + i];
        struct fth_error failure = FTH_NO_ERROR;
        if (run_case(run, module, c, &failure) != FTH_OK) {
            print_error(c->name, &failure);
            run->failures++;
        }
    }
    fth_cuda_module_unload(&run->cuda, module);
    printf("%-28s %4zu cases, compiled in %.2f s, run in %.2f s\n", family->name, family->count,
           loaded - start, now() - loaded);
    fflush(stdout);
}

static int harvest(struct run *run, const char *path)
{
    struct fth_error error = FTH_NO_ERROR;
    fth_cu_context context = NULL;
    fth_cu_device device = 0;
    int version = 0;
    size_t input = 1, output = 1;
    for (size_t i = 0; i < run->suite->case_count; i++) {
        const struct diff_case *c = &run->suite->cases[i];
        input = c->input_bytes > input ? c->input_bytes : input;
        output = c->output_bytes > output ? c->output_bytes : output;
    }
    enum fth_status status = fth_cuda_open(&run->cuda, &error);
    if (status != FTH_OK) {
        print_error("cuda:0", &error);
        return 3;
    }
    run->golden.cases = calloc(run->suite->case_count + 1, sizeof *run->golden.cases);
    if (!run->golden.cases)
        status = fth_fail(&error, FTH_NO_MEMORY, "run", NULL, "out of memory");
    if (status == FTH_OK)
        status = fth_cuda_context_open(&run->cuda, 0, &context, &error);
    if (status == FTH_OK)
        status = fth_cuda_alloc(&run->cuda, input, &run->input, &error);
    if (status == FTH_OK)
        status = fth_cuda_alloc(&run->cuda, output, &run->output, &error);
    if (status == FTH_OK &&
        (run->cuda.device_get(&device, 0) != 0 ||
         run->cuda.device_name(run->golden.gpu, sizeof run->golden.gpu, device) != 0 ||
         run->cuda.driver_version(&version) != 0))
        status = fth_fail(&error, FTH_UNAVAILABLE, "query the CUDA driver", NULL,
                          "cannot read the name of the GPU or the version");
    if (status == FTH_OK) {
        run->golden.driver = (uint32_t)version;
        printf("%s, CUDA %d.%d\n", run->golden.gpu, version / 1000, version % 1000 / 10);
        for (size_t f = 0; f < run->suite->family_count; f++)
            run_family(run, &run->suite->families[f]);
        status = diff_golden_write(path, run->suite, &run->golden, &error);
    }
    if (status != FTH_OK)
        print_error("cannot run the suite", &error);
    size_t bytes = 0;
    for (size_t i = 0; run->golden.cases && i < run->golden.count; i++)
        bytes += run->golden.cases[i].bytes;
    printf("%zu of %zu cases, %zu bytes of results, %zu failures\n", run->golden.count,
           run->suite->case_count, bytes, run->failures);
    fth_cuda_free(&run->cuda, run->input);
    fth_cuda_free(&run->cuda, run->output);
    fth_cuda_context_close(&run->cuda, 0, context);
    fth_cuda_close(&run->cuda);
    return status == FTH_OK && run->failures == 0 ? 0 : 1;
}

int main(int count, char *words[])
{
    struct run run = {.failures = 0};
    struct fth_error error = FTH_NO_ERROR;
    run.full = count == 3 && strcmp(words[1], "--full") == 0;
    if (count < 2 || count > 3 || (count == 3) != (run.full || strcmp(words[1], "--ptx") == 0)) {
        fprintf(stderr, "usage: harvest [--full] OUT.zst | --list | --ptx DIR\n");
        return 2;
    }
    if (diff_suite_create(&run.suite, &error) != FTH_OK) {
        print_error("cannot build the suite", &error);
        return 1;
    }
    int code = strcmp(words[1], "--list") == 0  ? list_cases(run.suite)
               : strcmp(words[1], "--ptx") == 0 ? write_ptx(run.suite, words[2])
                                                : harvest(&run, words[count - 1]);
    diff_golden_fini(&run.golden);
    diff_suite_destroy(run.suite);
    return code;
}
