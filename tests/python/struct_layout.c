/* Prints the size of the structs that python/fathom/_structs.py repeats, and the offset and the
 * size of each member. test_layout.py compares them with ctypes. */
#include <fathom/fathom.h>

#include <stdio.h>

#define STRUCT(name) printf("%s %zu\n", #name, sizeof(struct name))
#define MEMBER(name, member)                                                                       \
    printf("%s.%s %zu %zu\n", #name, #member, offsetof(struct name, member),                       \
           sizeof(((struct name *)NULL)->member))

static void print_errors_and_devices(void)
{
    STRUCT(fth_error);
    MEMBER(fth_error, status);
    MEMBER(fth_error, operation);
    MEMBER(fth_error, argument);
    MEMBER(fth_error, cause);
    MEMBER(fth_error, excerpt);
    STRUCT(fth_log);
    MEMBER(fth_log, message);
    MEMBER(fth_log, progress);
    MEMBER(fth_log, interrupted);
    MEMBER(fth_log, user);
    STRUCT(fth_device_info);
    MEMBER(fth_device_info, backend);
    MEMBER(fth_device_info, id);
    MEMBER(fth_device_info, name);
    MEMBER(fth_device_info, detail);
    STRUCT(fth_device_options);
    MEMBER(fth_device_options, size);
    MEMBER(fth_device_options, log);
    MEMBER(fth_device_options, max_instructions);
    MEMBER(fth_device_options, require_gpu);
    STRUCT(fth_discover_options);
    MEMBER(fth_discover_options, size);
    MEMBER(fth_discover_options, only);
    MEMBER(fth_discover_options, log);
    MEMBER(fth_discover_options, thorough);
    MEMBER(fth_discover_options, full);
    MEMBER(fth_discover_options, quick);
}

static void print_launches(void)
{
    STRUCT(fth_launch_options);
    MEMBER(fth_launch_options, size);
    MEMBER(fth_launch_options, sizes);
    MEMBER(fth_launch_options, size_count);
    MEMBER(fth_launch_options, kernel);
    MEMBER(fth_launch_options, grid);
    MEMBER(fth_launch_options, block);
    MEMBER(fth_launch_options, shared_bytes);
    MEMBER(fth_launch_options, arguments);
    MEMBER(fth_launch_options, argument_count);
    MEMBER(fth_launch_options, seed);
    MEMBER(fth_launch_options, allow_files);
    MEMBER(fth_launch_options, cluster);
    MEMBER(fth_launch_options, all_kernels);
    MEMBER(fth_launch_options, kernels);
    MEMBER(fth_launch_options, first_launch);
    MEMBER(fth_launch_options, end_launch);
    MEMBER(fth_launch_options, max_memory_bytes);
    MEMBER(fth_launch_options, variables);
    MEMBER(fth_launch_options, variable_count);
    MEMBER(fth_launch_options, contents);
    MEMBER(fth_launch_options, no_spills);
    STRUCT(fth_run_options);
    MEMBER(fth_run_options, size);
    MEMBER(fth_run_options, threads);
    MEMBER(fth_run_options, log);
    MEMBER(fth_run_options, device);
    MEMBER(fth_run_options, max_instructions);
    MEMBER(fth_run_options, max_seconds);
    MEMBER(fth_run_options, print);
    MEMBER(fth_run_options, print_user);
    MEMBER(fth_run_options, copy_order);
    MEMBER(fth_run_options, copy_seed);
    MEMBER(fth_run_options, check_async);
    MEMBER(fth_run_options, counts);
    MEMBER(fth_run_options, check_races);
    STRUCT(fth_launch_totals);
    MEMBER(fth_launch_totals, warp_instructions);
    MEMBER(fth_launch_totals, thread_instructions);
    STRUCT(fth_launch_view);
    MEMBER(fth_launch_view, name);
    MEMBER(fth_launch_view, number);
    MEMBER(fth_launch_view, type);
    MEMBER(fth_launch_view, element_bytes);
    MEMBER(fth_launch_view, count);
    STRUCT(fth_verdict);
    MEMBER(fth_verdict, buffer);
    MEMBER(fth_verdict, matches);
    MEMBER(fth_verdict, text);
}

static void print_traces(void)
{
    STRUCT(fth_trace_options);
    MEMBER(fth_trace_options, size);
    MEMBER(fth_trace_options, launch);
    MEMBER(fth_trace_options, output);
    MEMBER(fth_trace_options, threads);
    MEMBER(fth_trace_options, log);
    MEMBER(fth_trace_options, traced);
    MEMBER(fth_trace_options, max_instructions);
    STRUCT(fth_trace_launch);
    MEMBER(fth_trace_launch, kernel);
    MEMBER(fth_trace_launch, grid);
    MEMBER(fth_trace_launch, block);
    MEMBER(fth_trace_launch, longest);
    MEMBER(fth_trace_launch, accesses);
    MEMBER(fth_trace_launch, shared);
    MEMBER(fth_trace_launch, local);
    MEMBER(fth_trace_launch, constant);
    MEMBER(fth_trace_launch, texture);
    MEMBER(fth_trace_launch, shared_bytes);
    MEMBER(fth_trace_launch, local_bytes);
    STRUCT(fth_trace_instruction);
    MEMBER(fth_trace_instruction, line);
    MEMBER(fth_trace_instruction, source_file);
    MEMBER(fth_trace_instruction, source_line);
    MEMBER(fth_trace_instruction, index);
    MEMBER(fth_trace_instruction, kind);
    MEMBER(fth_trace_instruction, bytes);
    MEMBER(fth_trace_instruction, cache_op);
    MEMBER(fth_trace_instruction, source);
    MEMBER(fth_trace_instruction, hints);
    MEMBER(fth_trace_instruction, wait);
    STRUCT(fth_trace_access);
    MEMBER(fth_trace_access, number);
    MEMBER(fth_trace_access, block);
    MEMBER(fth_trace_access, warp);
    MEMBER(fth_trace_access, instruction);
    MEMBER(fth_trace_access, mask);
    MEMBER(fth_trace_access, threads);
    MEMBER(fth_trace_access, addresses);
    STRUCT(fth_trace_row);
    MEMBER(fth_trace_row, kernel);
    MEMBER(fth_trace_row, instruction);
    MEMBER(fth_trace_row, launches);
    MEMBER(fth_trace_row, longest);
    MEMBER(fth_trace_row, requests);
    MEMBER(fth_trace_row, accesses);
    MEMBER(fth_trace_row, sectors);
    MEMBER(fth_trace_row, lines);
    MEMBER(fth_trace_row, footprint_bytes);
    MEMBER(fth_trace_row, footprint_all_bytes);
    MEMBER(fth_trace_row, local_requests);
    MEMBER(fth_trace_row, local_sectors);
    MEMBER(fth_trace_row, texture_requests);
    MEMBER(fth_trace_row, texture_sectors);
    MEMBER(fth_trace_row, requested_bytes);
    MEMBER(fth_trace_row, used_bytes);
    MEMBER(fth_trace_row, ideal_sectors);
    MEMBER(fth_trace_row, touched_bytes);
    MEMBER(fth_trace_row, touched_all_bytes);
}

static void print_model_and_reports(void)
{
    STRUCT(fth_model_options);
    MEMBER(fth_model_options, size);
    MEMBER(fth_model_options, threads);
    MEMBER(fth_model_options, bypassed);
    MEMBER(fth_model_options, curves);
    MEMBER(fth_model_options, kernel);
    MEMBER(fth_model_options, log);
    MEMBER(fth_model_options, orders);
    MEMBER(fth_model_options, sample);
    MEMBER(fth_model_options, diagnose);
    STRUCT(fth_hints_options);
    MEMBER(fth_hints_options, size);
    MEMBER(fth_hints_options, max_hints);
    MEMBER(fth_hints_options, max_accesses);
    MEMBER(fth_hints_options, kernel);
    MEMBER(fth_hints_options, threads);
    MEMBER(fth_hints_options, log);
    STRUCT(fth_model_report);
    MEMBER(fth_model_report, size);
    MEMBER(fth_model_report, folders);
    MEMBER(fth_model_report, ptx);
    MEMBER(fth_model_report, sources);
    MEMBER(fth_model_report, hints);
    STRUCT(fth_report_options);
    MEMBER(fth_report_options, size);
    MEMBER(fth_report_options, utf8);
    MEMBER(fth_report_options, colour);
    MEMBER(fth_report_options, width);
    MEMBER(fth_report_options, replayed);
    MEMBER(fth_report_options, columns);
    MEMBER(fth_report_options, drop);
    MEMBER(fth_report_options, all);
}

int main(void)
{
    print_errors_and_devices();
    print_launches();
    print_traces();
    print_model_and_reports();
    return 0;
}
