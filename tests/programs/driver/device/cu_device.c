/* Devices, their attributes, and names of errors. */
#include "driver_api.h"

int main(void)
{
    int count, device = -1, value, major, minor, version;
    size_t bytes;
    char name[64], bus[32];
    const char *text;
    unsigned char uuid[16];
    EXPECT(3, cuDeviceGetCount(&count)); /* not initialised */
    EXPECT(1, cuInit(1));
    CHECK(cuDriverGetVersion(&version));
    ASSERT(version >= 12000);
    CHECK(cuInit(0));
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    ASSERT(count == 1);
    CHECK(cuDeviceGet(&device, 0));
    EXPECT(101, cuDeviceGet(&value, 1));
    EXPECT(101, cuDeviceGet(&value, -1));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    ASSERT(strstr(name, "H200"));
    CHECK(cuDeviceGetAttribute(&value, 16, device));
    ASSERT(value == 132); /* SMs */
    CHECK(cuDeviceGetAttribute(&value, 10, device));
    ASSERT(value == 32); /* threads of a warp */
    CHECK(cuDeviceGetAttribute(&value, 1, device));
    ASSERT(value == 1024); /* threads of a block */
    EXPECT(1, cuDeviceGetAttribute(&value, 0, device));
    EXPECT(1, cuDeviceGetAttribute(NULL, 1, device));
    CHECK(cuDeviceComputeCapability(&major, &minor, device));
    ASSERT(major == 9 && minor == 0);
    CHECK(cuDeviceTotalMem_v2(&bytes, device));
    ASSERT(bytes > (size_t)100 << 30);
    CHECK(cuDeviceGetUuid_v2(uuid, device));
    CHECK(cuDeviceGetPCIBusId(bus, sizeof bus, device));
    CHECK(cuDeviceGetByPCIBusId(&value, bus));
    ASSERT(value == device);
    EXPECT(101, cuDeviceGetByPCIBusId(&value, "0000:ff:00.0"));
    CHECK(cuDeviceCanAccessPeer(&value, device, device));
    ASSERT(value == 0);
    CHECK(cuGetErrorName(700, &text));
    ASSERT(strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
    CHECK(cuGetErrorString(2, &text));
    ASSERT(strcmp(text, "out of memory") == 0);
    EXPECT(1, cuGetErrorName(12345, &text));
    ASSERT(text == NULL);
    return succeed();
}
