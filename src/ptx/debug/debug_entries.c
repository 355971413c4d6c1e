/* The entries of the debug information: DWARF 2 to 4 with 32-bit offsets, as nvcc -G writes it
 * (DWARF Debugging Information Format, version 4, chapter 7). */
#include "ptx/debug/debug.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of entries of all units and of abbreviations of a unit, and maximum depth of the
 * tree. Chosen: a large library of kernels has 100,000 entries. */
enum { MAX_ENTRIES = 1 << 20, MAX_ABBREVIATIONS = 1 << 14, MAX_DEPTH = 64 };

/* The attributes that are read (DWARF 4, section 7.5.4). */
enum {
    AT_NAME = 0x03,
    AT_BYTE_SIZE = 0x0b,
    AT_BIT_SIZE = 0x0d,
    AT_UPPER_BOUND = 0x2f,
    AT_ABSTRACT_ORIGIN = 0x31,
    AT_COUNT = 0x37,
    AT_MEMBER_LOCATION = 0x38,
    AT_ENCODING = 0x3e,
    AT_SPECIFICATION = 0x47,
    AT_TYPE = 0x49,
    AT_LINKAGE_NAME = 0x6e,
    AT_MIPS_LINKAGE_NAME = 0x2007
};

/* Bytes that are read in order. After the end, all numbers are 0. */
struct cursor {
    const unsigned char *at, *end;
    bool failed;
};

static uint64_t take(struct cursor *cursor, size_t bytes)
{
    uint64_t value = 0;
    if (cursor->failed || (size_t)(cursor->end - cursor->at) < bytes) {
        cursor->failed = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)cursor->at[i] << 8 * i;
    cursor->at += bytes;
    return value;
}

static void skip(struct cursor *cursor, uint64_t bytes)
{
    if (cursor->failed || bytes > (uint64_t)(cursor->end - cursor->at))
        cursor->failed = true;
    else
        cursor->at += bytes;
}

/* Reads a number with seven bits per byte (LEB128); the sign is not needed. */
static uint64_t take_leb(struct cursor *cursor)
{
    uint64_t value = 0, byte = 0x80;
    for (unsigned shift = 0; byte & 0x80 && !cursor->failed; shift += 7) {
        byte = take(cursor, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
    }
    return value;
}

static const char *take_text(struct cursor *cursor)
{
    const unsigned char *start = cursor->at;
    const unsigned char *end =
        cursor->failed ? NULL : memchr(start, 0, (size_t)(cursor->end - start));
    cursor->failed = !end;
    if (end)
        cursor->at = end + 1;
    return end ? (const char *)start : NULL;
}

/* ---- abbreviations ---- */

struct abbreviation {
    uint64_t code;
    uint32_t tag;
    bool has_children;
    const unsigned char *attributes; /* pairs of attribute and form, up to 0 0 */
};

struct unit {
    struct cursor abbreviations; /* the section */
    struct abbreviation *list;
    size_t count;
    uint64_t start; /* offset of its header, from which references count */
    size_t address_bytes;
};

static void read_abbreviations(struct unit *unit, uint64_t offset)
{
    struct cursor cursor = unit->abbreviations;
    skip(&cursor, offset);
    for (unit->count = 0; unit->count < MAX_ABBREVIATIONS; unit->count++) {
        struct abbreviation *abbreviation = &unit->list[unit->count];
        abbreviation->code = take_leb(&cursor);
        if (abbreviation->code == 0 || cursor.failed)
            return;
        abbreviation->tag = (uint32_t)take_leb(&cursor);
        abbreviation->has_children = take(&cursor, 1) != 0;
        abbreviation->attributes = cursor.at;
        for (uint64_t pair = 1; pair && !cursor.failed;) {
            pair = take_leb(&cursor);
            pair |= take_leb(&cursor);
        }
    }
}

static const struct abbreviation *find_abbreviation(const struct unit *unit, uint64_t code)
{
    if (code - 1 < unit->count && unit->list[code - 1].code == code)
        return &unit->list[code - 1];
    for (size_t i = 0; i < unit->count; i++)
        if (unit->list[i].code == code)
            return &unit->list[i];
    return NULL;
}

/* ---- attributes ---- */

/* The value of an attribute. */
struct value {
    uint64_t number;
    const char *text;
};

/* Reads a block. Its value is that of the operation "add a constant", by which DWARF 2 states where
 * a member is. */
static uint64_t take_block(struct cursor *cursor, uint64_t bytes)
{
    enum { ADD_CONSTANT = 0x23 };
    struct cursor block = *cursor;
    skip(cursor, bytes);
    return !cursor->failed && bytes > 1 && take(&block, 1) == ADD_CONSTANT ? take_leb(&block) : 0;
}

/* Reads a value by its form (DWARF 4, section 7.5.4). */
static struct value take_value(struct cursor *cursor, const struct unit *unit, uint64_t form)
{
    switch (form) {
    case 0x01: return (struct value){.number = take(cursor, unit->address_bytes)};
    case 0x03: return (struct value){.number = take_block(cursor, take(cursor, 2))};
    case 0x04: return (struct value){.number = take_block(cursor, take(cursor, 4))};
    case 0x05: return (struct value){.number = take(cursor, 2)};
    case 0x06: return (struct value){.number = take(cursor, 4)};
    case 0x07: return (struct value){.number = take(cursor, 8)};
    case 0x08: return (struct value){.text = take_text(cursor)};
    case 0x09:
    case 0x18: return (struct value){.number = take_block(cursor, take_leb(cursor))};
    case 0x0a: return (struct value){.number = take_block(cursor, take(cursor, 1))};
    case 0x0b:
    case 0x0c: return (struct value){.number = take(cursor, 1)};
    case 0x0d:
    case 0x0f: return (struct value){.number = take_leb(cursor)};
    case 0x0e: /* a text in another section, which nvcc does not use */
    case 0x17: skip(cursor, 4); return (struct value){0};
    case 0x10: return (struct value){.number = take(cursor, 4)};
    case 0x13: return (struct value){.number = unit->start + take(cursor, 4)};
    case 0x19: return (struct value){.number = 1};
    case 0x20: skip(cursor, 8); return (struct value){0};
    default: cursor->failed = true; return (struct value){0};
    }
}

static void set_attribute(struct fth_debug_entry *entry, uint64_t attribute,
                          const struct value *value)
{
    switch (attribute) {
    case AT_NAME: entry->name = value->text; break;
    case AT_MIPS_LINKAGE_NAME:
    case AT_LINKAGE_NAME: entry->linkage = value->text; break;
    case AT_BYTE_SIZE: entry->bytes = value->number; break;
    case AT_BIT_SIZE: entry->is_bit_field = true; break;
    case AT_UPPER_BOUND: entry->count = value->number + 1; break;
    case AT_COUNT: entry->count = value->number; break;
    case AT_MEMBER_LOCATION: entry->location = value->number; break;
    case AT_ENCODING: entry->encoding = (uint32_t)value->number; break;
    case AT_TYPE: entry->type = (uint32_t)value->number; break;
    case AT_ABSTRACT_ORIGIN:
    case AT_SPECIFICATION: entry->declaration = (uint32_t)value->number; break;
    default: break;
    }
}

/* Reads the attributes of an entry. */
static void read_attributes(const struct unit *unit, const struct abbreviation *abbreviation,
                            struct cursor *cursor, struct fth_debug_entry *entry)
{
    struct cursor pairs = unit->abbreviations;
    pairs.at = abbreviation->attributes;
    while (!cursor->failed) {
        const uint64_t attribute = take_leb(&pairs), form = take_leb(&pairs);
        if (pairs.failed || (attribute == 0 && form == 0))
            break;
        const struct value value = take_value(cursor, unit, form);
        set_attribute(entry, attribute, &value);
    }
}

/* ---- units ---- */

/* Reads the entries of a unit, whose bytes are at the cursor. Returns false without memory. */
static bool read_unit(struct fth_ptx_debug *debug, const struct unit *unit, struct cursor *cursor)
{
    uint32_t depth = 0;
    while (cursor->at < cursor->end && !cursor->failed && debug->count < MAX_ENTRIES) {
        const size_t offset = (size_t)(cursor->at - (const unsigned char *)debug->info.data);
        const uint64_t code = take_leb(cursor);
        if (code == 0) {
            depth -= depth != 0;
            continue;
        }
        const struct abbreviation *abbreviation = find_abbreviation(unit, code);
        if (!abbreviation || depth > MAX_DEPTH)
            return true;
        if (!fth_grow((void **)&debug->entries, debug->count, &debug->capacity,
                      sizeof *debug->entries))
            return false;
        struct fth_debug_entry *entry = &debug->entries[debug->count];
        *entry = (struct fth_debug_entry){
            .offset = (uint32_t)offset, .tag = abbreviation->tag, .depth = depth};
        read_attributes(unit, abbreviation, cursor, entry);
        debug->count += !cursor->failed;
        depth += abbreviation->has_children;
    }
    return true;
}

bool fth_debug_read_entries(struct fth_ptx_debug *debug)
{
    const unsigned char *start = (const unsigned char *)debug->info.data;
    const unsigned char *abbreviations = (const unsigned char *)debug->abbreviations.data;
    struct cursor all = {start, start + debug->info.size, debug->info.size > UINT32_MAX};
    struct unit unit = {
        .abbreviations = {abbreviations, abbreviations + debug->abbreviations.size, false}};
    unit.list = calloc(MAX_ABBREVIATIONS, sizeof *unit.list);
    bool ok = unit.list != NULL;
    while (ok && all.at < all.end && !all.failed) {
        unit.start = (uint64_t)(all.at - start);
        struct cursor body = all;
        const uint64_t bytes = take(&body, 4);
        skip(&all, bytes + 4);
        if (all.failed)
            break;
        body.end = all.at;
        const uint64_t version = take(&body, 2), offset = take(&body, 4);
        unit.address_bytes = (size_t)take(&body, 1);
        if (body.failed || version < 2 || version > 4 || unit.address_bytes > sizeof(uint64_t))
            break;
        read_abbreviations(&unit, offset);
        ok = read_unit(debug, &unit, &body);
    }
    free(unit.list);
    return ok;
}

const struct fth_debug_entry *fth_debug_entry_at(const struct fth_ptx_debug *debug, uint32_t offset)
{
    size_t low = 0, high = debug->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (debug->entries[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < debug->count && debug->entries[low].offset == offset ? &debug->entries[low] : NULL;
}
