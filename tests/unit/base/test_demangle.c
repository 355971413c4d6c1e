/* Tests the names of C++ functions (base/demangle/) against tables, and against c++filt if GNU
 * binutils are installed. Most names are those that nvcc gives to kernels; the others have parts
 * that rarely occur. */
#include "base/base.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

struct pair {
    const char *name, *full;
};

/* Names that c++filt writes in the same way. */
static const struct pair common[] = {
    {"_Z2auIL4Mode1EEvPi", "void au<(Mode)1>(int*)"},
    {"_Z2auILc99EEvPi", "void au<(char)99>(int*)"},
    {"_Z2auILi5EEvPi", "void au<5>(int*)"},
    {"_Z2auIXadL_Z4devfPKfiEEEvPi", "void au<&(devf(float const*, int))>(int*)"},
    {"_Z2dtIiEDTcvvplixfp_Li0Efp0_EPT_S1_",
     "decltype ((void)(({parm#1}[0])+{parm#2})) dt<int>(int*, int)"},
    {"_Z2fpPFviEPFfPKfiEPi", "fp(void (*)(int), float (*)(float const*, int), int*)"},
    {"_Z2icIbLb1EEvSt17integral_constantIT_XT0_EEPi",
     "void ic<bool, true>(std::integral_constant<bool, true>, int*)"},
    {"_Z2icImLm5EEvSt17integral_constantIT_XT0_EEPi",
     "void ic<unsigned long, 5ul>(std::integral_constant<unsigned long, 5ul>, int*)"},
    {"_Z2ttIN2ns3BoxEfEvPT_IT0_E", "void tt<ns::Box, float>(ns::Box<float>*)"},
    {"_Z3fwdIfEvPT_PS1_PKPKS0_PVS0_PVS1_",
     "void fwd<float>(float*, float**, float const* const*, float volatile*, float* volatile*)"},
    {"_Z3hidN33_GLOBAL__N__0a1b2c3d_1_k_0e0f0a0b6HiddenEPi",
     "hid((anonymous namespace)::Hidden, int*)"},
    {"_Z3memIXadL_ZNK2Op2meEiEEEvPS0_Pi", "void mem<&(Op::me(int) const)>(Op*, int*)"},
    {"_Z3seqISt16integer_sequenceImJLm0ELm1ELm2ELm3EEEEvT_Pi",
     "void seq<std::integer_sequence<unsigned long, 0ul, 1ul, 2ul, 3ul> "
     ">(std::integer_sequence<unsigned long, 0ul, 1ul, 2ul, 3ul>, int*)"},
    {"_Z4arrTIfLi4EEvRAT0__T_PAplT0_Li1E_S0_",
     "void arrT<float, 4>(float (&) [4], float (*) [(4)+(1)])"},
    {"_Z4arrsPA32_fRA3_iPA2_A4_Kd", "arrs(float (*) [32], int (&) [3], double const (*) [2][4])"},
    {"_Z4gptrIXadL_Z2gvEEEvPi", "void gptr<&gv>(int*)"},
    {"_Z4hidtIN33_GLOBAL__N__0a1b2c3d_1_k_0e0f0a0b6HiddenEEvT_Pi",
     "void hidt<(anonymous namespace)::Hidden>((anonymous namespace)::Hidden, int*)"},
    {"_Z4intsIJEEvPi", "void ints<>(int*)"},
    {"_Z4intsIJLi1ELin2ELi3EEEvPi", "void ints<1, -2, 3>(int*)"},
    {"_Z4litsILin1ELj2ELln3ELm4ELxn5ELy6ELc97ELb1ELsn2ELh7EEvPi",
     "void lits<-1, 2u, -3l, 4ul, -5ll, 6ull, (char)97, true, (short)-2, (unsigned char)7>(int*)"},
    {"_Z4memdIXadL_ZN2Op1mEEEEvPS0_Pi", "void memd<&Op::m>(Op*, int*)"},
    {"_Z4packIJEEvDpT_", "void pack<>()"},
    {"_Z4packIJifPiEEvDpT_", "void pack<int, float, int*>(int, float, int*)"},
    {"_Z4sameIPiPfEvT_T0_PS2_PS3_PSt4pairIS2_S3_E",
     "void same<int*, float*>(int*, float*, int**, float**, std::pair<int*, float*>*)"},
    {"_Z4sfinIiLi0EEvPT_", "void sfin<int, 0>(int*)"},
    {"_Z4statPi", "stat(int*)"},
    {"_Z5applyI2OpEvT_Pi", "void apply<Op>(Op, int*)"},
    {"_Z5applyIZ4mainEUliE0_EvT_Pi",
     "void apply<main::{lambda(int)#2}>(main::{lambda(int)#2}, int*)"},
    {"_Z5applyIZ4mainEUliE1_EvT_Pi",
     "void apply<main::{lambda(int)#3}>(main::{lambda(int)#3}, int*)"},
    {"_Z5applyIZ4mainEUliE_EvT_Pi",
     "void apply<main::{lambda(int)#1}>(main::{lambda(int)#1}, int*)"},
    {"_Z5enumsIL5Color1EL4Mode2EEvPi", "void enums<(Color)1, (Mode)2>(int*)"},
    {"_Z5fnargIXadL_Z4devfPKfiEEEvPi", "void fnarg<&(devf(float const*, int))>(int*)"},
    {"_Z5halfsP6__halfPK13__nv_bfloat167__half26float4P13__nv_fp8_e4m3",
     "halfs(__half*, __nv_bfloat16 const*, __half2, float4, __nv_fp8_e4m3*)"},
    {"_Z5innerIfEvN1K5InnerIT_EEPi", "void inner<float>(K::Inner<float>, int*)"},
    {"_Z5packpIJifEEvDpPKT_", "void packp<int, float>(int const*, float const*)"},
    {"_Z5sfinrIiENSt9enable_ifIXgtstT_Li2EEvE4typeEPS1_",
     "std::enable_if<((sizeof (int))>(2)), void>::type sfinr<int>(int*)"},
    {"_Z7builtinbcahstijlmxyfdwDsDi",
     "builtin(bool, char, signed char, unsigned char, short, unsigned short, int, unsigned int, "
     "long, unsigned long, long long, unsigned long long, float, double, wchar_t, char16_t, "
     "char32_t)"},
    {"_Z8nestenumILN2ns3BoxIfE1EE5EEvPi", "void nestenum<(ns::Box<float>::E)5>(int*)"},
    {"_Z9transposeILi32ELi0EEvPfPKf", "void transpose<32, 0>(float*, float const*)"},
    {"_Z9transposeILin5ELi7EEvPfPKf", "void transpose<-5, 7>(float*, float const*)"},
    {"_ZN2ns2v13inlEPNS_3BoxIfEENS2_2InE", "ns::v1::inl(ns::Box<float>*, ns::Box<float>::In)"},
    {"_ZN2ns33_GLOBAL__N__0a1b2c3d_1_k_0e0f0a0b4anonEPi", "ns::(anonymous namespace)::anon(int*)"},
    {"_ZN2ns33_GLOBAL__N__0a1b2c3d_1_k_0e0f0a0b5anontILi3EEEvPi",
     "void ns::(anonymous namespace)::anont<3>(int*)"},
    {"_ZN2ns6kernelI6__halfEEvPT_PKS2_", "void ns::kernel<__half>(__half*, __half const*)"},
    {"_ZN2ns6kernelINS_3BoxINS1_IiEEEEEEvPT_PKS4_",
     "void ns::kernel<ns::Box<ns::Box<int> > >(ns::Box<ns::Box<int> >*, ns::Box<ns::Box<int> > "
     "const*)"},
    {"_ZN2ns6kernelIfEEvPT_PKS1_", "void ns::kernel<float>(float*, float const*)"},
    {"_Z1fIiJEEvT_DpT0_", "void f<int>(int)"},
    {"_Z1fIKfEvPKT_", "void f<float const>(float const*)"},
    {"_Z1fIRfEvOT_", "void f<float&>(float&)"},
    {"_Z1fIOfEvRT_", "void f<float&&>(float&)"},
    {"_Z1fIRA3_iEvT_", "void f<int (&) [3]>(int (&) [3])"},
    {"_Z1fIFvifEEvPT_", "void f<void (int, float)>(void (*)(int, float))"},
    {"_Z1fIM1AFivEEvT_", "void f<int (A::*)()>(int (A::*)())"},
    {"_Z1fIM1AKFivEEvT_", "void f<int (A::*)() const>(int (A::*)() const)"},
    {"_Z1fIM1AiEvT_", "void f<int A::*>(int A::*)"},
    {"_Z1fIPFPFviEfEEvT_", "void f<void (*(*)(float))(int)>(void (*(*)(float))(int))"},
    {"_Z1fILf3f800000EEvv", "void f<(float)[3f800000]>()"},
    {"_Z1fILb0EEvv", "void f<false>()"},
    {"_Z1fILDn0EEvv", "void f<(decltype(nullptr))0>()"},
    {"_Z1fIXstiEEvv", "void f<sizeof (int)>()"},
    {"_Z1fIiEvDTcl1gfp_EET_", "void f<int>(decltype (g({parm#1})), int)"},
    {"_Z1fIiEvNSt9enable_ifIXaasr3std11is_integralIT_EE5valuentsr3std7is_voidIS1_EE5valueEvE4typeE",
     "void f<int>(std::enable_if<std::is_integral<int>::value&&(!std::is_void<int>::value), "
     "void>::type)"},
    {"_Z1fIiEvNSt9enable_ifIXsr11is_integralIT_EE5valueEiE4typeE",
     "void f<int>(std::enable_if<is_integral<int>::value, int>::type)"},
    {"_Z1fISt6vectorIiSaIiEEEvT_",
     "void f<std::vector<int, std::allocator<int> > >(std::vector<int, std::allocator<int> >)"},
    {"_Z1fINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEvT_",
     "void f<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > "
     ">(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >)"},
    {"_ZN1AC1Ev", "A::A()"},
    {"_ZN1AD1Ev", "A::~A()"},
    {"_ZN1AIiEC2ERKS0_", "A<int>::A(A<int> const&)"},
    {"_ZN1AplERKS_", "A::operator+(A const&)"},
    {"_ZN1AclEi", "A::operator()(int)"},
    {"_ZNK1AcvbEv", "A::operator bool() const"},
    {"_Znwm", "operator new(unsigned long)"},
    {"_ZN1AnwEm", "A::operator new(unsigned long)"},
    {"_ZN1AltIiEEbT_", "bool A::operator< <int>(int)"},
    {"_ZNSt3barE", "std::bar"},
    {"_ZNSt3barEv", "std::bar()"},
    {"_ZNKR1A1fEv", "A::f() const &"},
    {"_Z1fIZ4mainE1AEvT_", "void f<main::A>(main::A)"},
    {"_Z1fIZ1gvE1A_0EvT_", "void f<g()::A>(g()::A)"},
    {"_Z1fDv4_f", "f(float __vector(4))"},
    {"_Z1fCf", "f(float _Complex)"},
    {"_Z1fiz", "f(int, ...)"},
    {"_Z1fIL_Z1gvEEvv", "void f<g()>()"},
    {"_Z1fIJLi1ELi2EEEvN1AIXspT_EEE", "void f<1, 2>(A<1, 2>)"},
    {"_Z1fIJiiEEvDpRKSt6vectorIT_SaIS1_EE",
     "void f<int, int>(std::vector<int, std::allocator<int> > const&, std::vector<int, "
     "std::allocator<int> > const&)"},
    {"_ZL4statPi", "stat(int*)"},
    {"_ZN1AB5cxx11Ev", "A[abi:cxx11]()"},
    {"_Z1fB5cxx11v", "f[abi:cxx11]()"},
    {"_Z1fIXcvi5valueEEvv", "void f<(int)value>()"},
    {"_Z1fIXplLi1ELi2EEEvv", "void f<(1)+(2)>()"},
    {"_Z1fIiEDTplfp_fp_ET_", "decltype ({parm#1}+{parm#1}) f<int>(int)"},
    {"_Z1fIiEDTdtfp_4sizeET_", "decltype ({parm#1}.size) f<int>(int)"},
    {"_Z1fIiEDTclptfp_4sizeEEPT_", "decltype (({parm#1}->size)()) f<int>(int*)"},
    {"_Z1fINS_1AES0_EvT_", "void f<f::A, f::A>(f::A)"},
    {"_Z1fIiEvDTsrN1A1BE1CE", "void f<int>(decltype (A::B::C))"},
    {"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()"},
    {"_Z1fIXscfLi3EEEvv", "void f<static_cast<float>(3)>()"},
    {"_Z1fIXppLi3EEEvv", "void f<(3)++>()"},
    {"_Z1fIXpp_Li3EEEvv", "void f<++(3)>()"},
    {"_Z1fIXngLi5EEEvv", "void f<-(5)>()"},
    {"_Z1fIXgtLi5ELi4EEEvv", "void f<((5)>(4))>()"},
    {"_Z1fIXrsLi5ELi4EEEvv", "void f<(5)>>(4)>()"},
    {"_Z1fPKPKPKf", "f(float const* const* const*)"},
    {"_Z1fPA_i", "f(int (*) [])"},
    {"_Z1fRKA4_i", "f(int const (&) [4])"},
    {"_Z1fPPFvvE", "f(void (**)())"},
    {"_Z1fPFPA3_ivE", "f(int (*(*)()) [3])"},
    {"_Z1fIcvEvv", "void f<char, void>()"},
    {"_Z6kernelIL1E1EEvv", "void kernel<(E)1>()"},
    {"_Z6kernelILN1AUt_E1EEvv", "void kernel<(A::{unnamed type#1})1>()"},
    {"_ZN3foo3barIiE3bazIfEEvT_", "void foo::bar<int>::baz<float>(float)"},
    {"_ZN3fooIiE3barEv", "foo<int>::bar()"},
    {"_Z1fIJifEEvRAsZT__i", "void f<int, float>(int (&) [2])"},
    {"_Z1fILb1EEvRAquT_Li1ELi2E_i", "void f<true>(int (&) [(true)?(1) : (2)])"},
    {"_ZN3cub6detail4scan20DeviceScanInitKernelINS_13ScanTileStateIfLb1EEEEEvT_i",
     "void cub::detail::scan::DeviceScanInitKernel<cub::ScanTileState<float, true> "
     ">(cub::ScanTileState<float, true>, int)"},
    {"_Z6kernelIN3fooIiE3barEEvT_", "void kernel<foo<int>::bar>(foo<int>::bar)"},
};

/* Names that c++filt does not know, or that its versions write in different ways. */
static const struct pair others[] = {
    {"_Z1fPVKf", "f(float const volatile*)"},
    {"_Z1fISsEvT_", "void f<std::basic_string<char, std::char_traits<char>, std::allocator<char> > "
                    ">(std::basic_string<char, std::char_traits<char>, std::allocator<char> >)"},
    {"_Z1fIN1AUlT_E_EEvT_", "void f<A::{lambda(auto:1)#1}>(A::{lambda(auto:1)#1})"},
    {"_Z1fIN1AUlT_T0_E1_EEvT_",
     "void f<A::{lambda(auto:1, auto:2)#3}>(A::{lambda(auto:1, auto:2)#3})"},
    {"_Z1fu6__bf16", "f(__bf16)"},
    {"_Z1fDF16_", "f(_Float16)"},
    {"_Z1fPU3AS1f", "f(float AS1*)"},
    {"_Z1fIXadL_ZN1A1gEvEEEvv", "void f<&A::g>()"},
    {"_Z1fIXtl1ALi1EEEEvv", "void f<A{1}>()"},
    {"_Z1fDnDiDsDu", "f(decltype(nullptr), char32_t, char16_t, char8_t)"},
    {"_Z1fPDoFvvE", "f(void (*)() noexcept)"},
    {"_Z1fIJLb1EEEv1AIXfraaT_EE", "void f<true>(A<((true)&&...)>)"},
    {"_Z1fIJLb1EEEv1AIXflaaT_EE", "void f<true>(A<(...&&(true))>)"},
    {"_Z1fIJLb1EEEv1AIXfLaaLb1ET_EE", "void f<true>(A<((true)&&...&&(true))>)"},
    {"_Z1fIJLb1EEEv1AIXfRaaT_Lb1EEE", "void f<true>(A<((true)&&...&&(true))>)"},
    {"_Z1fIJEiEvT0_", "void f<int>(int)"},
    {"_Z1fIZ1gIiEvT_E1AEvS1_", "void f<g<int>(int)::A>(int)"},
    {"_Z1fIUlvE_EvT_", "void f<{lambda()#1}>({lambda()#1})"},
    {"_Z1fIUt_EvT_", "void f<{unnamed type#1}>({unnamed type#1})"},
    {"_Z1fIXnxLi3EEEvv", "void f<noexcept (3)>()"},
    {"_Z1fPrKf", "f(float const restrict*)"},
    {"_Z1fDh", "f(half)"},
    {"_Z1fDF16b", "f(std::bfloat16_t)"},
};

static void check_full(const struct pair *pairs, size_t count)
{
    char text[FTH_NAME_BYTES];
    for (size_t i = 0; i < count; i++) {
        const bool known = fth_demangle(pairs[i].name, FTH_NAME_FULL, text, sizeof text);
        assert_string_equal(text, pairs[i].full);
        assert_true(known);
    }
}

static void names_are_written_in_full(void **state)
{
    (void)state;
    check_full(common, FTH_COUNT(common));
    check_full(others, FTH_COUNT(others));
}

static void short_names_have_no_parameters(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"_Z9transposeILi32ELi0EEvPfPKf", "transpose<32, 0>"},
        {"_ZN2ns6kernelIfEEvPT_PKS1_", "ns::kernel<float>"},
        {"_Z4statPi", "stat"},
        {"_Z5applyIZ4mainEUliE_EvT_Pi", "apply<main::{lambda(int)#1}>"},
        {"_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f"},
        {"_Z4packIJEEvDpT_", "pack<>"},
        {"_ZN2ns5countE", "ns::count"},
    };
    char text[FTH_NAME_BYTES];
    for (size_t i = 0; i < FTH_COUNT(pairs); i++) {
        assert_true(fth_demangle(pairs[i].name, FTH_NAME_SHORT, text, sizeof text));
        assert_string_equal(text, pairs[i].full);
    }
}

/* Names that are not mangled, not complete or not valid. */
static const char *const invalid[] = {"",
                                      "saxpy",
                                      "_Z",
                                      "_Z1",
                                      "_Z3ab",
                                      "_Z0f",
                                      "_ZN",
                                      "_Z1fIiEvT0_",
                                      "_Z1fS_",
                                      "_Z1fS0_",
                                      "_Z1fSZ_",
                                      "_Z1fIiEv",
                                      "_Z1fIi",
                                      "_Z1fILi5Evv",
                                      "_Z1fv.clone",
                                      "_Z1fq",
                                      "_Z1fP",
                                      "_Z1fM1A",
                                      "_Z1fFvE",
                                      "_Z1fA3i",
                                      "_Z1fDx",
                                      "_Z1fIXEEvv",
                                      "_Z1fIXplLi1EEEvv",
                                      "_Z1fIXsr1AEEvv",
                                      "_ZN1AC9E",
                                      "_ZC1v",
                                      "_Z1fIZ1gvEvT_",
                                      "_Z1fIUlvEEvT_",
                                      "_Z1fIUt",
                                      "_Z1fB",
                                      "_Z99999999999f",
                                      "_Z1fIJiEvT_",
                                      "_ZTV1A",
                                      "_Z1fT_",
                                      "_ZSt",
                                      "_ZNSt",
                                      "_Z1fIL_Z1gEvv",
                                      "_Z1fIXtliLi1EEvv",
                                      "_Z1fIXcviEEvv",
                                      "_Z1fIXdtfp_EEvv",
                                      "_Z1fIXflEEvv",
                                      "_Z1fIXscfEEvv",
                                      "_Z1fIXstEEvv",
                                      "_Z1fIXquLi1ELi2EEEvv",
                                      "_Z1fIXclEEvv",
                                      "_Z1fDv",
                                      "_Z1fDtE",
                                      "_Z1fU1A",
                                      "_Z1fK",
                                      "_Z1fIXfL1pEEvv",
                                      "_Z1fIXfpEEvv",
                                      "_Z1fIZ1gvE1A_xEvT_",
                                      "_Z1fIZ1gvE1A__1EvT_"};

static void other_names_are_returned(void **state)
{
    (void)state;
    char text[FTH_NAME_BYTES];
    for (size_t i = 0; i < FTH_COUNT(invalid); i++) {
        if (fth_demangle(invalid[i], FTH_NAME_FULL, text, sizeof text))
            fail_msg("'%s' became '%s'", invalid[i], text);
        assert_string_equal(text, invalid[i]);
    }
}

/* A buffer without room for the C++ name gets the beginning of the given one. */
static void names_that_do_not_fit_are_cut(void **state)
{
    (void)state;
    char text[20];
    assert_true(fth_demangle("_Z9transposeILi32ELi0EEvPf", FTH_NAME_SHORT, text, 17));
    assert_string_equal(text, "transpose<32, 0>");
    for (size_t size = 0; size < 17; size++) {
        memset(text, 'x', sizeof text);
        assert_false(fth_demangle("_Z9transposeILi32ELi0EEvPf", FTH_NAME_SHORT, text, size));
        if (size)
            assert_int_equal(strlen(text), size - 1);
        assert_memory_equal(text, "_Z9transposeILi32ELi0EEvPf", size ? size - 1 : 0);
        assert_int_equal(text[size], 'x');
    }
}

/* Appends a text `count` times. */
static void repeat(char *text, const char *part, size_t count)
{
    char *at = text + strlen(text);
    for (size_t i = 0; i < count; i++, at += strlen(part))
        memcpy(at, part, strlen(part) + 1);
}

static void hostile_names_are_refused(void **state)
{
    (void)state;
    static char name[70000], text[FTH_NAME_BYTES];
    static const struct {
        const char *begin, *part;
        size_t count;
        const char *end;
    } cases[] = {
        {"_Z1f", "P", 200, "i"}, /* too deep to parse */
        {"_Z1fI", "J", 60000, ""}, {"_Z1fIX", "ng", 20000, "Li1EEEvv"},
        {"_ZN", "1a", 200, "Ev"}, /* too deep to print */
        {"_Z1f", "i", 5000, ""},  /* too many nodes */
        {"_Z1f", "1a", 1100, ""}, /* too many substitutions */
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        strcpy(name, cases[i].begin);
        repeat(name, cases[i].part, cases[i].count);
        strcat(name, cases[i].end);
        assert_false(fth_demangle(name, FTH_NAME_FULL, text, sizeof text));
    }
    /* Each type has two of the one before it: the text would have 2^40 parts. */
    strcpy(name, "_Z1f1aIiiE");
    for (int i = 1; i < 37; i++) {
        char part[40];
        const char digit = (char)(i < 11 ? '0' + i - 1 : 'A' + i - 11);
        snprintf(part, sizeof part, "S_IS%c_S%c_E", digit, digit);
        strcat(name, part);
    }
    assert_false(fth_demangle(name, FTH_NAME_FULL, text, sizeof text));
    /* Nearly as deep as is allowed. */
    strcpy(name, "_Z1f");
    repeat(name, "P", 120);
    strcat(name, "i");
    assert_true(fth_demangle(name, FTH_NAME_FULL, text, sizeof text));
    assert_int_equal(strlen(text), strlen("f(int)") + 120);
}

static void parameter_types_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *types[5];
    } cases[] = {
        {"_Z9transposeILi32ELi0EEvPfPKf", {"float*", "float const*"}},
        {"_Z4packIJifPiEEvDpT_", {"int", "float", "int*"}},
        {"_Z5packpIJifEEvDpPKT_i", {"int const*", "float const*", "int"}},
        {"_Z4packIJEEvDpT_j", {"unsigned int"}},
        {"_Z5halfsP6__halfPK13__nv_bfloat167__half2",
         {"__half*", "__nv_bfloat16 const*", "__half2"}},
        {"_Z1fv", {NULL}},
        {"saxpy", {NULL}},
        {"_ZN2ns5countE", {NULL}},
    };
    char text[FTH_NAME_BYTES];
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        size_t index = 0;
        for (; cases[i].types[index]; index++) {
            assert_true(fth_demangle_parameter_type(cases[i].name, index, text, sizeof text));
            assert_string_equal(text, cases[i].types[index]);
        }
        assert_false(fth_demangle_parameter_type(cases[i].name, index, text, sizeof text));
    }
    assert_false(fth_demangle_parameter_type("_Z1fPf", 0, text, 6));
    assert_true(fth_demangle_parameter_type("_Z1fPf", 0, text, 7));
}

static const char *const kernels[] = {"_Z9transposeILi32ELi0EEvPfPKf",
                                      "_Z9transposeILi64ELi1EEvPfPKf",
                                      "_ZN2ns3mapINS_3addILi1EEEEEvv",
                                      "_Z4sortPi",
                                      "_Z4sortPf",
                                      "saxpy",
                                      "_Z9broken"};

static void names_match_by_the_first_rule(void **state)
{
    (void)state;
    static const struct {
        const char *wanted, *matches; /* one digit per kernel */
    } cases[] = {
        {"_Z9transposeILi64ELi1EEvPfPKf", "0100000"},
        {"transpose<32, 0>", "1000000"},
        {"transpose < 32,0 >", "1000000"},
        {"transpose<32,0>(float*,float const*)", "1000000"},
        {"void transpose<32,0>(float*, float const*)", "1000000"},
        {"transpose", "1100000"},
        {"transpose<", "1100000"},
        {"transpose<6", "0100000"},
        {"ns::map<ns::add<1> >", "0010000"},
        {"ns::map<ns::add<1>>", "0010000"},
        {"ns::map", "0010000"},
        {"ns", "0010000"},
        {"map", "0000000"},
        {"sort", "0001100"},
        {"sort(f", "0000100"},
        {"s", "0001110"},
        {"saxpy", "0000010"},
        {"saxpyy", "0000000"},
        {"_Z4", "0001100"},
        {"_Z9broken", "0000001"},
        {"_Z9b", "0000001"},
        {"", "0000000"},
        {" ", "0000000"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        bool matches[FTH_COUNT(kernels)];
        size_t expected = 0;
        const size_t found = fth_name_match(cases[i].wanted, kernels, FTH_COUNT(kernels), matches);
        for (size_t k = 0; k < FTH_COUNT(kernels); k++) {
            if (matches[k] != (cases[i].matches[k] == '1'))
                fail_msg("'%s' and %s", cases[i].wanted, kernels[k]);
            expected += cases[i].matches[k] == '1';
        }
        assert_int_equal(found, expected);
    }
}

static void lists_are_limited(void **state)
{
    (void)state;
    static const bool some[] = {false, true, false, true, false, false, false};
    char text[120];
    fth_name_list(kernels, FTH_COUNT(kernels), some, FTH_NAME_PARAMETERS, text, sizeof text);
    assert_string_equal(text, "transpose<64, 1>(float*, float const*), sort(int*)");
    fth_name_list(kernels, FTH_COUNT(kernels), NULL, FTH_NAME_SHORT, text, 117);
    assert_string_equal(text, "transpose<32, 0>, transpose<64, 1>, ns::map<ns::add<1> >, sort, "
                              "sort, saxpy, and 1 more");
    fth_name_list(kernels, FTH_COUNT(kernels), NULL, FTH_NAME_SHORT, text, 52);
    assert_string_equal(text, "transpose<32, 0>, and 6 more");
    fth_name_list(kernels, FTH_COUNT(kernels), NULL, FTH_NAME_SHORT, text, 40);
    assert_string_equal(text, "7 kernels");
    fth_name_list(kernels, 0, NULL, FTH_NAME_SHORT, text, sizeof text);
    assert_string_equal(text, "");
}

/* Returns whether GNU c++filt is installed. */
static bool has_cxxfilt(void)
{
    char line[256] = "";
    FILE *pipe = popen("c++filt --version 2>/dev/null", "r");
    if (!pipe)
        return false;
    const bool read = fgets(line, sizeof line, pipe) != NULL;
    return pclose(pipe) == 0 && read && strstr(line, "GNU c++filt");
}

static void cxxfilt_agrees(void **state)
{
    (void)state;
    if (!has_cxxfilt())
        skip();
    static char command[100000], line[FTH_NAME_BYTES], text[FTH_NAME_BYTES];
    char *at = command + sprintf(command, "c++filt");
    for (size_t i = 0; i < FTH_COUNT(common); i++)
        at += sprintf(at, " '%s'", common[i].name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (size_t i = 0; i < FTH_COUNT(common); i++) {
        assert_non_null(fgets(line, sizeof line, pipe));
        line[strcspn(line, "\n")] = '\0';
        fth_demangle(common[i].name, FTH_NAME_FULL, text, sizeof text);
        assert_string_equal(text, line);
    }
    assert_int_equal(pclose(pipe), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_written_in_full),
        cmocka_unit_test(short_names_have_no_parameters),
        cmocka_unit_test(other_names_are_returned),
        cmocka_unit_test(names_that_do_not_fit_are_cut),
        cmocka_unit_test(hostile_names_are_refused),
        cmocka_unit_test(parameter_types_are_found),
        cmocka_unit_test(names_match_by_the_first_rule),
        cmocka_unit_test(lists_are_limited),
        cmocka_unit_test(cxxfilt_agrees),
    };
    return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
