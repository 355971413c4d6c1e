/* Tests the names of C++ functions (base/demangle/): all operators, types, qualifiers and kinds of
 * names, with c++filt as the reference if GNU binutils are installed. */
#include "base/base.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct pair {
    const char *name, *full;
};

/* Names that c++filt writes in the same way. */
static const struct pair common[] = {
    {"_ZN1fIiEEvT_", "void f<int>(int)"},
    {"_Z10_GLOBAL_$Nv", "(anonymous namespace)()"},
    {"_Z10_GLOBAL_.Nv", "(anonymous namespace)()"},
    {"_Z10_GLOBAL__Mv", "_GLOBAL__M()"},
    {"_Z10_GLOBAL__Nv", "(anonymous namespace)()"},
    {"_Z10_GLOBAL_xNv", "_GLOBAL_xN()"},
    {"_Z1AIiE", "A<int>"},
    {"_Z1f000000001a", "f(a)"},
    {"_Z1f2c02c12c22c32c42c52c62c72c82c93c103c11SA_",
     "f(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c11)"},
    {"_Z1f2c02c12c22c32c42c52c62c72c82c93c103c11SA_S_S0_",
     "f(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c11, c0, c1)"},
    {"_Z1f2c02c12c2S1_", "f(c0, c1, c2, c2)"},
    {"_Z1f2c02c12c2S1_S_S0_", "f(c0, c1, c2, c2, c0, c1)"},
    {"_Z1fA3_i", "f(int [3])"},
    {"_Z1fCd", "f(double _Complex)"},
    {"_Z1fCe", "f(long double _Complex)"},
    {"_Z1fDv4_i", "f(int __vector(4))"},
    {"_Z1fGf", "f(float _Imaginary)"},
    {"_Z1fI1AEvT_IfE", "void f<A>(A<float>)"},
    {"_Z1fI1AEvT_IfES1_", "void f<A>(A<float>, A)"},
    {"_Z1fI1AEvT_IfES2_", "void f<A>(A<float>, A<float>)"},
    {"_Z1fIJEEv1AIXsZT_EE", "void f<>(A<0>)"},
    {"_Z1fIJEEvSt5tupleIJDpT_EE", "void f<>(std::tuple<>)"},
    {"_Z1fIJEEviDpT_", "void f<>(int)"},
    {"_Z1fIJJiEEEvv", "void f<int>()"},
    {"_Z1fIJLi1ELi2EEEv1AIXspplT_Li1EEE", "void f<1, 2>(A<(1)+(1), (2)+(1)>)"},
    {"_Z1fIJiEEvDpT_", "void f<int>(int)"},
    {"_Z1fIJifEEv1AIXsZT_EE", "void f<int, float>(A<2>)"},
    {"_Z1fIJifEEvDpPFvT_E", "void f<int, float>(void (*)(int), void (*)(float))"},
    {"_Z1fIJifEEvDpPT_", "void f<int, float>(int*, float*)"},
    {"_Z1fIJifEEvSt5tupleIJDpPT_EE", "void f<int, float>(std::tuple<int*, float*>)"},
    {"_Z1fIJifEEvSt5tupleIJDpT_EE", "void f<int, float>(std::tuple<int, float>)"},
    {"_Z1fIJifEJdcEEvDpT_DpT0_", "void f<int, float, double, char>(int, float, double, char)"},
    {"_Z1fIL1A1EEvv", "void f<(A)1>()"},
    {"_Z1fILN1A1BE1EEvv", "void f<(A::B)1>()"},
    {"_Z1fIL_Z1gEEvv", "void f<g>()"},
    {"_Z1fILa5EEvv", "void f<(signed char)5>()"},
    {"_Z1fILan5EEvv", "void f<(signed char)-5>()"},
    {"_Z1fILb10EEvv", "void f<(bool)10>()"},
    {"_Z1fILb1EEvv", "void f<true>()"},
    {"_Z1fILb2EEvv", "void f<(bool)2>()"},
    {"_Z1fILb5EEvv", "void f<(bool)5>()"},
    {"_Z1fILbn1EEvv", "void f<(bool)-1>()"},
    {"_Z1fILbn5EEvv", "void f<(bool)-5>()"},
    {"_Z1fILc5EEvv", "void f<(char)5>()"},
    {"_Z1fILcn5EEvv", "void f<(char)-5>()"},
    {"_Z1fILd3ff0000000000000EEvv", "void f<(double)[3ff0000000000000]>()"},
    {"_Z1fILd5EEvv", "void f<(double)[5]>()"},
    {"_Z1fILdn5EEvv", "void f<(double)-[5]>()"},
    {"_Z1fILe5EEvv", "void f<(long double)[5]>()"},
    {"_Z1fILen5EEvv", "void f<(long double)-[5]>()"},
    {"_Z1fILf5EEvv", "void f<(float)[5]>()"},
    {"_Z1fILfn5EEvv", "void f<(float)-[5]>()"},
    {"_Z1fILg5EEvv", "void f<(__float128)[5]>()"},
    {"_Z1fILgn5EEvv", "void f<(__float128)-[5]>()"},
    {"_Z1fILh5EEvv", "void f<(unsigned char)5>()"},
    {"_Z1fILhn5EEvv", "void f<(unsigned char)-5>()"},
    {"_Z1fILi12345678901234567890EEvv", "void f<12345678901234567890>()"},
    {"_Z1fILi1aEEvv", "void f<1a>()"},
    {"_Z1fILi5EE", "f<5>"},
    {"_Z1fILj5EEvv", "void f<5u>()"},
    {"_Z1fILjn5EEvv", "void f<-5u>()"},
    {"_Z1fILl5EEvv", "void f<5l>()"},
    {"_Z1fILln5EEvv", "void f<-5l>()"},
    {"_Z1fILm5EEvv", "void f<5ul>()"},
    {"_Z1fILmn5EEvv", "void f<-5ul>()"},
    {"_Z1fILo5EEvv", "void f<(unsigned __int128)5>()"},
    {"_Z1fILon5EEvv", "void f<(unsigned __int128)-5>()"},
    {"_Z1fILs5EEvv", "void f<(short)5>()"},
    {"_Z1fILsn5EEvv", "void f<(short)-5>()"},
    {"_Z1fILt5EEvv", "void f<(unsigned short)5>()"},
    {"_Z1fILtn5EEvv", "void f<(unsigned short)-5>()"},
    {"_Z1fILv5EEvv", "void f<(void)5>()"},
    {"_Z1fILvn5EEvv", "void f<(void)-5>()"},
    {"_Z1fILw5EEvv", "void f<(wchar_t)5>()"},
    {"_Z1fILwn5EEvv", "void f<(wchar_t)-5>()"},
    {"_Z1fILx5EEvv", "void f<5ll>()"},
    {"_Z1fILxn5EEvv", "void f<-5ll>()"},
    {"_Z1fILy5EEvv", "void f<5ull>()"},
    {"_Z1fILyn5EEvv", "void f<-5ull>()"},
    {"_Z1fIX1gIiEEEvv", "void f<g<int> >()"},
    {"_Z1fIXL_Z1gEEEvv", "void f<g>()"},
    {"_Z1fIXL_Z1gvEEEvv", "void f<g()>()"},
    {"_Z1fIXaNLi1ELi2EEEvv", "void f<(1)&=(2)>()"},
    {"_Z1fIXaSLi1ELi2EEEvv", "void f<(1)=(2)>()"},
    {"_Z1fIXaaLi1ELi2EEEvv", "void f<(1)&&(2)>()"},
    {"_Z1fIXadL_Z1gEEEvv", "void f<&g>()"},
    {"_Z1fIXadL_Z1giEEEvv", "void f<&(g(int))>()"},
    {"_Z1fIXadL_ZN1A1gEEEEvv", "void f<&A::g>()"},
    {"_Z1fIXadL_ZN1A1gEiEEEvv", "void f<&A::g>()"},
    {"_Z1fIXadL_ZNK1A1gEiEEEvv", "void f<&(A::g(int) const)>()"},
    {"_Z1fIXadLi1EEEvv", "void f<&(1)>()"},
    {"_Z1fIXanLi1ELi2EEEvv", "void f<(1)&(2)>()"},
    {"_Z1fIXazLi3EEEvv", "void f<alignof (3)>()"},
    {"_Z1fIXcc1ALi3EEEvv", "void f<const_cast<A>(3)>()"},
    {"_Z1fIXcl1gEEEvv", "void f<g()>()"},
    {"_Z1fIXcl1gLi1EEEEvv", "void f<g(1)>()"},
    {"_Z1fIXcl1gLi1ELi2EEEEvv", "void f<g(1, 2)>()"},
    {"_Z1fIXcmLi1ELi2EEEvv", "void f<(1),(2)>()"},
    {"_Z1fIXcoLi1EEEvv", "void f<~(1)>()"},
    {"_Z1fIXcviLi1EEEvv", "void f<(int)(1)>()"},
    {"_Z1fIXcvi_EEEvv", "void f<(int)()>()"},
    {"_Z1fIXcvi_Li1EEEEvv", "void f<(int)(1)>()"},
    {"_Z1fIXcvi_Li1ELi2EEEEvv", "void f<(int)(1, 2)>()"},
    {"_Z1fIXdVLi1ELi2EEEvv", "void f<(1)/=(2)>()"},
    {"_Z1fIXdc1ALi3EEEvv", "void f<dynamic_cast<A>(3)>()"},
    {"_Z1fIXdeLi1EEEvv", "void f<*(1)>()"},
    {"_Z1fIXdtLi1E1aEEvv", "void f<(1).a>()"},
    {"_Z1fIXdvLi1ELi2EEEvv", "void f<(1)/(2)>()"},
    {"_Z1fIXeOLi1ELi2EEEvv", "void f<(1)^=(2)>()"},
    {"_Z1fIXeoLi1ELi2EEEvv", "void f<(1)^(2)>()"},
    {"_Z1fIXeqLi1ELi2EEEvv", "void f<(1)==(2)>()"},
    {"_Z1fIXfLplLi1ELi2EEEvv", "void f<((1)+...+(2))>()"},
    {"_Z1fIXfRplLi1ELi2EEEvv", "void f<((1)+...+(2))>()"},
    {"_Z1fIXflplLi1EEEvv", "void f<(...+(1))>()"},
    {"_Z1fIXfrplLi1EEEvv", "void f<((1)+...)>()"},
    {"_Z1fIXgeLi1ELi2EEEvv", "void f<(1)>=(2)>()"},
    {"_Z1fIXgtLi1ELi2EEEvv", "void f<((1)>(2))>()"},
    {"_Z1fIXilEEEvv", "void f<{}>()"},
    {"_Z1fIXilLi1EEEEvv", "void f<{1}>()"},
    {"_Z1fIXilLi1ELi2EEEEvv", "void f<{1, 2}>()"},
    {"_Z1fIXixLi1ELi2EEEvv", "void f<(1)[2]>()"},
    {"_Z1fIXlSLi1ELi2EEEvv", "void f<(1)<<=(2)>()"},
    {"_Z1fIXleLi1ELi2EEEvv", "void f<(1)<=(2)>()"},
    {"_Z1fIXlsLi1ELi2EEEvv", "void f<(1)<<(2)>()"},
    {"_Z1fIXltLi1ELi2EEEvv", "void f<(1)<(2)>()"},
    {"_Z1fIXmILi1ELi2EEEvv", "void f<(1)-=(2)>()"},
    {"_Z1fIXmLLi1ELi2EEEvv", "void f<(1)*=(2)>()"},
    {"_Z1fIXmiLi1ELi2EEEvv", "void f<(1)-(2)>()"},
    {"_Z1fIXmlLi1ELi2EEEvv", "void f<(1)*(2)>()"},
    {"_Z1fIXmmLi3EEEvv", "void f<(3)-->()"},
    {"_Z1fIXmm_Li3EEEvv", "void f<--(3)>()"},
    {"_Z1fIXneLi1ELi2EEEvv", "void f<(1)!=(2)>()"},
    {"_Z1fIXngLi1EEEvv", "void f<-(1)>()"},
    {"_Z1fIXngngLi1EEEvv", "void f<-(-(1))>()"},
    {"_Z1fIXntLi1EEEvv", "void f<!(1)>()"},
    {"_Z1fIXoRLi1ELi2EEEvv", "void f<(1)|=(2)>()"},
    {"_Z1fIXon1gEEvv", "void f<g>()"},
    {"_Z1fIXonplEEvv", "void f<operator+>()"},
    {"_Z1fIXooLi1ELi2EEEvv", "void f<(1)||(2)>()"},
    {"_Z1fIXorLi1ELi2EEEvv", "void f<(1)|(2)>()"},
    {"_Z1fIXpLLi1ELi2EEEvv", "void f<(1)+=(2)>()"},
    {"_Z1fIXplgtLi1ELi2ELi3EEEvv", "void f<(((1)>(2)))+(3)>()"},
    {"_Z1fIXpmLi1ELi2EEEvv", "void f<(1)->*(2)>()"},
    {"_Z1fIXpsLi1EEEvv", "void f<+(1)>()"},
    {"_Z1fIXptLi1E1aEEvv", "void f<(1)->a>()"},
    {"_Z1fIXquLb1ELi1ELi2EEEvv", "void f<(true)?(1) : (2)>()"},
    {"_Z1fIXrMLi1ELi2EEEvv", "void f<(1)%=(2)>()"},
    {"_Z1fIXrSLi1ELi2EEEvv", "void f<(1)>>=(2)>()"},
    {"_Z1fIXrc1ALi3EEEvv", "void f<reinterpret_cast<A>(3)>()"},
    {"_Z1fIXrmLi1ELi2EEEvv", "void f<(1)%(2)>()"},
    {"_Z1fIXrsLi1ELi2EEEvv", "void f<(1)>>(2)>()"},
    {"_Z1fIXsc1ALi3EEEvv", "void f<static_cast<A>(3)>()"},
    {"_Z1fIXsr1A1B1CE1DEEvv", "void f<A::B::C::D>()"},
    {"_Z1fIXsr1AE1BEEvv", "void f<A::B>()"},
    {"_Z1fIXsrN1A1BE1CEEvv", "void f<A::B::C>()"},
    {"_Z1fIXsrN1A1BIiEE1CEEvv", "void f<A::B<int>::C>()"},
    {"_Z1fIXssLi1ELi2EEEvv", "void f<(1)<=>(2)>()"},
    {"_Z1fIXst1AIiEEEvv", "void f<sizeof (A<int>)>()"},
    {"_Z1fIXszLi3EEEvv", "void f<sizeof (3)>()"},
    {"_Z1fIXtl1ALi1ELi2EEEEvv", "void f<A{1, 2}>()"},
    {"_Z1fIXtliEEEvv", "void f<int{}>()"},
    {"_Z1fIZ1gvE1A_9EvT_", "void f<g()::A>(g()::A)"},
    {"_Z1fIZ1gvE1A__12_EvT_", "void f<g()::A>(g()::A)"},
    {"_Z1fIZ1gvEs_0EvT_", "void f<g()::string literal>(g()::string literal)"},
    {"_Z1fIabcdefghijlmsEvT_T0_T1_T9_T10_T11_",
     "void f<signed char, bool, char, double, long double, float, __float128, unsigned char, int, "
     "unsigned int, long, unsigned long, short>(signed char, bool, char, long, unsigned long, "
     "short)"},
    {"_Z1fIiEDTfp9_ET_", "decltype ({parm#11}) f<int>(int)"},
    {"_Z1fIiEDTfpTET_", "decltype (this) f<int>(int)"},
    {"_Z1fIiEDTplfp_fp10_ET_", "decltype ({parm#1}+{parm#12}) f<int>(int)"},
    {"_Z1fIiENDTfp_E4typeET_", "decltype ({parm#1})::type f<int>(int)"},
    {"_Z1fIiENT_4typeES0_", "int::type f<int>(int)"},
    {"_Z1fIiEii", "int f<int>(int)"},
    {"_Z1fIiEv1AIXsrNT_1BE1aEE", "void f<int>(A<int::B::a>)"},
    {"_Z1fIiEv1AIXsrT_1aEE", "void f<int>(A<int::a>)"},
    {"_Z1fIiEv1AIXsrT_1aIiEEE", "void f<int>(A<int::a<int> >)"},
    {"_Z1fIiEvNT_1A1BES1_S2_", "void f<int>(int::A::B, int::A, int::A::B)"},
    {"_Z1fIiEvNT_4typeES1_", "void f<int>(int::type, int::type)"},
    {"_Z1fIiEvPNS_1AE", "void f<int>(f::A*)"},
    {"_Z1fIiEvT_IfE", "void f<int>(int<float>)"},
    {"_Z1fIiJfdEEvT_DpT0_", "void f<int, float, double>(int, float, double)"},
    {"_Z1fM1AA3_i", "f(int (A::*) [3])"},
    {"_Z1fM1AFvvOE", "f(void (A::*)() &&)"},
    {"_Z1fM1AFvvRE", "f(void (A::*)() &)"},
    {"_Z1fM1AKFvvRE", "f(void (A::*)() const &)"},
    {"_Z1fM1AVKFvvE", "f(void (A::*)() const volatile)"},
    {"_Z1fOFvvE", "f(void (&&)())"},
    {"_Z1fPA3_A4_i", "f(int (*) [3][4])"},
    {"_Z1fPA3_PA4_i", "f(int (* (*) [3]) [4])"},
    {"_Z1fPA3_PFvvE", "f(void (* (*) [3])())"},
    {"_Z1fPCf", "f(float _Complex*)"},
    {"_Z1fPDF128_", "f(_Float128*)"},
    {"_Z1fPDF16_", "f(_Float16*)"},
    {"_Z1fPDF16b", "f(std::bfloat16_t*)"},
    {"_Z1fPDF32_", "f(_Float32*)"},
    {"_Z1fPDF64_", "f(_Float64*)"},
    {"_Z1fPDa", "f(auto*)"},
    {"_Z1fPDc", "f(decltype(auto)*)"},
    {"_Z1fPDd", "f(decimal64*)"},
    {"_Z1fPDe", "f(decimal128*)"},
    {"_Z1fPDf", "f(decimal32*)"},
    {"_Z1fPDh", "f(half*)"},
    {"_Z1fPDi", "f(char32_t*)"},
    {"_Z1fPDn", "f(decltype(nullptr)*)"},
    {"_Z1fPDoFviE", "f(void (*)(int) noexcept)"},
    {"_Z1fPDoKFvvE", "f(void (*)() const noexcept)"},
    {"_Z1fPDs", "f(char16_t*)"},
    {"_Z1fPDu", "f(char8_t*)"},
    {"_Z1fPDv4_i", "f(int __vector(4)*)"},
    {"_Z1fPFM1AFvvEvE", "f(void (A::*(*)())())"},
    {"_Z1fPFPFPFvvEvEvE", "f(void (*(*(*)())())())"},
    {"_Z1fPFPFvvEvE", "f(void (*(*)())())"},
    {"_Z1fPFYvvE", "f(void (*)())"},
    {"_Z1fPFiiiE", "f(int (*)(int, int))"},
    {"_Z1fPFvPFvvEE", "f(void (*)(void (*)()))"},
    {"_Z1fPFvvE", "f(void (*)())"},
    {"_Z1fPFvzE", "f(void (*)(...))"},
    {"_Z1fPKFvvE", "f(void (*)() const)"},
    {"_Z1fPM1AA3_i", "f(int (A::**) [3])"},
    {"_Z1fPPA3_i", "f(int (**) [3])"},
    {"_Z1fPSaIiE", "f(std::allocator<int>*)"},
    {"_Z1fPSbIcE", "f(std::basic_string<char>*)"},
    {"_Z1fPSd", "f(std::basic_iostream<char, std::char_traits<char> >*)"},
    {"_Z1fPSi", "f(std::basic_istream<char, std::char_traits<char> >*)"},
    {"_Z1fPSo", "f(std::basic_ostream<char, std::char_traits<char> >*)"},
    {"_Z1fPSs", "f(std::basic_string<char, std::char_traits<char>, std::allocator<char> >*)"},
    {"_Z1fPU3abcKi", "f(int const abc*)"},
    {"_Z1fPa", "f(signed char*)"},
    {"_Z1fPb", "f(bool*)"},
    {"_Z1fPc", "f(char*)"},
    {"_Z1fPd", "f(double*)"},
    {"_Z1fPe", "f(long double*)"},
    {"_Z1fPg", "f(__float128*)"},
    {"_Z1fPh", "f(unsigned char*)"},
    {"_Z1fPi", "f(int*)"},
    {"_Z1fPj", "f(unsigned int*)"},
    {"_Z1fPl", "f(long*)"},
    {"_Z1fPm", "f(unsigned long*)"},
    {"_Z1fPn", "f(__int128*)"},
    {"_Z1fPo", "f(unsigned __int128*)"},
    {"_Z1fPs", "f(short*)"},
    {"_Z1fPt", "f(unsigned short*)"},
    {"_Z1fPv", "f(void*)"},
    {"_Z1fPw", "f(wchar_t*)"},
    {"_Z1fPx", "f(long long*)"},
    {"_Z1fPy", "f(unsigned long long*)"},
    {"_Z1fPz", "f(...*)"},
    {"_Z1fRA3_A4_A5_Ki", "f(int const (&) [3][4][5])"},
    {"_Z1fRFvvE", "f(void (&)())"},
    {"_Z1fU3abci", "f(int abc)"},
    {"_Z1fu3abcS_", "f(abc, abc)"},
    {"_Z8_GLOBAL_v", "_GLOBAL_()"},
    {"_Z9_GLOBAL__v", "_GLOBAL__()"},
    {"_ZL1fv", "f()"},
    {"_ZN11_GLOBAL_.N_1fEv", "(anonymous namespace)::f()"},
    {"_ZN1A1B1C1fEv", "A::B::C::f()"},
    {"_ZN1A1BC1Ev", "A::B::B()"},
    {"_ZN1A1BIiEC1Ev", "A::B<int>::B()"},
    {"_ZN1A1fE", "A::f"},
    {"_ZN1A1xMUlvE_clEv", "A::x::{lambda()#1}::operator()()"},
    {"_ZN1AB3tagB3two1fEv", "A[abi:tag][abi:two]::f()"},
    {"_ZN1AB3tagC1Ev", "A[abi:tag]::A()"},
    {"_ZN1AC1IiEET_", "A::A<int>(int)"},
    {"_ZN1AC2Ev", "A::A()"},
    {"_ZN1AC3Ev", "A::A()"},
    {"_ZN1AC5Ev", "A::A()"},
    {"_ZN1AD0Ev", "A::~A()"},
    {"_ZN1AD2Ev", "A::~A()"},
    {"_ZN1AD5Ev", "A::~A()"},
    {"_ZN1AIiE1BIfE1CIdEEvT_", "void A<int>::B<float>::C<double>(double)"},
    {"_ZN1AIiE1BIfEC1Ev", "A<int>::B<float>::B()"},
    {"_ZN1AIiE1fE", "A<int>::f"},
    {"_ZN1AIiEC1Ev", "A<int>::A()"},
    {"_ZN1AIiED1Ev", "A<int>::~A()"},
    {"_ZN1AIiEE", "A<int>"},
    {"_ZN1AL1fEv", "A::f()"},
    {"_ZN1AUliE1_clEi", "A::{lambda(int)#3}::operator()(int)"},
    {"_ZN1AUlvE_1fEv", "A::{lambda()#1}::f()"},
    {"_ZN1AUt0_1fEv", "A::{unnamed type#2}::f()"},
    {"_ZN1AUt_1fEv", "A::{unnamed type#1}::f()"},
    {"_ZN1AaNERKS_", "A::operator&=(A const&)"},
    {"_ZN1AaSERKS_", "A::operator=(A const&)"},
    {"_ZN1AaaERKS_", "A::operator&&(A const&)"},
    {"_ZN1AadEv", "A::operator&()"},
    {"_ZN1AanERKS_", "A::operator&(A const&)"},
    {"_ZN1AclEm", "A::operator()(unsigned long)"},
    {"_ZN1AcmERKS_", "A::operator,(A const&)"},
    {"_ZN1AcoEv", "A::operator~()"},
    {"_ZN1AcvPFvvEEv", "A::operator void (*)()()"},
    {"_ZN1AcvPKcEv", "A::operator char const*()"},
    {"_ZN1AcviEv", "A::operator int()"},
    {"_ZN1AdVERKS_", "A::operator/=(A const&)"},
    {"_ZN1AdaEm", "A::operator delete[](unsigned long)"},
    {"_ZN1AdeEv", "A::operator*()"},
    {"_ZN1AdlEm", "A::operator delete(unsigned long)"},
    {"_ZN1AdvERKS_", "A::operator/(A const&)"},
    {"_ZN1AeOERKS_", "A::operator^=(A const&)"},
    {"_ZN1AeoERKS_", "A::operator^(A const&)"},
    {"_ZN1AeqERKS_", "A::operator==(A const&)"},
    {"_ZN1AgeERKS_", "A::operator>=(A const&)"},
    {"_ZN1AgtERKS_", "A::operator>(A const&)"},
    {"_ZN1AixEm", "A::operator[](unsigned long)"},
    {"_ZN1AlSERKS_", "A::operator<<=(A const&)"},
    {"_ZN1AleERKS_", "A::operator<=(A const&)"},
    {"_ZN1AlsERKS_", "A::operator<<(A const&)"},
    {"_ZN1AlsEi", "A::operator<<(int)"},
    {"_ZN1AltERKS_", "A::operator<(A const&)"},
    {"_ZN1AltEi", "A::operator<(int)"},
    {"_ZN1AmIERKS_", "A::operator-=(A const&)"},
    {"_ZN1AmLERKS_", "A::operator*=(A const&)"},
    {"_ZN1AmiERKS_", "A::operator-(A const&)"},
    {"_ZN1AmlERKS_", "A::operator*(A const&)"},
    {"_ZN1AmmEm", "A::operator--(unsigned long)"},
    {"_ZN1AnaEm", "A::operator new[](unsigned long)"},
    {"_ZN1AneERKS_", "A::operator!=(A const&)"},
    {"_ZN1AngEv", "A::operator-()"},
    {"_ZN1AntEv", "A::operator!()"},
    {"_ZN1AoRERKS_", "A::operator|=(A const&)"},
    {"_ZN1AooERKS_", "A::operator||(A const&)"},
    {"_ZN1AorERKS_", "A::operator|(A const&)"},
    {"_ZN1ApLERKS_", "A::operator+=(A const&)"},
    {"_ZN1ApmERKS_", "A::operator->*(A const&)"},
    {"_ZN1AppEm", "A::operator++(unsigned long)"},
    {"_ZN1ApsEv", "A::operator+()"},
    {"_ZN1AptEm", "A::operator->(unsigned long)"},
    {"_ZN1ArMERKS_", "A::operator%=(A const&)"},
    {"_ZN1ArSERKS_", "A::operator>>=(A const&)"},
    {"_ZN1ArmERKS_", "A::operator%(A const&)"},
    {"_ZN1ArsERKS_", "A::operator>>(A const&)"},
    {"_ZN1AssERKS_", "A::operator<=>(A const&)"},
    {"_ZN1AssEi", "A::operator<=>(int)"},
    {"_ZN1xMUlvE_E", "x::{lambda()#1}"},
    {"_ZNDTfp_E1AEv", "decltype ({parm#1})::A()"},
    {"_ZNK1A1fEv", "A::f() const"},
    {"_ZNK1AMUlvE_clEv", "A::{lambda()#1}::operator()() const"},
    {"_ZNKO1A1fEv", "A::f() const &&"},
    {"_ZNO1A1fEv", "A::f() &&"},
    {"_ZNR1A1fEv", "A::f() &"},
    {"_ZNSaIiE1fEv", "std::allocator<int>::f()"},
    {"_ZNSs1fEv", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >::f()"},
    {"_ZNSt1A1BIiE1CEv", "std::A::B<int>::C()"},
    {"_ZNSt1fEv", "std::f()"},
    {"_ZNSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size()"},
    {"_ZNV1A1fEv", "A::f() volatile"},
    {"_ZNVK1A1fEv", "A::f() const volatile"},
    {"_ZNrVK1A1fEv", "A::f() const volatile restrict"},
    {"_ZSt1fIiEvT_", "void std::f<int>(int)"},
    {"_ZSt1fv", "std::f()"},
    {"_ZStplIiEvT_", "void std::operator+<int>(int)"},
    {"_ZZ1gIiEvT_E1x", "g<int>(int)::x"},
    {"_ZZ1gIiEvT_EN1A1hIfEEvT_", "void g<int>(int)::A::h<float>(float)"},
    {"_ZZ1gvE1x", "g()::x"},
    {"_ZZ1gvE1x_0", "g()::x"},
    {"_ZZ1gvEs", "g()::string literal"},
    {"_ZZ1gvEs_0", "g()::string literal"},
    {"_ZZ4mainE1x", "main::x"},
    {"_ZZN1A1gEvENK1B1hEv", "A::g()::B::h() const"},
    {"_ZlsR1Ai", "operator<<(A&, int)"},
    {"_ZltIiEbT_", "bool operator< <int>(int)"},
};

/* Names that c++filt does not know, or writes with empty parameters. */
static const struct pair others[] = {
    {"_Z1fIJEEvDpT_i", "void f<>(int)"},
    {"_Z1fIJEEviDpT_f", "void f<>(int, float)"},
    {"_Z1fIJEiEvDpT_T0_", "void f<int>(int)"},
    {"_Z1fIXatiEEvv", "void f<alignof (int)>()"},
    {"_Z1fIXsc1AIiELi3EEEvv", "void f<static_cast<A<int> >(3)>()"},
    {"_Z1fIXteLi3EEEvv", "void f<typeid (3)>()"},
    {"_Z1fIXtiiEEvv", "void f<typeid (int)>()"},
    {"_Z1fIiEDTfL0p_ET_", "decltype ({parm#1}) f<int>(int)"},
    {"_Z1fIiEDTfL1p0_ET_", "decltype ({parm#2}) f<int>(int)"},
    {"_Z1fIiEDTfpK_ET_", "decltype ({parm#1}) f<int>(int)"},
    {"_Z1fPTs1AS_", "f(A*, A)"},
    {"_Z1fTe1A", "f(A)"},
    {"_Z1fTs1A", "f(A)"},
    {"_Z1fTu1A", "f(A)"},
};

static const char *const invalid[] = {
    "_Z1fILiEEvv",
    "_Z1fILlnEEvv",
    "_Z1fIXplLi1ELiEEEvv",
    "_Z1fIXtlEEEvv",
    "_Z1fU3abc",
    "_Z1fPFvE",
    "_Z10000000000a",
    "_Z1f2c02c12c22c32c42c52c62c72c82c93c103c11SB_",
    "_Z1f2c02c12c2S2_",
    "_Z1fIXflxxLi1EEEvv",
    "_Z1fIXquXgtLi1ELi2EEEvv",
    "_Z1fIXsrN1A1BE1C1DE1EEEvv",
    "_Z1fIXsrT_1aEEvv",
    "_Z1fIXxxEEvv",
    "_Z1fIZ1gvE1A__12EvT_",
    "_Z1fIabcdefghijlmsEvT12_",
    "_Z1fIiEDTfpA_ET_",
    "_Z1fIiEi",
    "_Z1fRE",
    "_Z1fTx1A",
    "_Z1fiE",
    "_ZN1AC6Ev",
    "_ZlsR1AI",
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

static void names_are_translated(void **state)
{
    (void)state;
    check_full(common, FTH_COUNT(common));
    check_full(others, FTH_COUNT(others));
}

static void invalid_names_are_returned(void **state)
{
    (void)state;
    char text[FTH_NAME_BYTES];
    for (size_t i = 0; i < FTH_COUNT(invalid); i++) {
        if (fth_demangle(invalid[i], FTH_NAME_FULL, text, sizeof text))
            fail_msg("'%s' became '%s'", invalid[i], text);
        assert_string_equal(text, invalid[i]);
    }
}

/* Writes the substitution with this index: S_, S0_ to SZ_, S10_ and so on. */
static const char *substitution(unsigned index, char text[8])
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (index == 0)
        return "S_";
    index--;
    if (index < 36)
        sprintf(text, "S%c_", digits[index]);
    else
        sprintf(text, "S%c%c_", digits[index / 36], digits[index % 36]);
    return text;
}

/* A function of 100 classes and one of them again. */
static void substitutions_are_numbered(void **state)
{
    (void)state;
    enum { CLASSES = 100 };
    static char name[2000], expected[2000], text[FTH_NAME_BYTES];
    for (unsigned again = 0; again <= CLASSES; again++) {
        char part[8];
        char *at = name + sprintf(name, "_Z1f");
        char *to = expected + sprintf(expected, "f(");
        for (unsigned i = 0; i < CLASSES; i++) {
            at += sprintf(at, "3c%02u", i);
            to += sprintf(to, "c%02u, ", i);
        }
        strcpy(at, substitution(again, part));
        sprintf(to, "c%02u)", again);
        const bool known = fth_demangle(name, FTH_NAME_FULL, text, sizeof text);
        assert_int_equal(known, again < CLASSES);
        assert_string_equal(text, known ? expected : name);
    }
}

/* Each of 30 template parameters as the only parameter of the function. */
static void template_parameters_are_numbered(void **state)
{
    (void)state;
    enum { PARAMETERS = 30 };
    static char name[1000], expected[1000], text[FTH_NAME_BYTES];
    for (int wanted = 0; wanted <= PARAMETERS; wanted++) {
        char *at = name + sprintf(name, "_Z1fI");
        char *to = expected + sprintf(expected, "void f<");
        for (int i = 0; i < PARAMETERS; i++) {
            at += sprintf(at, "Li%dE", i);
            to += sprintf(to, "%s%d", i ? ", " : "", i);
        }
        at += sprintf(at, "EvPAT");
        at += wanted ? sprintf(at, "%d", wanted - 1) : 0;
        sprintf(at, "__i");
        sprintf(to, ">(int (*) [%d])", wanted);
        const bool known = fth_demangle(name, FTH_NAME_FULL, text, sizeof text);
        assert_int_equal(known, wanted < PARAMETERS);
        assert_string_equal(text, known ? expected : name);
    }
}

/* A name without template arguments stands for all instances, but not for longer names. */
static void names_match_without_arguments(void **state)
{
    (void)state;
    static const char *const kernels[] = {"_Z4sortIiEvv", "_Z6sortedIiEvv", "_Z4sortI1AI1BIiEEEvv",
                                          "_ZN4sort1fEv", "_ZN4sortltIiEEvi"};
    static const struct {
        const char *wanted, *matches; /* one digit per kernel */
    } rows[] = {
        {"sort", "10100"},      {"sorted", "01000"},     {"sort<A", "00100"},
        {"sor", "11111"},       {"sort::f", "00010"},    {"sort<A<B<int> > >", "00100"},
        {"sort<int>", "10000"}, {"sort::", "00011"},     {"sort<A<B<int", "00100"},
        {"_Z4sortI", "10100"},  {"_ZN4sort", "00011"},   {"f", "00000"},
        {"void sort", "00000"}, {"sort<int>(", "10000"}, {"sort::operator<", "00001"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        bool matches[FTH_COUNT(kernels)];
        char found[FTH_COUNT(kernels) + 1] = "";
        size_t count = fth_name_match(rows[i].wanted, kernels, FTH_COUNT(kernels), matches);
        for (size_t k = 0; k < FTH_COUNT(kernels); k++) {
            found[k] = matches[k] ? '1' : '0';
            count -= matches[k];
        }
        if (strcmp(found, rows[i].matches) != 0)
            fail_msg("'%s': %s instead of %s", rows[i].wanted, found, rows[i].matches);
        assert_int_equal(count, 0);
    }
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
    static char command[100000], line[FTH_NAME_BYTES];
    char *at = command + sprintf(command, "c++filt");
    for (size_t i = 0; i < FTH_COUNT(common); i++)
        at += sprintf(at, " '%s'", common[i].name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (size_t i = 0; i < FTH_COUNT(common); i++) {
        assert_non_null(fgets(line, sizeof line, pipe));
        line[strcspn(line, "\n")] = '\0';
        assert_string_equal(common[i].full, line);
    }
    assert_int_equal(pclose(pipe), 0);
}

/* Writes all names that are a common one without its end, one per line. Returns their number. */
static size_t write_prefixes(FILE *file)
{
    size_t count = 0;
    for (size_t i = 0; i < FTH_COUNT(common); i++)
        for (size_t size = 2; size < strlen(common[i].name); size++, count++)
            fprintf(file, "%.*s\n", (int)size, common[i].name);
    return count;
}

/* The same names without their ends are valid. */
static void cxxfilt_agrees_on_incomplete_names(void **state)
{
    (void)state;
    static char name[FTH_NAME_BYTES], line[FTH_NAME_BYTES], text[FTH_NAME_BYTES];
    char path[] = "/tmp/fathom-test-XXXXXX", command[64];
    if (!has_cxxfilt())
        skip();
    FILE *file = fdopen(mkstemp(path), "w+");
    assert_non_null(file);
    const size_t count = write_prefixes(file);
    rewind(file);
    snprintf(command, sizeof command, "c++filt < %s", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(fgets(name, sizeof name, file));
        assert_non_null(fgets(line, sizeof line, pipe));
        name[strcspn(name, "\n")] = line[strcspn(line, "\n")] = '\0';
        /* c++filt does not require the number after the last letter of these. */
        if (strcmp(name, "_ZZ1gvE1x_") == 0 || strcmp(name, "_ZZ1gvEs_") == 0)
            continue;
        const bool known = fth_demangle(name, FTH_NAME_FULL, text, sizeof text);
        if (known != (strcmp(name, line) != 0))
            fail_msg("'%s' becomes '%s', or '%s' with c++filt", name, text, line);
    }
    assert_int_equal(pclose(pipe), 0);
    fclose(file);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_translated),
        cmocka_unit_test(invalid_names_are_returned),
        cmocka_unit_test(substitutions_are_numbered),
        cmocka_unit_test(template_parameters_are_numbered),
        cmocka_unit_test(names_match_without_arguments),
        cmocka_unit_test(cxxfilt_agrees),
        cmocka_unit_test(cxxfilt_agrees_on_incomplete_names),
    };
    return cmocka_run_group_tests_name("demangle_names", tests, NULL, NULL);
}
