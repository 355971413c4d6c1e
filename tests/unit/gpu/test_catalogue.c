/* Tests of the catalogue (gpu/catalogue.c): names, files, suggestions, and the folder of
 * descriptions that belongs to an installed program. */
#include "base/base.h"
#include "folder.h"
#include "gpu/gpu.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

static const char described[] = "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"%s\"}, "
                                "\"elements\": {}}";

/* Writes the description of a GPU with this name. */
static void write_description(const char *path, const char *name)
{
    char text[256];
    const int size = snprintf(text, sizeof text, described, name);
    write_plain(path, text, (size_t)size);
}

/* Reads a description, and fails unless its GPU has this name; NULL: unless `status` is returned.
 */
static void check_read(const char *what, const char *name, enum fth_status status,
                       struct fth_error *error)
{
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    *error = (struct fth_error)NO_ERROR;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, what, NULL, &gpu, error),
                     name ? FTH_OK : status);
    if (name)
        assert_string_equal(fth_gpu_text(gpu, "device", "name"), name);
    else
        assert_null(gpu);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
}

static void names_ignore_case_and_precede_files(void **state)
{
    (void)state;
    struct fth_error error;
    write_description("h200", "a file");
    write_description("plain", "a file");
    write_description("named.json", "a file");
    check_read("h200", "NVIDIA H200", FTH_OK, &error);
    check_read("H200", "NVIDIA H200", FTH_OK, &error);
    check_read("./h200", "a file", FTH_OK, &error);
    check_read("plain", "a file", FTH_OK, &error);
    check_read("named.json", "a file", FTH_OK, &error);
}

/* A text that is neither a name nor a file is taken for a file if it looks like one. */
static void missing_names_and_files_have_different_messages(void **state)
{
    (void)state;
    struct fth_error error;
    check_read("no/such", NULL, FTH_NOT_FOUND, &error);
    assert_string_equal(error.operation, "read");
    check_read("nothing.json", NULL, FTH_NOT_FOUND, &error);
    assert_string_equal(error.operation, "read");
    check_read("nothing.json.zst", NULL, FTH_NOT_FOUND, &error);
    assert_string_equal(error.operation, "read");
    check_read("gtx98O", NULL, FTH_NOT_FOUND, &error);
    assert_string_equal(error.operation, "find GPU");
    assert_string_equal(error.cause, "no GPU or file has this name; did you mean 'gtx980'?");
    check_read("abcdefgh", NULL, FTH_NOT_FOUND, &error);
    assert_string_equal(error.operation, "find GPU");
    assert_contains(error.cause, "no GPU or file has this name; the most similar GPU is '");
    check_read(".json", NULL, FTH_NOT_FOUND, &error);
    assert_string_equal(error.operation, "find GPU");
}

static void a_description_is_read_from_standard_input(void **state)
{
    (void)state;
    struct fth_error error;
    write_description("input", "from standard input");
    const int before = dup(STDIN_FILENO), file = open("input", O_RDONLY);
    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    check_read("-", "from standard input", FTH_OK, &error);
    dup2(before, STDIN_FILENO);
    close(before);
    close(file);
}

/* Prints the names and files of the catalogue, except those without a file. */
static int print_catalogue(void)
{
    struct fth_catalogue *catalogue = NULL;
    if (fth_catalogue_open(&catalogue, NULL) != FTH_OK)
        return 1;
    for (size_t i = 0; i < fth_catalogue_count(catalogue); i++)
        if (fth_catalogue_path(catalogue, i))
            printf("%s %s\n", fth_catalogue_name(catalogue, i), fth_catalogue_path(catalogue, i));
    fth_catalogue_close(catalogue);
    return 0;
}

/* A copy of this program, in an installation that has descriptions, lists them. */
static void an_installation_adds_and_replaces_descriptions(void **state)
{
    (void)state;
    static const char gpus[] = "at/share/fathom/gpus";
    static char expected[4 * PATH_MAX], here[PATH_MAX];
    char text[512] = "";
    assert_int_equal(system("mkdir -p at/bin at/share/fathom/gpus"), 0);
    char copy[128];
    snprintf(copy, sizeof copy, "cp /proc/%d/exe at/bin/program", (int)getpid());
    assert_int_equal(system(copy), 0);
    write_description("at/share/fathom/gpus/site.json", "ours");
    write_description("at/share/fathom/gpus/packed.json.zst", "ours");
    write_description("at/share/fathom/gpus/h200.json", "ours");
    write_description("at/share/fathom/gpus/.hidden.json", "ours");
    write_description("at/share/fathom/gpus/.json", "ours");
    write_description("at/share/fathom/gpus/notes.txt", "ours");
    FILE *output = popen("at/bin/program list", "r");
    const size_t size = fread(text, 1, sizeof text - 1, output);
    assert_int_equal(pclose(output), 0);
    assert_true(size > 0);
    assert_non_null(realpath(".", here));
    snprintf(expected, sizeof expected,
             "h200 %s/%s/h200.json\npacked %s/%s/packed.json.zst\nsite %s/%s/site.json\n", here,
             gpus, here, gpus, here, gpus);
    assert_string_equal(text, expected);
}

/* Names of devices as drivers report them. */
static void devices_have_descriptions(void **state)
{
    (void)state;
    static const struct {
        const char *device, *name; /* NULL: none */
    } cases[] = {
        {"NVIDIA H200", "h200"},
        {"NVIDIA H200 NVL", NULL},
        {"NVIDIA H200 MIG 1g.18gb", NULL},
        {"NVIDIA GH200 480GB", NULL},
        {"NVIDIA A100-SXM4-40GB", "a100"},
        {"NVIDIA A100 80GB PCIe", "a100"},
        {"Tesla V100-SXM2-16GB", "v100"},
        {"Tesla P100-PCIE-16GB", "p100"},
        {"NVIDIA GeForce GTX 780", "gtx780"},
        {"GeForce GTX 780 Ti", NULL},
        {"NVIDIA GeForce RTX 2080 Ti", "rtx2080ti"},
        {"NVIDIA GeForce RTX 2060 SUPER", NULL},
        {"NVIDIA A1000", NULL},
        {"AMD Instinct MI300X", "mi300x"},
        {"Instinct MI210", "mi210"},
        {"AMD Instinct MI300A", "mi300a"},
        {"AMD Instinct MI325X", NULL},
        {"NVIDIA H100 80GB HBM3", "h100"},
        {"NVIDIA H100 PCIe", "h100pcie"},
        {"NVIDIA H100 NVL", NULL},
        {"NVIDIA B200", "b200"},
        {"NVIDIA GeForce RTX 4090", "rtx4090"},
        {"NVIDIA GeForce RTX 4090 D", NULL},
        {"NVIDIA L40S", "l40s"},
        {"Tesla T4", "t4"},
        {"Radeon RX 7900 XTX", "rx7900xtx"},
        {"Intel(R) Arc(TM) A770 Graphics", "a770"},
        {"NVIDIA ", NULL},
        {"", NULL},
    };
    struct fth_catalogue *catalogue = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const char *name = fth_catalogue_find(catalogue, cases[i].device);
        if (cases[i].name)
            assert_string_equal(name ? name : "none", cases[i].name);
        else
            assert_null(name);
    }
    fth_catalogue_close(catalogue);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return print_catalogue();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_ignore_case_and_precede_files),
        cmocka_unit_test(missing_names_and_files_have_different_messages),
        cmocka_unit_test(a_description_is_read_from_standard_input),
        cmocka_unit_test(an_installation_adds_and_replaces_descriptions),
        cmocka_unit_test(devices_have_descriptions),
    };
    return cmocka_run_group_tests_name("catalogue", tests, enter_folder, leave_folder);
}
