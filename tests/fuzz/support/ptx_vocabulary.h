/* The words from which support/ptx_mutator.c makes PTX: templates of instructions and directives,
 * operands, and a small module. */
#ifndef FUZZ_PTX_VOCABULARY_H
#define FUZZ_PTX_VOCABULARY_H

#include <stddef.h>

struct fuzz_words {
    const char *const *words;
    size_t count;
};

/* Templates of statements. "{a/b}" stands for one of the alternatives, "<" and ">" for braces.
 *
 *   $d $e   registers as destination and as source     $s  any source: register, number, symbol
 *   $p $q   a predicate; one that can be negated       $n  a number from 0 to 255
 *   $1 $2 $4 $8 $w   a vector of 1, 2, 4, 8 or 16 registers    $Q  a register of 128 bits
 *   $g $h $l $k $m $x   addresses in global, shared, local, constant and parameter memory, and
 *                       generic addresses              $b  the address of an mbarrier
 *   $L      a label */
extern const struct fuzz_words fuzz_ptx_instructions;
/* Templates of declarations in a module, and in the body of a function. */
extern const struct fuzz_words fuzz_ptx_directives, fuzz_ptx_body_directives;
/* Operands: numbers, special registers, and symbols of the module below. */
extern const struct fuzz_words fuzz_ptx_numbers, fuzz_ptx_specials, fuzz_ptx_symbols;

/* A module that declares all names of the templates. Its registers hold addresses of every space
 * and values that differ between the threads of a warp. The parameters p4 to p8 are tensor maps
 * with one to five dimensions, and %a4 to %a8 are their addresses. */
extern const char fuzz_ptx_skeleton[];

#endif
