/* A library that defines the same function, and asks for the next definition of a function: the one
 * in the objects that are loaded after this library. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <stddef.h>

int next_value(void);
int next_value(void)
{
    return 2;
}

void *next_definition(const char *name);
void *next_definition(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    return found ? found : NULL; /* so that the call is not a jump */
}
