/* fathom fleet add, history. */
#include "fleet/fleet_cli.h"

int cli_fleet_add(const struct cli_arguments *arguments)
{
    cli_message("fleet %s: not available yet", arguments->words[0]);
    return CLI_FAILED;
}

int cli_fleet_history(const struct cli_arguments *arguments)
{
    cli_message("fleet %s: not available yet", arguments->words[0]);
    return CLI_FAILED;
}
