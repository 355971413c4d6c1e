/* Reads JSON (RFC 8259) from a text in memory. A lexer finds the next token; functions that call
 * each other recursively, one per kind of value, build the document from the tokens.
 *
 * The first fault is kept, with the number of bytes that were read until then. Its line, column and
 * path are computed from that number. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Longest token that a message quotes, in bytes. Chosen so that a message stays one line. */
enum { MAX_QUOTED = 20 };

/* Tokens are the characters of punctuation, and these. */
enum token {
    TOKEN_END,
    TOKEN_INVALID,
    TOKEN_TEXT = 256,
    TOKEN_INTEGER,
    TOKEN_REAL,
    TOKEN_TRUE,
    TOKEN_FALSE,
    TOKEN_NULL
};

/* What read_character returns instead of a character. */
enum { END = -1, NOT_UTF8 = -2 };

struct reader {
    const char *text;
    size_t size;
    size_t at;    /* bytes that were read */
    size_t start; /* of the current token */
    size_t width; /* of the last character; 0: there was none */
    int token;
    int64_t integer; /* value of the token, depending on its kind */
    double real;
    const char *string;
    size_t string_size;
    struct fth_json_document *document;
    size_t depth;
    char fault[128]; /* empty: none was found */
    size_t fault_at;
};

/* ---- faults ---- */

/* Keeps a fault, unless there is one or memory is missing. With `quoted`, the message ends with the
 * token. Returns NULL. */
static struct fth_json *refuse(struct reader *reader, const char *message, bool quoted)
{
    const size_t size = reader->at - reader->start;
    const char *token = reader->text + reader->start;
    if (reader->fault[0] || reader->document->failed)
        return NULL;
    reader->fault_at = reader->at;
    if (quoted && size == 0)
        snprintf(reader->fault, sizeof reader->fault, "%s near end of file", message);
    else if (quoted && token[0] == '\0')
        snprintf(reader->fault, sizeof reader->fault, "%s near a NUL byte", message);
    else if (quoted && size <= MAX_QUOTED)
        snprintf(reader->fault, sizeof reader->fault, "%s near '%.*s'", message, (int)size, token);
    else
        snprintf(reader->fault, sizeof reader->fault, "%s", message);
    return NULL;
}

static enum fth_status report_fault(const struct reader *reader, const char *name,
                                    struct fth_error *error)
{
    size_t line = 1, column = 0;
    for (size_t i = 0; i < reader->fault_at; i++) {
        const char c = reader->text[i];
        line += c == '\n';
        if (c == '\n')
            column = 0;
        else if ((c & 0xc0) != 0x80) /* columns are characters: the first byte of each is counted */
            column++;
    }
    struct fth_json_path path;
    /* The position is just behind the faulty token. The token itself is excluded, because it may be
     * a bracket that closes the object or list in question. */
    fth_json_path_at(reader->text, reader->size, reader->fault_at ? reader->fault_at - 1 : 0,
                     &path);
    return fth_fail(error, FTH_INVALID, "read JSON", name, "line %zu, column %zu%s%s: %s", line,
                    column, path.size ? ", at " : "", path.text, reader->fault);
}

/* ---- characters ---- */

/* Reads a character. Returns its first byte, END, or NOT_UTF8, which is a fault. */
static int read_character(struct reader *reader)
{
    reader->width = 0;
    if (reader->at == reader->size)
        return END;
    const unsigned char first = (unsigned char)reader->text[reader->at];
    reader->width = fth_utf8_character(reader->text + reader->at, reader->size - reader->at);
    reader->at += reader->width;
    if (reader->width)
        return first;
    char message[40];
    snprintf(message, sizeof message, "unable to decode byte 0x%x", first);
    refuse(reader, message, reader->at > reader->start);
    return NOT_UTF8;
}

/* Undoes the last call of read_character. */
static void unread_character(struct reader *reader)
{
    reader->at -= reader->width;
    reader->width = 0;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the value of a hexadecimal digit; -1: it is none. */
static int hex_value(int c)
{
    if (is_digit(c))
        return c - '0';
    const int lower = c | 0x20;
    return c >= 0 && lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* ---- texts ---- */

/* Reads an escape sequence, whose backslash was read. Returns false if it is not valid. */
static bool scan_escape(struct reader *reader)
{
    const int kind = read_character(reader);
    bool valid = kind > 0 && strchr("\"\\/bfnrtu", kind);
    for (int i = 0; valid && kind == 'u' && i < 4; i++)
        valid = hex_value(read_character(reader)) >= 0;
    if (!valid)
        refuse(reader, "invalid escape", true);
    return valid;
}

/* Returns whether a byte of a text is a character that needs no further check. */
static bool is_plain(char byte)
{
    const unsigned char c = (unsigned char)byte;
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Reads a text up to its closing quote; the opening one was read. Returns false if it is not valid.
 */
static bool scan_quoted(struct reader *reader)
{
    for (;;) {
        /* Most characters of a text are ASCII, and mean themselves. */
        while (reader->at < reader->size && is_plain(reader->text[reader->at]))
            reader->at++;
        const int c = read_character(reader);
        if (c == '"')
            return true;
        if (c == NOT_UTF8)
            return false;
        if (c == '\\') {
            if (!scan_escape(reader))
                return false;
        } else if (c == END) {
            refuse(reader, "premature end of input", true);
            return false;
        } else if (c < 0x20) {
            char message[40];
            snprintf(message, sizeof message, "control character 0x%x", (unsigned)c);
            unread_character(reader);
            refuse(reader, c == '\n' ? "unexpected newline" : message, true);
            return false;
        }
    }
}

/* Returns the code unit of an escape sequence \uXXXX from its u on. */
static uint32_t code_unit(const char *escape)
{
    uint32_t unit = 0;
    for (int i = 1; i <= 4; i++)
        unit = unit << 4 | (uint32_t)hex_value((unsigned char)escape[i]);
    return unit;
}

/* Writes a code point as UTF-8. Returns its size. */
static size_t put_utf8(char *out, uint32_t point)
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(first[size] | point);
    return size;
}

/* Decodes \uXXXX, or two of them that are a surrogate pair. *from is at the u, and is moved behind
 * the last digit. Returns the size of the character; 0: there is no such character. */
static size_t decode_unicode(struct reader *reader, const char **from, char *out)
{
    char message[40];
    uint32_t point = code_unit(*from);
    *from += 5;
    if (point < 0xd800 || point > 0xdfff)
        return put_utf8(out, point);
    if (point > 0xdbff || (*from)[0] != '\\' || (*from)[1] != 'u') {
        snprintf(message, sizeof message, "invalid Unicode '\\u%04X'", point);
        refuse(reader, message, true);
        return 0;
    }
    const uint32_t low = code_unit(*from + 1);
    if (low < 0xdc00 || low > 0xdfff) {
        snprintf(message, sizeof message, "invalid Unicode '\\u%04X\\u%04X'", point, low);
        refuse(reader, message, true);
        return 0;
    }
    *from += 6;
    return put_utf8(out, 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00));
}

/* Reads a text whose opening quote was read. */
static void scan_text(struct reader *reader)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (!scan_quoted(reader))
        return;
    /* No escape sequence is shorter than what it means. */
    char *text = fth_arena_alloc(&reader->document->arena, reader->at - reader->start), *out = text;
    if (!text) {
        reader->document->failed = true;
        return;
    }
    for (const char *from = reader->text + reader->start + 1; *from != '"';) {
        size_t plain = 0;
        while (is_plain(from[plain]))
            plain++;
        memcpy(out, from, plain);
        out += plain;
        from += plain;
        if (*from == '"')
            break;
        if (*from != '\\') {
            *out++ = *from++;
        } else if (*++from != 'u') {
            *out++ = meanings[strchr(letters, *from++) - letters];
        } else {
            const size_t size = decode_unicode(reader, &from, out);
            if (size == 0)
                return;
            out += size;
        }
    }
    *out = '\0';
    reader->string = text;
    reader->string_size = (size_t)(out - text);
    reader->token = TOKEN_TEXT;
}

/* ---- numbers ---- */

static void convert_integer(struct reader *reader)
{
    const bool negative = reader->text[reader->start] == '-';
    const uint64_t max = (uint64_t)INT64_MAX + negative;
    uint64_t value = 0;
    for (size_t i = reader->start + negative; i < reader->at; i++) {
        const uint64_t digit = (uint64_t)(reader->text[i] - '0');
        if (value > (max - digit) / 10) {
            refuse(reader, negative ? "too big negative integer" : "too big integer", true);
            return;
        }
        value = value * 10 + digit;
    }
    /* The largest negative number has no positive counterpart. */
    reader->integer = negative && value ? -(int64_t)(value - 1) - 1 : (int64_t)value;
    reader->token = TOKEN_INTEGER;
}

static void convert_real(struct reader *reader)
{
    char short_copy[64];
    const size_t size = reader->at - reader->start;
    char *copy =
        size < sizeof short_copy ? short_copy : fth_arena_alloc(&reader->document->arena, size + 1);
    if (!copy) {
        reader->document->failed = true;
        return;
    }
    memcpy(copy, reader->text + reader->start, size);
    copy[size] = '\0';
    reader->real = fth_strtod(copy, NULL);
    if (isinf(reader->real))
        refuse(reader, "real number overflow", true);
    else
        reader->token = TOKEN_REAL;
}

/* Reads digits from *c on, and the character after them. Returns false if there is no digit. */
static bool scan_digits(struct reader *reader, int *c)
{
    if (!is_digit(*c)) {
        unread_character(reader);
        return false;
    }
    while (is_digit(*c))
        *c = read_character(reader);
    return true;
}

/* Reads a number whose first character, `c`, was read. */
static void scan_number(struct reader *reader, int c)
{
    if (c == '-')
        c = read_character(reader);
    if (c == '0') {
        c = read_character(reader);
        if (is_digit(c)) {
            unread_character(reader);
            return;
        }
    } else if (!scan_digits(reader, &c)) {
        return;
    }
    if (c != '.' && c != 'e' && c != 'E') {
        unread_character(reader);
        convert_integer(reader);
        return;
    }
    if (c == '.') {
        c = read_character(reader);
        if (!scan_digits(reader, &c))
            return;
    }
    if (c == 'e' || c == 'E') {
        c = read_character(reader);
        if (c == '+' || c == '-')
            c = read_character(reader);
        if (!scan_digits(reader, &c))
            return;
    }
    unread_character(reader);
    convert_real(reader);
}

/* ---- tokens ---- */

/* Reads a word whose first letter was read. */
static void scan_word(struct reader *reader)
{
    static const struct {
        const char *word;
        int token;
    } words[] = {{"true", TOKEN_TRUE}, {"false", TOKEN_FALSE}, {"null", TOKEN_NULL}};
    while (is_letter(read_character(reader)))
        continue;
    unread_character(reader);
    const size_t size = reader->at - reader->start;
    for (size_t i = 0; i < FTH_COUNT(words); i++)
        if (size == strlen(words[i].word) &&
            memcmp(reader->text + reader->start, words[i].word, size) == 0)
            reader->token = words[i].token;
}

/* Reads the next token. An invalid one is a fault or will be one. */
static void next_token(struct reader *reader)
{
    int c;
    do {
        while (reader->at < reader->size && reader->text[reader->at] == ' ')
            reader->at++;
        reader->start = reader->at;
        c = read_character(reader);
    } while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    reader->token = c == END ? TOKEN_END : TOKEN_INVALID;
    if (c <= 0)
        return;
    switch (c) {
    case '{':
    case '}':
    case '[':
    case ']':
    case ':':
    case ',': reader->token = c; break;
    case '"': scan_text(reader); break;
    default:
        if (is_digit(c) || c == '-')
            scan_number(reader, c);
        else if (is_letter(c))
            scan_word(reader);
    }
}

/* ---- values: each function gets the first token of its value in reader->token, and reads up to
 * its last one. They return NULL after a failure. ---- */

static struct fth_json *read_value(struct reader *reader, struct fth_json *parent, const char *key);

/* Returns whether the value could be read. */
static bool read_member(struct reader *reader, struct fth_json *object)
{
    const char *key = reader->string;
    if (reader->token != TOKEN_TEXT)
        return refuse(reader, "string or '}' expected", true);
    if (strlen(key) != reader->string_size)
        return refuse(reader, "\\u0000 is not allowed in a key", true);
    if (fth_json_get(object, key))
        return refuse(reader, "duplicate object key", true);
    next_token(reader);
    if (reader->token != ':')
        return refuse(reader, "':' expected", true);
    next_token(reader);
    return read_value(reader, object, key);
}

static struct fth_json *read_object(struct reader *reader, struct fth_json *object)
{
    next_token(reader);
    if (reader->token == '}')
        return object;
    for (;;) {
        if (!read_member(reader, object))
            return NULL;
        next_token(reader);
        if (reader->token != ',')
            break;
        next_token(reader);
    }
    return reader->token == '}' ? object : refuse(reader, "'}' expected", true);
}

static struct fth_json *read_list(struct reader *reader, struct fth_json *list)
{
    next_token(reader);
    if (reader->token == ']')
        return list;
    while (reader->token != TOKEN_END) {
        if (!read_value(reader, list, NULL))
            return NULL;
        next_token(reader);
        if (reader->token != ',')
            break;
        next_token(reader);
    }
    return reader->token == ']' ? list : refuse(reader, "']' expected", true);
}

/* Returns the kind of the value that begins with a token; -1: no value begins with it. */
static int kind_of(int token)
{
    switch (token) {
    case '{': return FTH_JSON_OBJECT;
    case '[': return FTH_JSON_LIST;
    case TOKEN_TEXT: return FTH_JSON_TEXT;
    case TOKEN_INTEGER: return FTH_JSON_INTEGER;
    case TOKEN_REAL: return FTH_JSON_REAL;
    case TOKEN_TRUE: return FTH_JSON_TRUE;
    case TOKEN_FALSE: return FTH_JSON_FALSE;
    case TOKEN_NULL: return FTH_JSON_NULL;
    default: return -1;
    }
}

static struct fth_json *read_value(struct reader *reader, struct fth_json *parent, const char *key)
{
    const int kind = kind_of(reader->token);
    if (++reader->depth > FTH_JSON_MAX_DEPTH)
        return refuse(reader, "maximum parsing depth reached", true);
    if (kind < 0)
        return refuse(reader, reader->token == TOKEN_INVALID ? "invalid token" : "unexpected token",
                      true);
    if (kind == FTH_JSON_TEXT && strlen(reader->string) != reader->string_size)
        return refuse(reader, "\\u0000 is not allowed", true);
    struct fth_json *value = fth_json_put(reader->document, parent, key, (enum fth_json_kind)kind);
    if (!value)
        return NULL;
    if (kind == FTH_JSON_OBJECT)
        value = read_object(reader, value);
    else if (kind == FTH_JSON_LIST)
        value = read_list(reader, value);
    else if (kind == FTH_JSON_INTEGER)
        value->integer = reader->integer;
    else if (kind == FTH_JSON_REAL)
        value->real = reader->real;
    else if (kind == FTH_JSON_TEXT) {
        value->text = reader->string;
        value->size = reader->string_size;
    }
    reader->depth--;
    return value;
}

/* Maximum number of values of a document. A value of two characters takes 40 bytes, and a member of
 * an object up to 200, so a limit on the size of the text does not bound the memory enough. Chosen:
 * 3 GB at most; the largest document in the tests has less than a million values. */
#define MAX_VALUES ((size_t)1 << 24)

/* Returns an upper bound of the number of values of a document: an object or list has at most one
 * more than commas. Brackets and commas in strings are counted, too. */
static size_t count_values(const char *text, size_t size)
{
    size_t count = 1;
    for (size_t i = 0; text && i < size; i++)
        count += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return count;
}

enum fth_status fth_json_parse(const char *name, const char *text, size_t size,
                               struct fth_json_document *document, struct fth_error *error)
{
    struct reader reader = {.text = text ? text : "", .size = size, .document = document};
    enum fth_status status = FTH_OK;
    if (size >= MAX_VALUES && count_values(text, size) > MAX_VALUES) {
        fth_json_fini(document);
        return fth_fail(error, FTH_INVALID, "read JSON", name,
                        "it has more than %zu values, the limit for a document", MAX_VALUES);
    }
    document->root = NULL;
    next_token(&reader);
    if (reader.token != '[' && reader.token != '{') {
        refuse(&reader, "'[' or '{' expected", true);
    } else if (read_value(&reader, NULL, NULL)) {
        next_token(&reader);
        if (reader.token != TOKEN_END)
            refuse(&reader, "end of file expected", true);
    }
    if (document->failed)
        status = fth_no_memory(error, "read JSON", name);
    else if (reader.fault[0])
        status = report_fault(&reader, name, error);
    if (status != FTH_OK)
        fth_json_fini(document);
    return status;
}
