/* printf of a kernel. nvcc translates it into a call of vprintf with the format and the address of
 * the arguments, which are one after the other: integers have 4 or 8 bytes, floats are doubles, and
 * each is aligned to its size. The host's printf converts each value, as with CUDA. */
#include "ptx/runtime/runtime.h"

#include <stdlib.h>

/* Output that one block can print, in bytes; the rest is dropped, with a message. It is also the
 * limit of a width, a precision, a text and a format. Chosen: the default size of the buffer of a
 * CUDA device. */
#define MAX_OUTPUT ((size_t)1 << 20)

/* The state of one call. */
struct print {
    const struct fth_ptx_builtin_call *call;
    uint64_t next;  /* address of the next argument */
    uint32_t count; /* of the arguments that have been read */
    bool ok;
    struct fth_buffer out;
};

/* Reads the next argument, which has 4 or 8 bytes. Returns 0 after a fault. */
static uint64_t take(struct print *print, unsigned bytes)
{
    uint64_t value = 0;
    print->next = (print->next + bytes - 1) / bytes * bytes;
    print->ok = print->ok && fth_ptx_builtin_read(print->call, print->next, &value, bytes);
    print->next += bytes;
    print->count++;
    return print->ok ? value : 0;
}

/* Copies the number of a width or precision, or that of an argument for '*', to the conversion. */
static const char *take_number(struct print *print, const char *at, struct fth_buffer *conversion)
{
    long number = 0;
    if (*at == '*') {
        number = (int32_t)take(print, 4);
        at++;
    } else {
        char *end;
        number = strtol(at, &end, 10);
        if (end == at)
            return at;
        at = end;
    }
    const long max = (long)MAX_OUTPUT;
    fth_buffer_format(conversion, "%ld", number > max ? max : number < -max ? -max : number);
    return at;
}

static void print_text(struct print *print, const char *conversion)
{
    const uint64_t address = take(print, 8);
    struct fth_buffer text = {0};
    if (address)
        print->ok = print->ok && fth_ptx_builtin_text(print->call, address, MAX_OUTPUT, &text);
    else
        fth_buffer_text(&text, "(null)");
    fth_buffer_text(&text, "");
    print->out.failed = print->out.failed || text.failed;
    if (print->ok && !text.failed)
        fth_buffer_format(&print->out, conversion, text.data);
    fth_buffer_fini(&text);
}

/* Converts the next argument. `type` is the last letter of the conversion, `wide` says that it has
 * a letter for integers of 8 bytes. */
static void print_value(struct print *print, const char *conversion, char type, bool wide)
{
    if (strchr("eEfFgGaA", type)) {
        fth_buffer_format(&print->out, conversion, as_double(take(print, 8)));
    } else if (type == 's') {
        print_text(print, conversion);
    } else if (type == 'p') {
        /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the device. */
        fth_buffer_format(&print->out, conversion, (void *)(uintptr_t)take(print, 8));
    } else if (wide) {
        fth_buffer_format(&print->out, conversion, (long long)take(print, 8));
    } else {
        fth_buffer_format(&print->out, conversion, (int)take(print, 4));
    }
}

/* Prints a conversion, which begins after the '%'. Returns its end. An unknown conversion is copied
 * to the output. */
static const char *print_conversion(struct print *print, const char *at)
{
    const char *start = at;
    struct fth_buffer conversion = {0};
    bool wide = false;
    fth_buffer_text(&conversion, "%");
    for (; *at && strchr("#0 +-", *at); at++)
        fth_buffer_append(&conversion, at, 1);
    at = take_number(print, at, &conversion);
    if (*at == '.') {
        fth_buffer_text(&conversion, ".");
        at = take_number(print, at + 1, &conversion);
    }
    for (; *at && strchr("hlLjzt", *at); at++) {
        wide = wide || *at != 'h';
        if (*at == 'h')
            fth_buffer_text(&conversion, "h");
    }
    if (*at == '%') {
        fth_buffer_text(&print->out, "%");
    } else if (*at && strchr("diouxXcpeEfFgGaAs", *at)) {
        if (wide && strchr("diouxX", *at))
            fth_buffer_text(&conversion, "ll");
        fth_buffer_append(&conversion, at, 1);
        if (!conversion.failed)
            print_value(print, conversion.data, *at, wide && strchr("diouxX", *at));
    } else {
        fth_buffer_text(&print->out, "%");
        fth_buffer_append(&print->out, start, (size_t)(at - start) + (*at != '\0'));
    }
    print->out.failed = print->out.failed || conversion.failed;
    fth_buffer_fini(&conversion);
    return *at ? at + 1 : at;
}

/* Adds the output to that of the block. */
static void keep_output(struct fth_ptx_block *block, const struct fth_buffer *out)
{
    const size_t space = MAX_OUTPUT - block->printed.size;
    if (out->size > space)
        __atomic_store_n(&block->run->dropped_output, true, __ATOMIC_RELAXED);
    fth_buffer_append(&block->printed, out->data, out->size < space ? out->size : space);
}

void fth_ptx_call_printf(const struct fth_ptx_builtin_call *call)
{
    struct fth_ptx_block *block = call->warp->block;
    struct fth_ptx_run *run = block->run;
    struct print print = {.call = call, .next = fth_ptx_builtin_argument(call, 1), .ok = true};
    struct fth_buffer format = {0};
    if (!run->launch->print || block->printed.size == MAX_OUTPUT) {
        __atomic_store_n(&run->dropped_output, true, __ATOMIC_RELAXED);
        fth_ptx_builtin_return(call, 0);
        return;
    }
    fth_buffer_text(&format, "");
    print.ok = fth_ptx_builtin_text(call, fth_ptx_builtin_argument(call, 0), MAX_OUTPUT, &format);
    /* The end of an output that is too long is not needed. */
    for (const char *at = format.failed ? "" : format.data;
         *at && print.ok && print.out.size <= MAX_OUTPUT;) {
        const char *percent = strchr(at, '%');
        const size_t plain = percent ? (size_t)(percent - at) : strlen(at);
        fth_buffer_append(&print.out, at, plain);
        at = percent ? print_conversion(&print, percent + 1) : at + plain;
    }
    if (print.ok)
        keep_output(block, &print.out);
    if (format.failed || print.out.failed || block->printed.failed) {
        fth_ptx_run_no_memory(run);
        call->warp->failed = true;
    }
    fth_ptx_builtin_return(call, print.count);
    fth_buffer_fini(&format);
    fth_buffer_fini(&print.out);
}
