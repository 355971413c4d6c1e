/* fathom fleet generate. */
#include "fleet/fleet_cli.h"

int cli_fleet_generate(const struct cli_arguments *arguments)
{
    cli_message("fleet %s: not available yet", arguments->words[0]);
    return CLI_FAILED;
}
