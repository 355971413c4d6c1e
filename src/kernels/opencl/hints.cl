// Loads and stores of NVIDIA's GPUs with cache hints to the L2, which arrays.cl uses if its loop has
// `code->hinted`: the L2 evicts lines that were loaded last, and lines that were stored first. As in
// sweep.ptx. GPUs before sm_80 have no hints; the driver then does not compile this text.
//
// Source: NVIDIA, "Parallel Thread Execution ISA": createpolicy, ld and st with .L2::cache_hint.
//
// FTH_DECLARE_HINTS declares the variables that FTH_GET and FTH_PUT use. An operand of inline
// assembly cannot be an element of a vector, hence the words.
#define FTH_DECLARE_HINTS                                                                          \
    ulong keep, drop;                                                                              \
    __asm__("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));                   \
    __asm__("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(drop));                  \
    (void)keep, (void)drop; /* a read does not store, a write does not load */

#if FTH_WIDE
#define FTH_TYPE "f64"
#define FTH_OUT(word) "=d"(word)
#define FTH_IN(word) "d"(word)
#else
#define FTH_TYPE "f32"
#define FTH_OUT(word) "=f"(word)
#define FTH_IN(word) "f"(word)
#endif

#if FTH_VECTOR_WORDS == 4
#define FTH_GET(vector, place)                                                                     \
    {                                                                                              \
        fth_word w0, w1, w2, w3;                                                                   \
        __asm__ volatile("ld.global.cg.L2::cache_hint.v4." FTH_TYPE " {%0, %1, %2, %3}, [%4], %5;" \
                         : FTH_OUT(w0), FTH_OUT(w1), FTH_OUT(w2), FTH_OUT(w3)                      \
                         : "l"(place), "l"(keep));                                                 \
        (vector) = (fth_vector)(w0, w1, w2, w3);                                                   \
    }
#define FTH_PUT(place, vector)                                                                     \
    {                                                                                              \
        const fth_vector put = (vector);                                                           \
        const fth_word w0 = put.x, w1 = put.y, w2 = put.z, w3 = put.w;                             \
        __asm__ volatile("st.global.L2::cache_hint.v4." FTH_TYPE " [%0], {%1, %2, %3, %4}, %5;"    \
                         :                                                                         \
                         : "l"(place), FTH_IN(w0), FTH_IN(w1), FTH_IN(w2), FTH_IN(w3), "l"(drop)   \
                         : "memory");                                                              \
    }
#elif FTH_VECTOR_WORDS == 2
#define FTH_GET(vector, place)                                                                     \
    {                                                                                              \
        fth_word w0, w1;                                                                           \
        __asm__ volatile("ld.global.cg.L2::cache_hint.v2." FTH_TYPE " {%0, %1}, [%2], %3;"         \
                         : FTH_OUT(w0), FTH_OUT(w1)                                                \
                         : "l"(place), "l"(keep));                                                 \
        (vector) = (fth_vector)(w0, w1);                                                           \
    }
#define FTH_PUT(place, vector)                                                                     \
    {                                                                                              \
        const fth_vector put = (vector);                                                           \
        const fth_word w0 = put.x, w1 = put.y;                                                     \
        __asm__ volatile("st.global.L2::cache_hint.v2." FTH_TYPE " [%0], {%1, %2}, %3;"            \
                         :                                                                         \
                         : "l"(place), FTH_IN(w0), FTH_IN(w1), "l"(drop)                           \
                         : "memory");                                                              \
    }
#else
#define FTH_GET(vector, place)                                                                     \
    __asm__ volatile("ld.global.cg.L2::cache_hint." FTH_TYPE " %0, [%1], %2;"                      \
                     : FTH_OUT(vector)                                                             \
                     : "l"(place), "l"(keep));
#define FTH_PUT(place, vector)                                                                     \
    __asm__ volatile("st.global.L2::cache_hint." FTH_TYPE " [%0], %1, %2;"                         \
                     :                                                                             \
                     : "l"(place), FTH_IN(vector), "l"(drop)                                       \
                     : "memory");
#endif
