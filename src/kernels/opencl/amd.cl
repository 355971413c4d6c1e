// Prelude for AMD GPUs whose driver compiles OpenCL C with clang's amdgcn target (ROCm, AMDGPU-PRO).
// other.cl documents what a prelude defines. tests/opencl checks the machine instructions for
// gfx90a, gfx942, gfx1030, gfx1100 and gfx1201.
//
// Sources:
// [usage] LLVM, "User Guide for AMDGPU Backend": section "Memory Model", and the waits of each
//         generation. https://llvm.org/docs/AMDGPUUsage.html
// [isa]   AMD, "Instruction Set Architecture" reference guides: "AMD Instinct MI200", "AMD Instinct
//         MI300", "RDNA 2", "RDNA 3", "RDNA 4". https://gpuopen.com/amd-isa-documentation/
// [hwreg] LLVM, llvm/lib/Target/AMDGPU/SIDefines.h and AMDGPUAsmUtils.cpp: numbers of the hardware
//         registers.
// [hip]   AMD, HIP, amd_device_functions.h: the function __smid.
#if defined(__AMDGCN__) && !defined(__gfx1250__) &&                                                \
    (defined(__GFX9__) || defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__))
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__) ||    \
    defined(__gfx9_4_generic__)
#define FTH_GFX940
#endif

// Waits for all loads. From gfx12 on, each kind of load has its own counter [usage].
#ifdef __GFX12__
#define FTH_WAIT_VECTOR "s_wait_loadcnt 0x0"
#define FTH_WAIT_SCALAR "s_wait_kmcnt 0x0"
#define FTH_WAIT "s_wait_loadcnt 0x0\n\ts_wait_dscnt 0x0\n\ts_wait_kmcnt 0x0\n\t"
#else
#define FTH_WAIT_VECTOR "s_waitcnt vmcnt(0)"
#define FTH_WAIT_SCALAR "s_waitcnt lgkmcnt(0)"
#define FTH_WAIT "s_waitcnt vmcnt(0) lgkmcnt(0)\n\t"
#endif

// The clock counts cycles of the shader clock [isa: S_MEMTIME; SHADER_CYCLES].
// gfx9, gfx10: s_memtime has 64 bits. gfx11 has only the lower 20 bits, in a hardware register, and
// gfx12 has the lower and the upper 32 bits in two; fathom reads the lower ones.
//
// `value` is the result of the last load and the address of the next one. The assembly returns it
// unchanged, but for the compiler it may have changed it. The clock is therefore read after the last
// load has returned its value, and before the next load. The constraint "v" places the value in a
// vector register, so that the compiler uses vector loads although all work-items have the same
// address; "s" places it in a scalar register.
#if defined(__GFX12__)
#define FTH_CLOCK_BITS 32
#define FTH_CLOCK_READ "s_getreg_b32 %0, hwreg(HW_REG_SHADER_CYCLES_LO)"
#define FTH_TICKS uint
#elif defined(__GFX11__)
#define FTH_CLOCK_BITS 20
#define FTH_CLOCK_READ "s_getreg_b32 %0, hwreg(HW_REG_SHADER_CYCLES, 0, 20)"
#define FTH_TICKS uint
#else
#define FTH_CLOCK_READ "s_memtime %0"
#define FTH_CLOCK_WAIT "\n\ts_waitcnt lgkmcnt(0)"
#endif
#ifndef FTH_CLOCK_WAIT
#define FTH_CLOCK_WAIT ""
#endif
#define FTH_CLOCK(ticks, value, note)                                                              \
    __asm__ volatile(FTH_WAIT FTH_CLOCK_READ " ; fth " note FTH_CLOCK_WAIT                         \
                     : "=&s"(ticks), "+v"(value)                                                   \
                     :                                                                             \
                     : "memory")
#define FTH_CLOCK_SCALAR(ticks, value, note)                                                       \
    __asm__ volatile(FTH_WAIT FTH_CLOCK_READ " ; fth " note FTH_CLOCK_WAIT                         \
                     : "=&s"(ticks), "+s"(value)                                                   \
                     :                                                                             \
                     : "memory")
#define FTH_UNIFORM(value) ((uint)__builtin_amdgcn_readfirstlane((int)(value)))

// Keeps the compiler from knowing a value.
#define FTH_OPAQUE(value) __asm__ volatile("" : "+v"(value))

// Past the first cache: the bits of a load with device scope [usage: "load atomic monotonic agent"].
// Such a load must see what other compute units wrote, so it reads the L2. On gfx10 and gfx11 it must
// therefore also pass the cache of the shader array. gfx10 needs the bit dlc for that, gfx11 does not
// [usage]. Before gfx90a, gfx9 has the same bits as gfx90a.
#if defined(__GFX12__)
#define FTH_PAST_LOAD "global_load_b32 %0, %1, %2 scope:SCOPE_DEV"
#elif defined(__GFX11__)
#define FTH_PAST_LOAD "global_load_b32 %0, %1, %2 glc"
#elif defined(__GFX10__)
#define FTH_PAST_LOAD "global_load_dword %0, %1, %2 glc dlc"
#elif defined(FTH_GFX940)
#define FTH_PAST_LOAD "global_load_dword %0, %1, %2 sc1"
#else
#define FTH_PAST_LOAD "global_load_dword %0, %1, %2 glc"
#endif
#define FTH_LOAD_PAST(base, offset) fth_load_past(base, offset)
static inline uint fth_load_past(global const char *base, uint offset)
{
    uint value;
    __asm__ volatile(FTH_PAST_LOAD "\n\t" FTH_WAIT_VECTOR
                     : "=v"(value)
                     : "v"(offset), "s"(base)
                     : "memory");
    return value;
}

// Addresses in local memory have 32 bits, and the load takes no base. The links are therefore addresses.
#define FTH_SHARED_ORIGIN(base) ((uint)(size_t)(base))
#define FTH_LOAD_SHARED(base, address) (*(local const uint *)(size_t)(address))

// Where the work-item runs: XCD << 16 | shader engine << 12 | shader array << 8 | compute unit. On
// gfx10 and later, a work-group processor (WGP) has two compute units; the number of the compute unit
// is then 2 * WGP + the lower bit of the SIMD's number.
//
// The operand of s_getreg is register | first bit << 6 | (bits - 1) << 11 [isa: S_GETREG_B32]. The
// fields are those that HIP's __smid reads [hip].
//   gfx9    HW_ID (4):   CU_ID bits 11:8, SH_ID bit 12, SE_ID bits 14:13 (15:13 before gfx940)
//           XCC_ID (20), from gfx940 on: bits 3:0
//   gfx10+  HW_ID1 (23): SIMD_ID bits 9:8, WGP_ID bits 13:10, SA_ID bit 16, SE_ID bits 19:18 (20:18
//           from gfx11 on)
#define FTH_GETREG(register, first, bits) \
    ((uint)__builtin_amdgcn_s_getreg((register) | (first) << 6 | ((bits) - 1) << 11))
#define FTH_UNIT() fth_unit()
static inline uint fth_unit(void)
{
#if defined(FTH_GFX940)
    return FTH_GETREG(20, 0, 4) << 16 | FTH_GETREG(4, 13, 2) << 12 | FTH_GETREG(4, 12, 1) << 8 |
           FTH_GETREG(4, 8, 4);
#elif defined(__GFX9__)
    return FTH_GETREG(4, 13, 3) << 12 | FTH_GETREG(4, 12, 1) << 8 | FTH_GETREG(4, 8, 4);
#elif defined(__GFX10__)
    return FTH_GETREG(23, 18, 2) << 12 | FTH_GETREG(23, 16, 1) << 8 | FTH_GETREG(23, 10, 4) << 1 |
           FTH_GETREG(23, 8, 1);
#else
    return FTH_GETREG(23, 18, 3) << 12 | FTH_GETREG(23, 16, 1) << 8 | FTH_GETREG(23, 10, 4) << 1 |
           FTH_GETREG(23, 8, 1);
#endif
}

// Code for instruction caches (fetch.cl): s_nop 0, which has 4 bytes and occupies the wavefront's issue
// for one slot [isa: S_NOP]. The branches of the ISA reach 128 KiB, so the code is entered and left by
// s_setpc_b64: s[40:41] is the entry, s[42:43] where the kernel continues. Only CPUs are
// measured with code that has a stride.
#if defined(FTH_CODE_COUNT) && !FTH_CODE_STRIDE
#define FTH_TEXT_OF(number) #number
#define FTH_TEXT(number) FTH_TEXT_OF(number)
#define FTH_CODE(bytes, left)                                                                      \
    __asm__ volatile("s_getpc_b64 s[40:41]\n"                                                      \
                     "1:\n\t"                                                                      \
                     "s_add_u32 s42, s40, 3f-1b\n\t"                                               \
                     "s_addc_u32 s43, s41, 0\n\t"                                                  \
                     "s_add_u32 s40, s40, 2f-1b\n\t"                                               \
                     "s_addc_u32 s41, s41, 0\n\t"                                                  \
                     "s_sub_u32 s40, s40, %1\n\t"                                                  \
                     "s_subb_u32 s41, s41, 0\n\t"                                                  \
                     "s_setpc_b64 s[40:41]\n\t"                                                    \
                     ".subsection 1\n\t"                                                           \
                     ".p2align 8\n\t"                                                              \
                     ".rept " FTH_TEXT(FTH_CODE_COUNT) "\n\ts_nop 0\n\t.endr\n"                    \
                     "2:\n\t"                                                                      \
                     "s_sub_u32 %0, %0, 1\n\t"                                                     \
                     "s_cmp_eq_u32 %0, 0\n\t"                                                      \
                     "s_cbranch_scc1 4f\n\t"                                                       \
                     "s_setpc_b64 s[40:41]\n"                                                      \
                     "4:\n\t"                                                                      \
                     "s_setpc_b64 s[42:43]\n\t"                                                    \
                     ".subsection 0\n"                                                             \
                     "3:"                                                                          \
                     : "+s"(left)                                                                  \
                     : "s"(bytes)                                                                  \
                     : "s40", "s41", "s42", "s43", "scc", "memory")
#endif

// The clock REFCLK, which all units share, has 100 MHz [isa: S_MEMREALTIME; S_SENDMSG_RTN_B64,
// MSG_RTN_GET_REALTIME].
#define FTH_TIME_NS 10
#if defined(__GFX11__) || defined(__GFX12__)
#define FTH_TIME_READ "s_sendmsg_rtn_b64 %0, sendmsg(MSG_RTN_GET_REALTIME)\n\t"
#else
#define FTH_TIME_READ "s_memrealtime %0\n\t"
#endif
#define FTH_TIME(time) __asm__ volatile(FTH_TIME_READ FTH_WAIT_SCALAR : "=&s"(time) : : "memory")
#endif // Otherwise (another compiler such as Mesa's, or an unknown generation), other.cl defines all.
