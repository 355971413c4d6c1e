/* fathom report: one HTML file of any mix of results. */
#include "cli.h"

#include <unistd.h>

static int run(const struct cli_arguments *arguments)
{
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (arguments->word_count == 0) {
        cli_message("of what? 'fathom report gpu.json -o report.html'; 'fathom help report' says "
                    "what files can be taken");
        return CLI_USAGE;
    }
    if (!cli_value(arguments, &cli_option_output) && isatty(STDOUT_FILENO)) {
        cli_message("a report is for a browser: say where it goes, as -o report.html");
        return CLI_USAGE;
    }
    int result = cli_check_output(arguments);
    if (result != CLI_DONE)
        return result;
    if (fth_report_html(arguments->words, arguments->word_count, &cli_log, &text, &size, &error) !=
        FTH_OK)
        return cli_fail(&error);
    return cli_put_text(arguments, text, size);
}

static const struct cli_option *const options[] = {&cli_option_output, &cli_option_help, NULL};

static const struct cli_example examples[] = {
    {"fathom topo --json --record gpu.rec -o gpu.json", "measure, and keep the samples"},
    {"fathom report gpu.json gpu.rec -o report.html", "the topology, and what it was read off"},
    {"fathom report gpu.json bench.json -o report.html", "with bandwidths, and a roofline"},
    {NULL, NULL},
};

const struct cli_command cli_report = {
    "report",
    "results as one HTML file with charts",
    "FILE... -o REPORT.html",
    "Writes one HTML file that shows results as charts; it needs no network and no other file.\n"
    "A FILE is what 'fathom topo --json', 'fathom dissect --json', 'fathom bench --json' and the\n"
    "like (compare, model, explore) wrote, a recording (--record), whose samples are shown, the\n"
    "points that 'fathom explore -o' or 'fathom merge' kept, or the loads of 'fathom dissect\n"
    "--series'. Results of several GPUs stand below each other. Each chart has its numbers with\n"
    "it, as a table and as CSV.",
    options,
    examples,
    CLI_WORD_FILE,
    CLI_MAX_ARGUMENTS,
    run,
};
