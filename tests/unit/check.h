/* Includes cmocka with the headers that it requires, and defines what several tests share. */
#ifndef FTH_TESTS_CHECK_H
#define FTH_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fathom/fathom.h"

#include <string.h>

#define NO_ERROR FTH_NO_ERROR

/* True if the tests are compiled with AddressSanitizer, which makes them about four times as slow.
 * Tests that repeat something to collect statistics then repeat it less often. Every line is still
 * executed. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* Fails and prints both texts if `text` does not contain `part`. */
#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        const char *text_ = (text), *part_ = (part);                                               \
        if (!strstr(text_, part_))                                                                 \
            fail_msg("\"%s\" does not contain \"%s\"", text_, part_);                              \
    } while (0)

#endif
