/* Fuzzes the HTML page (fth_report_html) with mixes of documents. The input is a list of up to four
 * parts. A part begins with a line "=", a letter and the name of its file:
 *
 *   d  a document as it is: JSON, the CSV of 'fathom dissect --series', or anything else
 *   z  the same, compressed with zstd
 *   p  a file of points, whose lines are completed (support/complete.h)
 *   r  a recording, made of lines "REQUEST=SAMPLE,SAMPLE,..."
 *
 * The documents must be rejected with a message, or the page must be well-formed: every tag is
 * closed, the tags are those of a page without documents, whatever the documents contain, and the
 * data is JSON with all documents. */
#include "base/json.h"
#include "report/report.h"
#include "support/complete.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_PARTS = 4, MAX_NAME = 48, MAX_DEPTH = 32 };

/* ---- the page ---- */

/* What the checker finds in a page. */
struct page {
    const char *stack[MAX_DEPTH]; /* names of the open elements, in the text */
    size_t depth;
    uint64_t markup; /* hash of all tags, with their attributes */
    const char *data;
    size_t data_size; /* content of the element with the documents */
};

static size_t name_length(const char *name)
{
    size_t length = 0;
    while (isalnum((unsigned char)name[length]))
        length++;
    return length;
}

static bool is_name(const char *tag, const char *name)
{
    return name_length(tag) == strlen(name) && strncasecmp(tag, name, strlen(name)) == 0;
}

/* Returns the '>' that ends a tag. Values of attributes must be quoted, and contain no '<'. */
static const char *find_tag_end(const char *at)
{
    while (*at && *at != '>') {
        if (*at == '<')
            abort();
        if (*at == '"')
            at += 1 + strcspn(at + 1, "\"<");
        if (*at)
            at++;
    }
    if (!*at)
        abort();
    return at;
}

/* Returns the end tag of an element whose content is not markup. */
static const char *skip_raw(const char *at, const char *name)
{
    for (; (at = strstr(at, "</")); at += 2)
        if (is_name(at + 2, name))
            return at;
    abort();
}

/* Handles the start tag whose name is at `name`, and returns what follows the element, or the tag
 * if the content of the element is markup. */
static const char *open_element(struct page *page, const char *name)
{
    static const char *const empty[] = {"meta", "link", "br", "img", "input", "hr"};
    const char *end = find_tag_end(name);
    for (size_t i = 0; i < FTH_COUNT(empty); i++)
        if (is_name(name, empty[i]))
            return end + 1;
    if (page->depth == MAX_DEPTH)
        abort();
    page->stack[page->depth++] = name;
    if (!is_name(name, "script") && !is_name(name, "style"))
        return end + 1;
    const char *close = skip_raw(end, is_name(name, "script") ? "script" : "style");
    const char *id = strstr(name, "id=\"fathom-data\"");
    if (id && id < end) {
        page->data = end + 1;
        page->data_size = (size_t)(close - end - 1);
    }
    return close;
}

/* Checks that every element is closed, and collects what struct page has. Text between tags cannot
 * contain '<', because every '<' is taken as the start of a tag here. */
static void check_page(const char *text, struct page *page)
{
    *page = (struct page){0};
    for (const char *at = text; (at = strchr(at, '<'));) {
        const char *name = at + 1, *end = find_tag_end(name);
        for (const char *c = at; c < end; c++) /* FNV-1a */
            page->markup = (page->markup ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        if (*name == '/') {
            const char *open = page->depth ? page->stack[--page->depth] : "";
            if (name_length(open) == 0 || name_length(open) != name_length(name + 1) ||
                strncasecmp(open, name + 1, name_length(open)) != 0)
                abort();
        }
        at = *name == '/' || *name == '!' ? end + 1 : open_element(page, name);
    }
    if (page->depth || !page->data)
        abort();
}

/* Checks that the data is ASCII without a character that has a meaning in HTML, and that it has all
 * documents under their names. */
static void check_data(const struct page *page, const char *const *paths, size_t count)
{
    struct fth_json_document page_data = {0};
    for (size_t i = 0; i < page->data_size; i++)
        if (strchr("<>&", page->data[i]) || (unsigned char)page->data[i] >= 0x80)
            abort();
    if (fth_json_parse("page", page->data, page->data_size, &page_data, NULL) != FTH_OK)
        abort();
    const struct fth_json *documents = fth_json_get(page_data.root, "documents");
    if (fth_json_count(documents) != count)
        abort();
    for (size_t i = 0; i < count; i++) {
        const struct fth_json *entry = fth_json_item(documents, i);
        const char *file = fth_json_string(fth_json_get(entry, "file"));
        if (!file || !fth_json_is(fth_json_get(entry, "document"), FTH_JSON_OBJECT) ||
            (strcmp(file, "?") != 0 && strcmp(file, strrchr(paths[i], '/') + 1) != 0))
            abort();
    }
    fth_json_fini(&page_data);
}

/* Writes the page of the files and checks it. */
static void report(const char *const *paths, size_t count)
{
    static uint64_t markup; /* of a page without documents */
    struct fth_error error = FTH_NO_ERROR;
    struct page page;
    char *text;
    size_t size;
    if (fth_report_html(paths, count, NULL, &text, &size, &error) != FTH_OK) {
        if (!error.cause[0] || strchr(error.cause, '\n'))
            abort();
        return;
    }
    if (strlen(text) != size)
        abort();
    check_page(text, &page);
    check_data(&page, paths, count);
    if (count == 0)
        markup = page.markup;
    else if (page.markup != markup)
        abort();
    fth_free(text);
}

/* ---- the files ---- */

/* The folder of the files, in memory where the system has /dev/shm. It has one folder per part, so
 * that several parts can have the same name. */
static char folder[64];

static void remove_folders(void)
{
    char path[96];
    for (int i = 0; i < MAX_PARTS; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        rmdir(path);
    }
    rmdir(folder);
}

static void make_folders(void)
{
    char path[96];
    snprintf(folder, sizeof folder, "%s/fathom-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder) || atexit(remove_folders) != 0)
        abort();
    for (int i = 0; i < MAX_PARTS; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        if (mkdir(path, 0700) != 0)
            abort();
    }
}

/* Appends the content of a part of this kind. */
static void put_content(struct fth_buffer *out, char kind, const char *body, size_t size)
{
    if (kind == 'r') {
        fuzz_put_recording(out, body, size);
    } else if (kind == 'z') {
        const size_t bound = ZSTD_compressBound(size);
        char *compressed = malloc(bound);
        if (!compressed)
            abort();
        fth_buffer_append(out, compressed, ZSTD_compress(compressed, bound, body, size, 1));
        free(compressed);
    } else if (kind == 'p') {
        for (size_t from = 0; from < size;) {
            const size_t length = strcspn(body + from, "\n");
            fuzz_put_points_line(out, body + from, length);
            from += length + 1;
        }
    } else {
        fth_buffer_append(out, body, size);
    }
}

/* Writes the file of a part: its first line, without the '=', and its body, which ends with a NUL.
 */
static void write_part(size_t index, const char *line, const char *body, size_t size,
                       char path[160])
{
    struct fth_buffer content = {0};
    char name[MAX_NAME + 1] = "";
    const size_t length = strcspn(line, "\n");
    if (length > 1)
        snprintf(name, sizeof name, "%.*s", (int)(length - 1), line + 1);
    for (char *c = name; *c; c++)
        if (*c == '/')
            *c = '|';
    snprintf(path, 160, "%s/%zu/x%s", folder, index, name);
    put_content(&content, *line, body, size);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(content.data ? content.data : "", 1, content.size, file) != content.size ||
        fclose(file) != 0)
        abort();
    fth_buffer_fini(&content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char paths[MAX_PARTS][160], *text = malloc(size + 1);
    const char *names[MAX_PARTS];
    size_t count = 0;
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (!folder[0]) {
        make_folders();
        report(NULL, 0);
    }
    for (char *at = text; *at == '=' && count < MAX_PARTS; count++) {
        char *body = at + strcspn(at, "\n");
        body += *body == '\n';
        char *end = strstr(body, "\n=");
        /* A NUL in the input ends the text; only the last part can contain one. */
        const size_t length = end ? (size_t)(end - body) : size - (size_t)(body - text);
        char *next = end ? end + 1 : text + size;
        if (end)
            *end = '\0';
        write_part(count, at + 1, body, length, paths[count]);
        names[count] = paths[count];
        at = next;
    }
    if (count)
        report(names, count);
    for (size_t i = 0; i < count; i++)
        unlink(paths[i]);
    free(text);
    return 0;
}
