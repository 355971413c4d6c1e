/* Draws nested boxes with characters. A block is a rectangle of lines. Blocks are framed, placed
 * side by side and stacked until there is only one:
 *
 *     ┌ SM ×13 ─────────────────┐
 *     │ ┌ L1 data ┐ ┌ Shared ─┐ │
 *     │ │ 16 KiB  │ │ 48 KiB  │ │
 *     │ └─────────┘ └─────────┘ │
 *     └─────────────────────────┘
 */
#include "report/report.h"

#include <string.h>

enum edge { TOP_LEFT, TOP_RIGHT, BOTTOM_LEFT, BOTTOM_RIGHT, ACROSS, DOWN, ELLIPSIS };

static const char *glyph(const struct fth_drawing *drawing, enum edge edge)
{
    static const char *const utf8[] = {"┌", "┐", "└", "┘", "─", "│", "…"};
    static const char *const ascii[] = {"+", "+", "+", "+", "-", "|", "~"};
    return drawing->utf8 ? utf8[edge] : ascii[edge];
}

void fth_drawing_fini(struct fth_drawing *drawing)
{
    fth_arena_fini(&drawing->arena);
}

static struct fth_block make_block(struct fth_drawing *drawing, size_t count, size_t width)
{
    struct fth_block block = {fth_arena_array(&drawing->arena, count, sizeof *block.lines), count,
                              width};
    if (!block.lines) {
        drawing->failed = true;
        block.count = 0;
    }
    return block;
}

/* Copies the buffer into a line of the block and empties the buffer. */
static void set_line(struct fth_drawing *drawing, struct fth_block *block, size_t index,
                     struct fth_buffer *line)
{
    const char *text = fth_arena_text(&drawing->arena, line->data ? line->data : "");
    drawing->failed = drawing->failed || line->failed || !text;
    block->lines[index] = text ? text : "";
    line->size = 0;
    if (line->data)
        line->data[0] = '\0';
}

/* Fills a line that has `used` columns up to `width` with copies of `with`. */
static void pad(struct fth_buffer *line, const char *with, size_t used, size_t width)
{
    if (used < width)
        fth_buffer_repeat(line, with, width - used);
}

struct fth_block fth_draw_lines(struct fth_drawing *drawing, const char *const *lines, size_t count)
{
    size_t width = 0;
    for (size_t i = 0; i < count; i++)
        if (fth_text_columns(lines[i]) > width)
            width = fth_text_columns(lines[i]);
    struct fth_block block = make_block(drawing, count, width);
    for (size_t i = 0; i < block.count; i++) {
        struct fth_buffer line = {0};
        size_t used = fth_text_append(&line, lines[i], width, glyph(drawing, ELLIPSIS));
        pad(&line, " ", used, width);
        set_line(drawing, &block, i, &line);
        fth_buffer_fini(&line);
    }
    return block;
}

struct fth_block fth_draw_box(struct fth_drawing *drawing, const char *title,
                              const struct fth_block *content, size_t width)
{
    enum { EDGES = 4 }; /* an edge and a space on either side */
    size_t needed = content->width + EDGES;
    if (width == 0 && fth_text_columns(title) + EDGES > needed)
        needed = fth_text_columns(title) + EDGES;
    if (needed > width)
        width = needed;
    struct fth_block block = make_block(drawing, content->count + 2, width);
    if (block.count == 0)
        return block;
    struct fth_buffer line = {0};
    fth_buffer_format(&line, "%s ", glyph(drawing, TOP_LEFT));
    size_t used = 2 + fth_text_append(&line, title, width - EDGES, glyph(drawing, ELLIPSIS));
    fth_buffer_text(&line, " ");
    pad(&line, glyph(drawing, ACROSS), used + 1, width - 1);
    fth_buffer_text(&line, glyph(drawing, TOP_RIGHT));
    set_line(drawing, &block, 0, &line);
    for (size_t i = 0; i < content->count; i++) {
        fth_buffer_format(&line, "%s %s", glyph(drawing, DOWN), content->lines[i]);
        pad(&line, " ", content->width + 2, width - 1);
        fth_buffer_text(&line, glyph(drawing, DOWN));
        set_line(drawing, &block, i + 1, &line);
    }
    fth_buffer_text(&line, glyph(drawing, BOTTOM_LEFT));
    pad(&line, glyph(drawing, ACROSS), 1, width - 1);
    fth_buffer_text(&line, glyph(drawing, BOTTOM_RIGHT));
    set_line(drawing, &block, content->count + 1, &line);
    fth_buffer_fini(&line);
    return block;
}

/* Places blocks side by side, separated by one space. Shorter blocks are padded at the bottom. */
static struct fth_block draw_row(struct fth_drawing *drawing, const struct fth_block *blocks,
                                 size_t count)
{
    size_t height = 0, width = 0;
    for (size_t i = 0; i < count; i++) {
        height = blocks[i].count > height ? blocks[i].count : height;
        width += blocks[i].width + (i > 0);
    }
    struct fth_block row = make_block(drawing, height, width);
    struct fth_buffer line = {0};
    for (size_t y = 0; y < row.count; y++) {
        for (size_t i = 0; i < count; i++) {
            fth_buffer_text(&line, i ? " " : "");
            if (y < blocks[i].count)
                fth_buffer_text(&line, blocks[i].lines[y]);
            else
                pad(&line, " ", 0, blocks[i].width);
        }
        set_line(drawing, &row, y, &line);
    }
    fth_buffer_fini(&line);
    return row;
}

struct fth_block fth_draw_stack(struct fth_drawing *drawing, const struct fth_block *blocks,
                                size_t count)
{
    size_t height = 0, width = 0;
    for (size_t i = 0; i < count; i++) {
        height += blocks[i].count;
        width = blocks[i].width > width ? blocks[i].width : width;
    }
    struct fth_block stack = make_block(drawing, height, width);
    struct fth_buffer line = {0};
    size_t y = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < blocks[i].count && y < stack.count; j++, y++) {
            fth_buffer_text(&line, blocks[i].lines[j]);
            pad(&line, " ", blocks[i].width, width);
            set_line(drawing, &stack, y, &line);
        }
    fth_buffer_fini(&line);
    return stack;
}

struct fth_block fth_draw_flow(struct fth_drawing *drawing, const struct fth_block *blocks,
                               size_t count, size_t width)
{
    struct fth_block *rows = fth_arena_array(&drawing->arena, count + 1, sizeof *rows);
    if (!rows) {
        drawing->failed = true;
        return (struct fth_block){NULL, 0, 0};
    }
    size_t row_count = 0;
    for (size_t first = 0; first < count;) {
        size_t last = first + 1, used = blocks[first].width;
        while (last < count && used + 1 + blocks[last].width <= width)
            used += 1 + blocks[last++].width;
        rows[row_count++] = draw_row(drawing, blocks + first, last - first);
        first = last;
    }
    return fth_draw_stack(drawing, rows, row_count);
}
