/* JSON values in memory. A list or an object is a chain of values in the order of the document. An
 * object with many members also has an index.
 *
 * The index is a binary trie of keys (a crit-bit tree: D. J. Bernstein, "Crit-bit trees", 2004).
 * An inner node has the number of the first bit in which the keys below it differ. The number of
 * nodes on the way to a key is at most the number of its bits. Whatever the keys of a document are,
 * the work to read it is therefore proportional to its size, which a hash table does not ensure. */
#include "base/json.h"

#include <string.h>

/* Objects with more members have an index. Chosen: comparing a few short keys takes less time than
 * the trie. */
enum { MAX_UNINDEXED = 8 };
/* Values that are allocated at once. Chosen, so that a value takes its own size, without the
 * rounding of the arena. */
enum { VALUES_PER_BLOCK = 64 };

struct node {
    struct fth_json *member; /* NULL: this is an inner node */
    size_t bit;              /* of an inner node */
    struct node *below[2];   /* of an inner node: the keys in which that bit is 0, and 1 */
};

struct fth_json_items {
    struct fth_json *first, *last;
    size_t count;
    struct node *index; /* NULL: there is none */
};

void fth_json_fini(struct fth_json_document *document)
{
    fth_arena_fini(&document->arena);
    *document = (struct fth_json_document){.root = NULL};
}

/* ---- the index ---- */

/* Returns a bit of a key. `size` is the size of the key; all bits after its end are 0. */
static unsigned key_bit(const char *key, size_t size, size_t bit)
{
    const size_t byte = bit / 8;
    return byte < size ? (unsigned char)key[byte] >> (7 - bit % 8) & 1U : 0;
}

/* Returns the first bit in which two different keys differ. */
static size_t first_difference(const char *one, const char *other)
{
    size_t byte = 0, bit = 0;
    while (one[byte] == other[byte])
        byte++;
    const unsigned difference = (unsigned char)one[byte] ^ (unsigned char)other[byte];
    while (!(difference >> (7 - bit) & 1U))
        bit++;
    return byte * 8 + bit;
}

/* Returns the only leaf whose key can be equal to `key`. */
static struct node *find_leaf(struct node *at, const char *key, size_t size)
{
    while (!at->member)
        at = at->below[key_bit(key, size, at->bit)];
    return at;
}

/* Adds a member, whose key is new, to the index. */
static void index_member(struct fth_json_document *document, struct fth_json_items *items,
                         struct fth_json *member)
{
    struct node *leaf = fth_arena_alloc(&document->arena, sizeof *leaf);
    struct node *inner = items->index ? fth_arena_alloc(&document->arena, sizeof *inner) : NULL;
    if (!leaf || (items->index && !inner)) {
        document->failed = true;
        return;
    }
    leaf->member = member;
    if (!inner) {
        items->index = leaf;
        return;
    }
    const size_t size = strlen(member->key);
    inner->bit =
        first_difference(find_leaf(items->index, member->key, size)->member->key, member->key);
    struct node **at = &items->index;
    while (!(*at)->member && (*at)->bit < inner->bit)
        at = &(*at)->below[key_bit(member->key, size, (*at)->bit)];
    const unsigned side = key_bit(member->key, size, inner->bit);
    inner->below[side] = leaf;
    inner->below[!side] = *at;
    *at = inner;
}

/* Removes an indexed member from the index, which has at least two. */
static void unindex_member(struct fth_json_items *items, const char *key)
{
    const size_t size = strlen(key);
    struct node **at = &items->index, **inner = at;
    while (!(*at)->member) {
        inner = at;
        at = &(*at)->below[key_bit(key, size, (*at)->bit)];
    }
    *inner = (*inner)->below[(*inner)->below[0] == *at];
}

/* ---- reading ---- */

struct fth_json *fth_json_items(const struct fth_json *list)
{
    return fth_json_is(list, FTH_JSON_LIST) ? list->items->first : NULL;
}

struct fth_json *fth_json_members(const struct fth_json *object)
{
    return fth_json_is(object, FTH_JSON_OBJECT) ? object->items->first : NULL;
}

size_t fth_json_count(const struct fth_json *list)
{
    return fth_json_is(list, FTH_JSON_LIST) ? list->items->count : 0;
}

struct fth_json *fth_json_item(const struct fth_json *list, size_t index)
{
    struct fth_json *item = fth_json_items(list);
    while (item && index--)
        item = item->next;
    return item;
}

struct fth_json *fth_json_get(const struct fth_json *object, const char *key)
{
    if (!fth_json_is(object, FTH_JSON_OBJECT))
        return NULL;
    struct fth_json *member = object->items->first;
    if (object->items->index)
        member = find_leaf(object->items->index, key, strlen(key))->member;
    while (member && strcmp(member->key, key) != 0)
        member = object->items->index ? NULL : member->next;
    return member;
}

double fth_json_double(const struct fth_json *value)
{
    if (fth_json_is(value, FTH_JSON_REAL))
        return value->real;
    return (double)fth_json_integer(value);
}

/* ---- building ---- */

/* Returns a new value without parent; NULL: out of memory. */
static struct fth_json *create_value(struct fth_json_document *document, enum fth_json_kind kind)
{
    if (document->spare_count == 0 && !document->failed) {
        document->spare =
            fth_arena_array(&document->arena, VALUES_PER_BLOCK, sizeof *document->spare);
        document->spare_count = document->spare ? VALUES_PER_BLOCK : 0;
    }
    if (document->spare_count == 0) {
        document->failed = true;
        return NULL;
    }
    document->spare_count--;
    struct fth_json *value = document->spare++;
    value->kind = kind;
    if (kind == FTH_JSON_LIST || kind == FTH_JSON_OBJECT) {
        value->items = fth_arena_alloc(&document->arena, sizeof *value->items);
        document->failed = document->failed || !value->items;
    }
    return document->failed ? NULL : value;
}

static void append(struct fth_json_document *document, struct fth_json *parent,
                   struct fth_json *value)
{
    struct fth_json_items *items = parent->items;
    if (items->last)
        items->last->next = value;
    else
        items->first = value;
    items->last = value;
    items->count++;
    if (parent->kind != FTH_JSON_OBJECT || items->count <= MAX_UNINDEXED)
        return;
    if (items->index)
        index_member(document, items, value);
    else
        for (struct fth_json *at = items->first; at && !document->failed; at = at->next)
            index_member(document, items, at);
}

void fth_json_attach(struct fth_json_document *document, struct fth_json *parent, const char *key,
                     struct fth_json *value)
{
    if (document->failed || !parent || !value)
        return;
    value->key = key;
    if (!key && parent->kind == FTH_JSON_OBJECT)
        document->failed = true;
    else
        append(document, parent, value);
}

struct fth_json *fth_json_put(struct fth_json_document *document, struct fth_json *parent,
                              const char *key, enum fth_json_kind kind)
{
    struct fth_json *value = create_value(document, kind);
    if (!parent && !document->root)
        document->root = value;
    fth_json_attach(document, parent, key, value);
    return document->failed ? NULL : value;
}

struct fth_json *fth_json_put_integer(struct fth_json_document *document, struct fth_json *parent,
                                      const char *key, int64_t integer)
{
    struct fth_json *value = fth_json_put(document, parent, key, FTH_JSON_INTEGER);
    if (value)
        value->integer = integer;
    return value;
}

struct fth_json *fth_json_put_real(struct fth_json_document *document, struct fth_json *parent,
                                   const char *key, double real)
{
    struct fth_json *value = fth_json_put(document, parent, key, FTH_JSON_REAL);
    if (value)
        value->real = real;
    return value;
}

struct fth_json *fth_json_put_text(struct fth_json_document *document, struct fth_json *parent,
                                   const char *key, const char *text)
{
    const char *copy = fth_arena_text(&document->arena, text);
    document->failed = document->failed || !copy;
    struct fth_json *value = fth_json_put(document, parent, key, FTH_JSON_TEXT);
    if (value) {
        value->text = copy;
        value->size = strlen(copy);
    }
    return value;
}

void fth_json_remove(struct fth_json *object, const char *key)
{
    struct fth_json *member = fth_json_get(object, key), *before = NULL;
    if (!member)
        return;
    struct fth_json_items *items = object->items;
    for (struct fth_json *at = items->first; at != member; at = at->next)
        before = at;
    if (before)
        before->next = member->next;
    else
        items->first = member->next;
    if (items->last == member)
        items->last = before;
    items->count--;
    if (items->index)
        unindex_member(items, key);
    member->next = NULL;
}

/* ---- UTF-8 (RFC 3629) ---- */

size_t fth_utf8_character(const char *text, size_t size)
{
    const unsigned char first = (unsigned char)text[0];
    if (first < 0x80)
        return 1;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || size < length)
        return 0;
    uint32_t point = first & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if ((byte & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (byte & 0x3f);
    }
    static const uint32_t min_points[] = {0x80, 0x800, 0x10000};
    if (point < min_points[length - 2] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    return length;
}

bool fth_utf8_is_valid(const char *text)
{
    const size_t size = strlen(text);
    for (size_t at = 0, length = 1; at < size; at += length)
        if (!(length = fth_utf8_character(text + at, size - at)))
            return false;
    return true;
}
