/* Variables of the program's modules: __device__, __constant__ and __managed__. */
#include "cudart.h"

FTH_API int cudaGetSymbolAddress(void **pointer, const void *symbol)
{
    uint64_t address = 0;
    size_t bytes = 0;
    int error = fth_enter();
    if (!error)
        error = fth_find_variable(symbol, &address, &bytes);
    if (!error)
        *pointer = fth_pointer(address);
    return fth_leave(error);
}

FTH_API int cudaGetSymbolSize(size_t *bytes, const void *symbol)
{
    uint64_t address = 0;
    int error = fth_enter();
    return fth_leave(error ? error : fth_find_variable(symbol, &address, bytes));
}

/* Returns the address of a part of a variable. */
static int find_part(const void *symbol, size_t offset, size_t count, uint64_t *address)
{
    size_t bytes = 0;
    int error = fth_enter();
    if (!error)
        error = fth_find_variable(symbol, address, &bytes);
    if (!error && (offset > bytes || count > bytes - offset))
        error = FTH_INVALID_VALUE;
    *address += offset;
    return error;
}

static int write_symbol(const void *symbol, const void *source, size_t count, size_t offset,
                        int kind, struct fth_cu_stream *stream, bool wait)
{
    uint64_t address = 0;
    int error = find_part(symbol, offset, count, &address);
    if (!error && (kind == FTH_HOST_TO_HOST || kind == FTH_DEVICE_TO_HOST))
        error = FTH_INVALID_DIRECTION;
    if (!error)
        error = fth_copy(address, fth_address(source), count, kind, stream, wait);
    return fth_leave(error);
}

static int read_symbol(void *target, const void *symbol, size_t count, size_t offset, int kind,
                       struct fth_cu_stream *stream, bool wait)
{
    uint64_t address = 0;
    int error = find_part(symbol, offset, count, &address);
    if (!error && (kind == FTH_HOST_TO_HOST || kind == FTH_HOST_TO_DEVICE))
        error = FTH_INVALID_DIRECTION;
    if (!error)
        error = fth_copy(fth_address(target), address, count, kind, stream, wait);
    return fth_leave(error);
}

FTH_API int cudaMemcpyToSymbol(const void *symbol, const void *source, size_t count, size_t offset,
                               int kind)
{
    return write_symbol(symbol, source, count, offset, kind, NULL, true);
}

FTH_API int cudaMemcpyToSymbol_ptds(const void *symbol, const void *source, size_t count,
                                    size_t offset, int kind)
{
    return write_symbol(symbol, source, count, offset, kind, FTH_PER_THREAD_STREAM, true);
}

FTH_API int cudaMemcpyToSymbolAsync(const void *symbol, const void *source, size_t count,
                                    size_t offset, int kind, struct fth_cu_stream *stream)
{
    return write_symbol(symbol, source, count, offset, kind, stream, false);
}

FTH_API int cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *source, size_t count,
                                         size_t offset, int kind, struct fth_cu_stream *stream)
{
    return write_symbol(symbol, source, count, offset, kind, fth_per_thread(stream), false);
}

FTH_API int cudaMemcpyFromSymbol(void *target, const void *symbol, size_t count, size_t offset,
                                 int kind)
{
    return read_symbol(target, symbol, count, offset, kind, NULL, true);
}

FTH_API int cudaMemcpyFromSymbol_ptds(void *target, const void *symbol, size_t count, size_t offset,
                                      int kind)
{
    return read_symbol(target, symbol, count, offset, kind, FTH_PER_THREAD_STREAM, true);
}

FTH_API int cudaMemcpyFromSymbolAsync(void *target, const void *symbol, size_t count, size_t offset,
                                      int kind, struct fth_cu_stream *stream)
{
    return read_symbol(target, symbol, count, offset, kind, stream, false);
}

FTH_API int cudaMemcpyFromSymbolAsync_ptsz(void *target, const void *symbol, size_t count,
                                           size_t offset, int kind, struct fth_cu_stream *stream)
{
    return read_symbol(target, symbol, count, offset, kind, fth_per_thread(stream), false);
}
