/* fathom fleet collect, reference. */
#include "fleet/fleet_cli.h"

int cli_fleet_collect(const struct cli_arguments *arguments)
{
    cli_message("fleet %s: not available yet", arguments->words[0]);
    return CLI_FAILED;
}

int cli_fleet_reference(const struct cli_arguments *arguments)
{
    cli_message("fleet %s: not available yet", arguments->words[0]);
    return CLI_FAILED;
}
