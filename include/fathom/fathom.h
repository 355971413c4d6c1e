/* fathom: measures and describes the memory system of GPUs, simulates GPUs from such descriptions,
 * and models how kernels use the caches. This header includes all public headers of the library.
 * docs/library.md describes how to link the library and what may change from version to version.
 *
 *   version.h        version, FTH_API           launches.h      launching kernels
 *   status.h         status, error, log         traces.h        traces of memory accesses
 *   descriptions.h   GPU descriptions           cache_model.h   the cache model
 *   devices.h        devices and measurement    exploration.h   exploring cache designs
 *   benches.h        benches                    reports.h       reports
 *   dissection.h     dissecting caches          utilities.h     memory, sizes, names, files
 *   fingerprints.h   recognising GPUs           capsules.h      launches of CUDA programs
 *   captures.h       completing capsules        advice.h        edits of traces, hints
 *   fleets.h         judging many GPUs          fleet_history.h GPUs over time
 *
 * Errors
 *   A function that can fail returns enum fth_status: FTH_OK (0) or the kind of failure. It also
 *   fills the caller's struct fth_error with a message. The caller may pass NULL for the error.
 *   Every such function can return FTH_NO_MEMORY, every function that reads or writes files can
 *   return FTH_IO, and every function with options returns FTH_INVALID if their size is wrong; the
 *   comments list the other statuses.
 *
 * Ownership
 *   A function with an out-parameter such as `struct fth_gpu **`, `char **` or `void **` gives the
 *   caller ownership of what the pointer refers to. Release objects with the destroy or close
 *   function of their type, and texts and other memory with fth_free. All of these accept NULL. If
 *   a function fails, there is nothing to release, unless its comment says otherwise.
 *   A pointer to `const` that a function returns, or stores in an out-parameter such as
 *   `const char **`, is borrowed: it is valid until the object that it came from is released.
 *   Texts are UTF-8 and end with a NUL; `*size` does not count the NUL. Pointer parameters must not
 *   be NULL unless the comment says so. Indices start at 0.
 *
 * Threads
 *   The library has no mutable global state. Different objects can be used by different threads at
 *   the same time. One object must not be used by two threads at the same time, with these
 *   exceptions: any number of threads can read the same fth_gpu, fth_catalogue, fth_model_params,
 *   fth_model_result, fth_bench or fth_trace (each thread with its own cursor).
 *
 * Process
 *   The library never prints, exits, installs signal handlers, or changes the environment or the
 *   locale. It reports messages and progress through struct fth_log. Numbers in texts have a
 *   decimal point in every locale. Floating-point arithmetic must round to nearest, which is the
 *   default of every process.
 *
 * Structs, and how later versions can extend them
 *   Options are structs that the caller fills: their names end in _options, and fth_launch_shape,
 *   fth_points_view and fth_model_report. The first member is the size of the struct, by which the
 *   library sees which members the caller knows. Each has a macro that sets it, with designated
 *   initialisers as arguments:
 *
 *       struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.only = "l1,l2");
 *
 *   In C++ before C++20: `fth_discover_options options{}; options.size = sizeof options;`. Members
 *   that are not set are 0. A later version can append members; 0 always means the behaviour from
 *   before. A library that is older than the headers of its caller accepts the options if the
 *   members that it does not know are 0, and otherwise fails with FTH_INVALID. Wherever a function
 *   has a parameter `options`, NULL means that all options are 0.
 *
 *   Growing structs are those that the library allocates and returns as pointers to const:
 *
 *       fth_attribute, fth_bench_series, fth_capture_kernel, fth_device_info, fth_difference,
 *       fth_enrolled, fth_fleet_history_gpu, fth_hint, fth_model_curve, fth_model_intervals,
 *       fth_model_row, fth_replay_launch, fth_replay_parameter, fth_source_position,
 *       fth_trace_access, fth_trace_instruction, fth_trace_launch, fth_trace_row,
 *       fth_trace_shared
 *
 *   A later version can append members. So do not allocate or copy these structs, and do not use
 *   their sizeof.
 *
 *   Frozen structs never change, because callers allocate them, or because they are members of
 *   other structs or elements of arrays:
 *
 *       fth_bench_figure, fth_candidate, fth_cell, fth_column, fth_error, fth_explore_outcome,
 *       fth_hint_figures, fth_identification, fth_launch_totals, fth_launch_view, fth_log,
 *       fth_model_counts, fth_model_demand, fth_model_floors, fth_model_interval,
 *       fth_model_misses, fth_model_parameter, fth_model_profile, fth_model_traffic, fth_series,
 *       fth_shard, fth_shared_counts, fth_table, fth_verdict
 *
 *   All other structs are opaque. Enumerations can get further constants at their end. */
#ifndef FATHOM_FATHOM_H
#define FATHOM_FATHOM_H

#include <fathom/advice.h>
#include <fathom/benches.h>
#include <fathom/cache_model.h>
#include <fathom/capsules.h>
#include <fathom/captures.h>
#include <fathom/descriptions.h>
#include <fathom/devices.h>
#include <fathom/dissection.h>
#include <fathom/exploration.h>
#include <fathom/fingerprints.h>
#include <fathom/fleet_history.h>
#include <fathom/fleets.h>
#include <fathom/launches.h>
#include <fathom/reports.h>
#include <fathom/status.h>
#include <fathom/traces.h>
#include <fathom/utilities.h>
#include <fathom/version.h>

#endif
