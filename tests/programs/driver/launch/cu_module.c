/* Modules from PTX, a file and a fat binary; variables; what is refused. */
#include "driver_api.h"

#include <unistd.h>

static const char ptx[] = PTX_HEADER ".visible .global .align 4 .u32 table[3] = {1, 2, 3};\n"
                                     ".visible .const .align 4 .u32 factor = 7;\n" PTX_ADD
                                     ".visible .entry empty() { ret; }\n";

static void store(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* Makes a fat binary, with only what fathom needs: the header of a container of 16 bytes, and an
 * entry with the PTX. */
static unsigned char *make_container(size_t *size)
{
    const size_t payload = (sizeof ptx + 7) / 8 * 8;
    *size = 16 + 64 + payload;
    unsigned char *container = calloc(1, *size);
    ASSERT(container != NULL);
    store(container, 0xba55ed50, 4);
    store(container + 4, 1, 2);
    store(container + 6, 16, 2);
    store(container + 8, 64 + payload, 8);
    store(container + 16, 1, 2); /* PTX */
    store(container + 20, 64, 4);
    store(container + 24, payload, 8);
    store(container + 44, 70, 4); /* of sm_70 */
    memcpy(container + 80, ptx, sizeof ptx);
    return container;
}

static void load_file(void)
{
    struct module *module;
    char path[] = "/tmp/fathom-module-XXXXXX";
    const int file = mkstemp(path);
    ASSERT(file >= 0 && write(file, ptx, sizeof ptx - 1) == (ssize_t)sizeof ptx - 1);
    close(file);
    CHECK(cuModuleLoad(&module, path));
    CHECK(cuModuleUnload(module));
    unlink(path);
    EXPECT(301, cuModuleLoad(&module, path));
}

static void load_container(void)
{
    struct module *module;
    struct function *function;
    size_t size;
    unsigned char *container = make_container(&size);
    struct {
        unsigned magic, version;
        const void *container;
        void *unused;
    } wrapper = {0x466243b1, 1, container, NULL};
    CHECK(cuModuleLoadData(&module, container));
    CHECK(cuModuleGetFunction(&function, module, "add"));
    CHECK(cuModuleUnload(module));
    CHECK(cuModuleLoadData(&module, &wrapper));
    CHECK(cuModuleGetFunction(&function, module, "empty"));
    CHECK(cuModuleUnload(module));
    /* machine code only: as it is, and linked by nvcc -rdc=true */
    char text[1024];
    int options[] = {6, 5}; /* the size of the error log, and the log */
    void *values[] = {pointer_to(sizeof text), text};
    store(container + 16, 2, 2);
    EXPECT(209, cuModuleLoadDataEx(&module, &wrapper, 2, options, values));
    ASSERT(strstr(text, "has no PTX"));
    wrapper.version = 2;
    values[0] = pointer_to(sizeof text);
    EXPECT(209, cuModuleLoadDataEx(&module, &wrapper, 2, options, values));
    ASSERT(strstr(text, "compile it without -rdc=true"));
    store(container + 16, 1, 2);
    CHECK(cuModuleLoadData(&module, &wrapper)); /* with PTX it can be loaded */
    CHECK(cuModuleUnload(module));
    /* a file that is truncated */
    char path[] = "/tmp/fathom-container-XXXXXX";
    const int file = mkstemp(path);
    ASSERT(file >= 0 && write(file, container, size - 8) == (ssize_t)size - 8);
    close(file);
    EXPECT(200, cuModuleLoad(&module, path));
    unlink(path);
    free(container);
}

int main(void)
{
    struct module *module, *other;
    struct function *function, *again, *all[4];
    uint64_t address, second;
    size_t bytes;
    unsigned values[3], count;
    static const char damaged[16] = "\1\2\3\4";
    start();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&function, module, "add"));
    CHECK(cuModuleGetFunction(&again, module, "add"));
    ASSERT(function == again);
    EXPECT(500, cuModuleGetFunction(&function, module, "none"));
    CHECK(cuModuleGetFunctionCount(&count, module));
    ASSERT(count == 2);
    CHECK(cuModuleEnumerateFunctions(all, 4, module));
    ASSERT(all[0] == again || all[1] == again);
    CHECK(cuModuleGetGlobal_v2(&address, &bytes, module, "table"));
    ASSERT(bytes == 12);
    CHECK(cuMemcpyDtoH_v2(values, address, bytes));
    ASSERT(values[0] == 1 && values[1] == 2 && values[2] == 3);
    EXPECT(500, cuModuleGetGlobal_v2(&second, &bytes, module, "none"));
    /* a second copy has variables of its own */
    CHECK(cuModuleLoadData(&other, ptx));
    CHECK(cuModuleGetGlobal_v2(&second, &bytes, other, "table"));
    ASSERT(second != address);
    CHECK(cuMemsetD32_v2(second, 9, 3));
    CHECK(cuMemcpyDtoH_v2(values, address, 12));
    ASSERT(values[0] == 1);
    CHECK(cuModuleGetGlobal_v2(&second, &bytes, other, "factor"));
    CHECK(cuMemcpyDtoH_v2(values, second, 4));
    ASSERT(values[0] == 7);
    CHECK(cuModuleUnload(other));
    EXPECT_HERE(400, cuModuleUnload(other));
    EXPECT_HERE(400, cuModuleGetFunction(&function, other, "add"));
    EXPECT(218, cuModuleLoadData(&other, PTX_HEADER ".visible .entry bad( { nonsense; }\n"));
    EXPECT_HERE(200, cuModuleLoadData(&other, damaged));
    EXPECT_HERE(1, cuModuleLoadData(&other, NULL));
    EXPECT_HERE(218, cuModuleLoadData(&other, " "));
    EXPECT_HERE(209, cuModuleLoadData(&other, "\177ELF, a cubin"));
    load_file();
    if (is_exec())
        load_container();
    CHECK(cuModuleUnload(module));
    return succeed();
}
