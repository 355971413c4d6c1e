/* What the actions of 'fathom fleet' share: reading fleets and references, writing judgements. */
#include "fleet/fleet_cli.h"

int cli_fleet_require_words(const struct cli_arguments *arguments, const char *what)
{
    if (arguments->word_count > 1)
        return CLI_DONE;
    cli_message("'fathom fleet %s' requires an argument: %s", arguments->words[0], what);
    return CLI_USAGE;
}

static int not_available(const struct cli_arguments *arguments)
{
    cli_message("fleet %s: not available yet", arguments->words[0]);
    return CLI_FAILED;
}

int cli_fleet_read(const struct cli_arguments *arguments, size_t first, struct fth_fleet **fleet)
{
    (void)first;
    *fleet = NULL;
    return not_available(arguments);
}

int cli_fleet_judge_options(const struct cli_arguments *arguments,
                            struct fth_fleet_judge_options *options,
                            struct fth_fleet_reference **reference)
{
    (void)options;
    *reference = NULL;
    return not_available(arguments);
}

int cli_fleet_put(const struct cli_arguments *arguments,
                  const struct fth_fleet_judgement *judgement)
{
    (void)judgement;
    return not_available(arguments);
}

int cli_fleet_write(const struct cli_arguments *arguments, char *text, size_t size)
{
    return cli_put_text(arguments, text, size);
}
