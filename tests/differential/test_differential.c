/* Compares the PTX engine with a real GPU: runs every case of the suite on the engine and compares
 * the results with those of the GPU in golden.zst. Prints TAP, one line per family.
 *
 *   FATHOM_DIFFERENTIAL=NAME test_differential
 *
 * runs only the family or case of this name, and prints its kernels and up to 200 differences per
 * case. */
#include "ptx/ptx.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of differences to print per case: in a full run, and with FATHOM_DIFFERENTIAL. */
enum { SHOWN = 3, SHOWN_VERBOSE = 200 };

/* FATHOM_GOLDEN=FILE names another golden file. */
static const char golden_path[] = FTH_SOURCE_ROOT "/tests/differential/golden.zst";

struct test {
    struct diff_suite *suite;
    struct diff_golden golden;
    const struct diff_golden_case **by_name; /* sorted by name */
    const char *only;                        /* family or case; NULL: all */
    size_t number;                           /* of the last TAP line */
    size_t failed;                           /* TAP lines that failed */
};

static int compare_names(const void *a, const void *b)
{
    const struct diff_golden_case *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static const struct diff_golden_case *find_golden_case(const struct test *test, const char *name)
{
    struct diff_golden_case key = {.hash = 0};
    snprintf(key.name, sizeof key.name, "%s", name);
    const struct diff_golden_case *wanted = &key;
    const struct diff_golden_case **found =
        bsearch(&wanted, test->by_name, test->golden.count, sizeof *test->by_name, compare_names);
    return found ? *found : NULL;
}

static bool is_selected(const struct test *test, const struct diff_case *c)
{
    return !test->only || strcmp(test->only, c->family) == 0 || strcmp(test->only, c->name) == 0;
}

static void print_value(enum diff_type type, uint64_t bits)
{
    const struct diff_type_info *info = diff_type_info(type);
    printf("0x%0*llx", (int)info->bytes * 2, (unsigned long long)bits);
    if (info->mantissa_bits && !info->packed)
        printf(" (%.9g)", diff_decode(type, bits));
}

static void print_difference(const struct diff_case *c, unsigned result, size_t index, uint64_t got,
                             uint64_t expected)
{
    size_t thread = index / c->per_thread;
    printf("#   [%zu]", index);
    for (unsigned o = 0; o < c->operands; o++) {
        printf(" %c = ", "abce"[o]);
        print_value(c->operand[o], diff_operand(c, o, thread));
    }
    printf(": %c is ", "dq"[result]);
    print_value(c->result[result], got);
    printf(", on the GPU ");
    print_value(c->result[result], expected);
    printf("\n");
}

/* Runs the case on the engine and copies its results to `output`. */
static enum fth_status run_case(struct fth_ptx_machine *machine, const struct diff_case *c,
                                unsigned char *output, struct fth_error *error)
{
    uint64_t addresses[2] = {0, 0};
    enum fth_status status =
        fth_ptx_alloc(machine, c->input_bytes ? c->input_bytes : 16, &addresses[0], error);
    if (status == FTH_OK)
        status = fth_ptx_alloc(machine, c->output_bytes, &addresses[1], error);
    if (status == FTH_OK && c->input_bytes) {
        void *input = fth_ptx_host(machine, addresses[0], c->input_bytes);
        if (input)
            memcpy(input, c->input, c->input_bytes);
    }
    struct fth_ptx_launch launch = {.kernel = c->entry,
                                    .arguments = addresses,
                                    .argument_bytes = sizeof addresses,
                                    .threads = 1,
                                    .max_instructions = 100000};
    memcpy(launch.grid, c->grid, sizeof launch.grid);
    memcpy(launch.block, c->block, sizeof launch.block);
    if (status == FTH_OK)
        status = fth_ptx_run(machine, &launch, NULL, error);
    if (status == FTH_OK) {
        const void *written = fth_ptx_host(machine, addresses[1], c->output_bytes);
        if (written)
            memcpy(output, written, c->output_bytes);
        else
            status = fth_fail(error, FTH_INVALID, "run", c->name, "cannot access its output");
    }
    for (int i = 0; i < 2; i++)
        if (addresses[i] && fth_ptx_free(machine, addresses[i], NULL) != FTH_OK)
            status = fth_fail(error, FTH_INVALID, "run", c->name, "cannot free its memory");
    return status;
}

/* Compares digests of the results, each of 32 threads. */
static bool compare_digests(const struct diff_case *c, unsigned char *output,
                            const unsigned char *expected, size_t *values)
{
    size_t different = 0;
    diff_digest(c, output);
    for (size_t at = 0; at < diff_golden_bytes(c); at += sizeof(uint64_t))
        if (memcmp(output + at, expected + at, sizeof(uint64_t)) != 0 && different++ < SHOWN)
            printf("# %s: results of warp %zu differ\n", c->name, at / sizeof(uint64_t));
    *values += c->threads * c->per_thread;
    return different == 0;
}

static bool compare_results(const struct test *test, const struct diff_case *c,
                            const unsigned char *output, const unsigned char *expected,
                            size_t *values)
{
    size_t different = 0, shown = test->only ? SHOWN_VERBOSE : SHOWN, all = 0;
    for (unsigned r = 0; r < c->results; r++)
        for (size_t i = 0; i < c->threads * c->per_thread; i++, all++) {
            uint64_t got = diff_result(c, output, r, i), want = diff_result(c, expected, r, i);
            if (got == want)
                continue;
            if (different == 0)
                printf("# %s:\n", c->name);
            if (different++ < shown)
                print_difference(c, r, i, got, want);
        }
    if (different > shown)
        printf("#   … %zu more\n", different - shown);
    if (different)
        printf("# %s: %zu of %zu values differ\n", c->name, different, all);
    *values += all;
    return different == 0;
}

static void print_error(const struct diff_case *c, const struct fth_error *error)
{
    char text[1024];
    printf("# %s: %s\n", c->name, fth_error_text(error, text, sizeof text));
    const char *at = error->excerpt;
    while (*at) {
        int size = (int)strcspn(at, "\n");
        printf("#   %.*s\n", size, at);
        at += size + (at[size] == '\n');
    }
}

/* Returns whether the golden file contains results for this version of the case. */
static bool is_current(const struct diff_case *c, const struct diff_golden_case *golden_case)
{
    return golden_case && golden_case->hash == c->hash &&
           (golden_case->bytes == c->output_bytes || golden_case->bytes == diff_golden_bytes(c));
}

static bool check_case(const struct test *test, const struct fth_ptx_module *module,
                       const struct diff_case *c, size_t *values)
{
    const struct diff_golden_case *golden_case = find_golden_case(test, c->name);
    if (!is_current(c, golden_case)) {
        printf("# %s: %s; create a new golden file (README.md)\n", c->name,
               golden_case ? "the golden file has another version of it"
                           : "the golden file does not contain it");
        return false;
    }
    if (test->only)
        for (const char *at = c->ptx, *end; *at; at = end + 1) {
            end = at + strcspn(at, "\n");
            printf("#   | %.*s\n", (int)(end - at), at);
        }
    struct fth_error error = FTH_NO_ERROR;
    struct fth_ptx_machine *machine = NULL;
    unsigned char *output = calloc(c->output_bytes, 1);
    enum fth_status status = output ? FTH_OK : FTH_NO_MEMORY;
    if (status == FTH_OK)
        status = fth_ptx_machine_create(module, &machine, &error);
    if (status == FTH_OK)
        status = run_case(machine, c, output, &error);
    bool same = false;
    if (status == FTH_OK)
        same = golden_case->bytes == c->output_bytes
                   ? compare_results(test, c, output, golden_case->output, values)
                   : compare_digests(c, output, golden_case->output, values);
    else
        print_error(c, &error);
    fth_ptx_machine_destroy(machine);
    free(output);
    return same;
}

/* Checks a case in a module of its own. Used if the engine rejects the module of the family, to
 * find the kernels that it rejects. */
static bool check_case_separately(const struct test *test, const struct diff_family *family,
                                  const struct diff_case *c, size_t *values)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_ptx_module *module = NULL;
    struct fth_buffer text = {0};
    fth_buffer_append(&text, family->ptx,
                      (size_t)(strstr(family->ptx, ".visible .entry") - family->ptx));
    fth_buffer_text(&text, c->ptx);
    bool same = false;
    if (text.failed || fth_ptx_read_text(c->name, text.data, text.size, &module, &error) != FTH_OK)
        print_error(c, &error);
    else
        same = check_case(test, module, c, values);
    fth_ptx_destroy(module);
    fth_buffer_fini(&text);
    return same;
}

static void check_family(struct test *test, const struct diff_family *family)
{
    struct fth_ptx_module *module = NULL;
    size_t cases = 0, same = 0, values = 0;
    bool module_is_valid =
        fth_ptx_read_text(family->name, family->ptx, family->ptx_bytes, &module, NULL) == FTH_OK;
    for (size_t i = 0; i < family->count; i++) {
        const struct diff_case *c = &test->suite->cases[family->first + i];
        if (!is_selected(test, c))
            continue;
        cases++;
        same += module_is_valid ? check_case(test, module, c, &values)
                                : check_case_separately(test, family, c, &values);
    }
    fth_ptx_destroy(module);
    test->number++;
    test->failed += same < cases;
    printf("%s %zu - %s: ", same == cases ? "ok" : "not ok", test->number, family->name);
    if (same < cases)
        printf("%zu of %zu cases differ", cases - same, cases);
    else
        printf("%zu cases, %zu values", cases, values);
    printf("\n");
    fflush(stdout);
}

/* The golden file must contain results for the current version of every case. Results of cases that
 * no longer exist are ignored. */
static void check_golden_is_current(struct test *test)
{
    size_t stale = 0;
    for (size_t i = 0; i < test->suite->case_count; i++) {
        const struct diff_case *c = &test->suite->cases[i];
        stale += !is_current(c, find_golden_case(test, c->name));
    }
    test->failed += stale > 0;
    printf("%s %zu - the golden file (%s, CUDA %u.%u) matches the suite\n", stale ? "not ok" : "ok",
           ++test->number, test->golden.gpu, test->golden.driver / 1000,
           test->golden.driver % 1000 / 10);
    if (stale)
        printf("# no current results for %zu of %zu cases: create a new golden file (README.md)\n",
               stale, test->suite->case_count);
}

static bool family_is_selected(const struct test *test, const struct diff_family *family)
{
    for (size_t i = 0; i < family->count; i++)
        if (is_selected(test, &test->suite->cases[family->first + i]))
            return true;
    return false;
}

static int run_tests(struct test *test)
{
    size_t wanted = 0;
    for (size_t f = 0; f < test->suite->family_count; f++)
        wanted += family_is_selected(test, &test->suite->families[f]);
    if (wanted == 0) {
        fprintf(stderr, "there is no family or case '%s'\n", test->only);
        return 2;
    }
    printf("1..%zu\n", wanted + 1);
    check_golden_is_current(test);
    for (size_t f = 0; f < test->suite->family_count; f++)
        if (family_is_selected(test, &test->suite->families[f]))
            check_family(test, &test->suite->families[f]);
    return test->failed ? 1 : 0;
}

int main(void)
{
    struct test test = {.only = getenv("FATHOM_DIFFERENTIAL")};
    struct fth_error error = FTH_NO_ERROR;
    char text[1024];
    int code = 1;
    const char *path = getenv("FATHOM_GOLDEN");
    enum fth_status status = diff_golden_read(path ? path : golden_path, &test.golden, &error);
    if (status == FTH_NOT_FOUND) {
        printf("1..0 # SKIP there is no golden file (tests/differential/README.md)\n");
        return 0;
    }
    if (status == FTH_OK)
        status = diff_suite_create(&test.suite, &error);
    if (status == FTH_OK) {
        test.by_name = calloc(test.golden.count + 1, sizeof *test.by_name);
        if (!test.by_name)
            status = fth_fail(&error, FTH_NO_MEMORY, "run", NULL, "out of memory");
    }
    if (status == FTH_OK && test.by_name) {
        for (size_t i = 0; i < test.golden.count; i++)
            test.by_name[i] = &test.golden.cases[i];
        qsort(test.by_name, test.golden.count, sizeof *test.by_name, compare_names);
        code = run_tests(&test);
    } else {
        printf("Bail out! %s\n", fth_error_text(&error, text, sizeof text));
    }
    free(test.by_name);
    diff_golden_fini(&test.golden);
    diff_suite_destroy(test.suite);
    return code;
}
