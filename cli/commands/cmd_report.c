/* fathom report: writes one HTML file with charts from any combination of result files. */
#include "cli.h"

#include <unistd.h>

static int run(const struct cli_arguments *arguments)
{
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (arguments->word_count == 0) {
        cli_message("no file given; example: 'fathom report gpu.json -o report.html'; see 'fathom "
                    "report --help'");
        return CLI_USAGE;
    }
    if (!cli_value(arguments, &cli_option_output) && isatty(STDOUT_FILENO)) {
        cli_message("the report is an HTML file; name the output file, for example -o report.html");
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
    {"fathom topo --json --record gpu.rec -o gpu.json", "measure a GPU and save all samples"},
    {"fathom report gpu.json gpu.rec -o report.html",
     "show the topology and the samples it is based on"},
    {"fathom report gpu.json bench.json -o report.html",
     "add the results of 'fathom bench', with a roofline"},
    {"fathom report fleet.json -o fleet.html",
     "show the verdicts of 'fathom fleet judge --json -o fleet.json'"},
    {NULL, NULL},
};

const struct cli_command cli_report = {
    "report",
    "Write an HTML file with charts from result files",
    "FILE... [-o REPORT.html]",
    "Write one HTML file that shows results as charts. It needs no network and no\n"
    "other files. Each chart offers its numbers as a table and as CSV. Results of\n"
    "several GPUs are shown one below the other. -o is required if standard output is\n"
    "a terminal. FILE is any of:\n"
    "\n"
    "  JSON       the --json output of topo, dissect, bench, model, compare or\n"
    "             'fleet judge'\n"
    "  points     the points of an exploration: a file written by 'fathom explore -o'\n"
    "             or 'fathom merge -o' (one line of JSON per point), or the list that\n"
    "             these commands print with --json\n"
    "  recording  a file written with --record; its samples are shown\n"
    "  CSV        the loads written by 'fathom dissect --series'\n"
    "  -          one of these on standard input",
    options,
    examples,
    CLI_WORD_FILE,
    CLI_MAX_ARGUMENTS,
    run,
};
