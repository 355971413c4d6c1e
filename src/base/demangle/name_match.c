/* Finds the names that a user means: kernels can be selected by their mangled name, by their C++
 * name or by the beginning of either. */
#include "base/demangle/demangle.h"

#include <stdio.h>
#include <string.h>

enum rule { RULE_MANGLED, RULE_NAME, RULE_PLAIN, RULE_PREFIX, RULES };

/* Removes the spaces of a text. */
static void remove_spaces(char *text)
{
    char *to = text;
    for (; *text; text++)
        if (*text != ' ')
            *to++ = *text;
    *to = '\0';
}

/* Writes a name in one of its forms, without spaces. */
static void write_form(const char *name, enum fth_name_form form, char text[FTH_NAME_BYTES])
{
    fth_demangle(name, form, text, FTH_NAME_BYTES);
    remove_spaces(text);
}

/* Removes the template arguments at the end of a name without spaces. */
static void remove_arguments(char *text)
{
    size_t at = strlen(text), depth = 0;
    if (at == 0 || text[at - 1] != '>')
        return;
    do {
        at--;
        depth += text[at] == '>';
        depth -= text[at] == '<';
    } while (at > 0 && depth > 0);
    text[at] = '\0';
}

/* Returns whether `wanted`, which has no spaces, means `name` by this rule. */
static bool is_match(const char *wanted, const char *name, enum rule rule)
{
    char text[FTH_NAME_BYTES];
    const size_t size = strlen(wanted);
    switch (rule) {
    case RULE_MANGLED: return strcmp(wanted, name) == 0;
    case RULE_NAME:
        for (int form = FTH_NAME_FULL; form <= FTH_NAME_PARAMETERS; form++) {
            write_form(name, (enum fth_name_form)form, text);
            if (strcmp(wanted, text) == 0)
                return true;
        }
        return false;
    case RULE_PLAIN:
        write_form(name, FTH_NAME_SHORT, text);
        remove_arguments(text);
        return strcmp(wanted, text) == 0;
    default:
        write_form(name, FTH_NAME_PARAMETERS, text);
        return strncmp(wanted, text, size) == 0 || strncmp(wanted, name, size) == 0;
    }
}

/* Applies the first `rules` rules. */
static size_t match(const char *wanted, const char *const *names, size_t count, bool *matches,
                    int rules)
{
    char compact[FTH_NAME_BYTES];
    snprintf(compact, sizeof compact, "%s", wanted);
    remove_spaces(compact);
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        matches[i] = false;
    for (int rule = 0; rule < rules && !found && *compact; rule++)
        for (size_t i = 0; i < count; i++) {
            matches[i] = is_match(compact, names[i], (enum rule)rule);
            found += matches[i];
        }
    return found;
}

size_t fth_name_match(const char *wanted, const char *const *names, size_t count, bool *matches)
{
    return match(wanted, names, count, matches, RULES);
}

size_t fth_name_match_whole(const char *wanted, const char *const *names, size_t count,
                            bool *matches)
{
    return match(wanted, names, count, matches, RULE_PREFIX);
}

void fth_name_list(const char *const *names, size_t count, const bool *matches,
                   enum fth_name_form form, char *text, size_t size)
{
    enum { MORE_BYTES = 32 }; /* of ", and 123 more" */
    char name[FTH_NAME_BYTES];
    size_t used = 0, left = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (matches && !matches[i])
            continue;
        fth_demangle(names[i], form, name, sizeof name);
        if (left || used + strlen(name) + 2 + MORE_BYTES > size)
            left++;
        else
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
    }
    if (left)
        snprintf(text + used, size - used, used ? ", and %zu more" : "%zu kernels", left);
}
