/* Checks that dlsym(RTLD_NEXT, …) looks behind the library that calls it, also if the library of
 * 'fathom capture' is preloaded, which has a dlsym of its own. Prints "ok". */
#include <stdio.h>

int next_value(void);
void *next_definition(const char *name);

int main(void)
{
    if (next_value() != 1 || next_definition("next_value") || !next_definition("puts"))
        return 1;
    puts("ok");
    return 0;
}
