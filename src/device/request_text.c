/* Reads the parts of the canonical text of requests; see request_text.h. */
#include "device/request_text.h"

#include <string.h>

bool fth_scan(struct fth_scanner *scanner, const char *text)
{
    const size_t size = strlen(text);
    if ((size_t)(scanner->end - scanner->at) < size || memcmp(scanner->at, text, size) != 0)
        return false;
    scanner->at += size;
    return true;
}

bool fth_scan_number(struct fth_scanner *scanner, uint64_t max, uint64_t *number)
{
    uint64_t value = 0;
    const char *at = scanner->at;
    for (; at < scanner->end && *at >= '0' && *at <= '9'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (at == scanner->at)
        return false;
    scanner->at = at;
    *number = value;
    return true;
}

bool fth_scan_u32(struct fth_scanner *scanner, uint32_t *number)
{
    uint64_t wide;
    if (!fth_scan_number(scanner, UINT32_MAX, &wide))
        return false;
    *number = (uint32_t)wide;
    return true;
}

bool fth_scan_name(struct fth_scanner *scanner, const char *name)
{
    struct fth_scanner ahead = *scanner;
    if (!fth_scan(&ahead, name) || (ahead.at < ahead.end && *ahead.at != ' ' && *ahead.at != ';'))
        return false;
    *scanner = ahead;
    return true;
}

bool fth_scan_option(struct fth_scanner *scanner, const char *word, uint64_t *number)
{
    struct fth_scanner ahead = *scanner;
    if (!fth_scan(&ahead, word))
        return true;
    if (!fth_scan_number(&ahead, UINT64_MAX, number))
        return false;
    *scanner = ahead;
    return true;
}

bool fth_scan_option_u32(struct fth_scanner *scanner, const char *word, uint32_t *number)
{
    uint64_t wide = *number;
    struct fth_scanner ahead = *scanner;
    if (!fth_scan_option(&ahead, word, &wide) || wide > UINT32_MAX)
        return false;
    *scanner = ahead;
    *number = (uint32_t)wide;
    return true;
}

bool fth_scan_path(struct fth_scanner *scanner, enum fth_path *path)
{
    for (enum fth_path i = 0; i < FTH_PATH_COUNT; i++)
        if (fth_scan_name(scanner, fth_path_name(i))) {
            *path = i;
            return true;
        }
    return false;
}

bool fth_scan_chain(struct fth_scanner *scanner, struct fth_chain *chain)
{
    struct fth_scanner ahead = *scanner;
    if (!fth_scan_number(&ahead, UINT64_MAX, &chain->stride_bytes) || !fth_scan(&ahead, "x") ||
        !fth_scan_number(&ahead, UINT64_MAX, &chain->count) ||
        !fth_scan_option(&ahead, " step ", &chain->step) ||
        !fth_scan_option(&ahead, " seed ", &chain->seed))
        return false;
    *scanner = ahead;
    return true;
}
