/* Tests files that appear when they are complete (base/atomic_file.c): modes, symbolic links,
 * folders without permission, and what processes that are killed leave behind. The test runs twice:
 * with O_TMPFILE and, with no_tmpfile.c (NO_TMPFILE), as on a file system that does not have it. */
#include "base/base.h"
#include "folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifdef NO_TMPFILE
static const bool has_tmpfile = false;
#else
static const bool has_tmpfile = true;
#endif

static void write_text(const char *path, const char *text)
{
    struct fth_error error = NO_ERROR;
    if (fth_file_write(path, text, strlen(text), &error) != FTH_OK)
        fail_msg("%s: %s", path, error.cause);
}

static void assert_content(const char *path, const char *expected)
{
    struct fth_buffer content = {0};
    assert_int_equal(
        fth_file_read(path, FTH_FILE_LIMIT("a file of the test", 1 << 20), &content, NULL), FTH_OK);
    assert_string_equal(content.data ? content.data : "", expected);
    fth_buffer_fini(&content);
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode;
}

static void a_replaced_file_keeps_its_mode(void **state)
{
    (void)state;
    static const mode_t modes[] = {0600, 0640, 0644, 0400, 0755};
    umask(022);
    write_text("new", "x");
    assert_int_equal(mode_of("new") & 07777, 0644);
    for (size_t i = 0; i < FTH_COUNT(modes); i++) {
        write_text("moded", "old");
        assert_int_equal(chmod("moded", modes[i]), 0);
        write_text("moded", "new");
        assert_content("moded", "new");
        assert_int_equal(mode_of("moded") & 07777, modes[i]);
        assert_int_equal(unlink("moded"), 0);
    }
    /* A program without an owner's rights must not keep the bit that gives them. */
    write_text("moded", "old");
    assert_int_equal(chmod("moded", 04755), 0);
    write_text("moded", "new");
    assert_int_equal(mode_of("moded") & 07777, 0755);
}

static void a_replaced_file_keeps_its_owner_if_the_system_allows_it(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct stat info;
    write_text("owned", "old");
    assert_int_equal(chown("owned", 1234, 5678), 0);
    write_text("owned", "new");
    assert_int_equal(stat("owned", &info), 0);
    assert_int_equal(info.st_uid, 1234);
    assert_int_equal(info.st_gid, 5678);
}

static void links_stay_and_their_targets_are_written(void **state)
{
    (void)state;
    static const char *const links[][2] = {
        {"inner/target", "first"}, {"first", "second"}, {"../moved", "inner/up"}};
    assert_int_equal(mkdir("inner", 0777), 0);
    for (size_t i = 0; i < FTH_COUNT(links); i++)
        assert_int_equal(symlink(links[i][0], links[i][1]), 0);
    /* The targets do not exist yet. */
    write_text("second", "one");
    assert_content("inner/target", "one");
    assert_int_equal(chmod("inner/target", 0600), 0);
    write_text("second", "two");
    assert_content("inner/target", "two");
    assert_int_equal(mode_of("inner/target") & 0777, 0600);
    write_text("inner/up", "three");
    assert_content("moved", "three");
    for (size_t i = 0; i < FTH_COUNT(links); i++)
        assert_true(S_ISLNK(mode_of(links[i][1])));
    char absolute[256];
    snprintf(absolute, sizeof absolute, "%s/inner/absolute", folder);
    assert_int_equal(symlink(absolute, "third"), 0);
    write_text("third", "four");
    assert_content("inner/absolute", "four");
}

static void links_that_lead_nowhere_are_reported(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(fth_file_write("loop", "x", 1, &error), FTH_IO);
    assert_contains(error.cause, "Too many levels of symbolic links");
    error = NO_ERROR;
    assert_int_equal(symlink("missing/file", "astray"), 0);
    assert_int_equal(fth_file_write("astray", "x", 1, &error), FTH_IO);
    assert_string_equal(error.argument, "astray");
    assert_string_equal(
        error.cause, "cannot create a file in the folder './missing': No such file or directory");
    assert_true(S_ISLNK(mode_of("astray")));
}

/* Returns the failure of writing a file, which fth_file_check must predict. */
static struct fth_error refused(const char *path)
{
    struct fth_error checked = NO_ERROR, error = NO_ERROR;
    const enum fth_status status = fth_file_check(path, &checked);
    assert_int_equal(fth_file_write(path, "x", 1, &error), status);
    assert_string_equal(checked.cause, error.cause);
    assert_string_equal(checked.argument, error.argument);
    return error;
}

static void a_folder_without_permission_is_named(void **state)
{
    (void)state;
    assert_int_equal(mkdir("closed", 0777), 0);
    write_text("closed/old", "x");
    assert_int_equal(chmod("closed", 0555), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    const bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0); /* nobody: root has all permissions */
    const struct fth_error fresh = refused("closed/new"), old = refused("closed/old");
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(fresh.status, FTH_IO);
    assert_string_equal(fresh.cause,
                        "cannot create a file in the folder 'closed': Permission denied");
    assert_int_equal(old.status, FTH_IO);
    assert_contains(old.cause, "closed': Permission denied");
    assert_content("closed/old", "x");
    assert_int_equal(chmod("closed", 0777), 0);
}

static void outputs_are_checked_before_they_are_written(void **state)
{
    (void)state;
    static const char *const good[] = {"-", "fresh", "/dev/null", "new"};
    for (size_t i = 0; i < FTH_COUNT(good); i++)
        assert_int_equal(fth_file_check(good[i], NULL), FTH_OK);
    assert_int_equal(access("fresh", F_OK), -1);
    assert_content("new", "x");
    assert_contains(refused("no/such/file").cause,
                    "in the folder 'no/such': No such file or directory");
    assert_contains(refused("new/file").cause, "Not a directory");
    assert_contains(refused("inner").cause, "Is a directory");
    assert_contains(refused("").cause, "No such file or directory");
    char name[300] = "";
    struct fth_atomic_file *file;
    memset(name, 'x', sizeof name - 1);
    assert_contains(refused(name).cause, "File name too long");
    assert_int_equal(fth_atomic_open(name, &file, NULL), FTH_IO);
    assert_null(file);
}

/* Starts a process that begins to write a file, and kills it before the file is complete. */
static void kill_a_writer(const char *path)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct fth_atomic_file *file = NULL;
        if (fth_atomic_open(path, &file, NULL) != FTH_OK ||
            fth_atomic_write(file, "incomplete", 10, NULL) != FTH_OK)
            _exit(1);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    assert_true(child > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ready[0]);
    close(ready[1]);
}

static void killed_writers_leave_no_files(void **state)
{
    (void)state;
    write_text("victim", "old");
    const size_t before = file_count();
    /* Without O_TMPFILE, the file of the last writer stays until somebody writes the same path. */
    for (int i = 0; i < 3; i++) {
        kill_a_writer("victim");
        assert_int_equal(file_count(), before + (has_tmpfile ? 0 : 1));
    }
    assert_content("victim", "old");
    write_text("victim", "new");
    assert_int_equal(file_count(), before);
    assert_content("victim", "new");
    kill_a_writer("never");
    assert_int_equal(access("never", F_OK), -1);
    write_text("never", "now");
    assert_int_equal(file_count(), before + 1);
}

static void a_temporary_file_of_a_living_writer_is_left_alone(void **state)
{
    (void)state;
    write_text("shared", "old");
    const size_t before = file_count();
    /* As a killed process leaves it. */
    write_plain("shared.0.part", "abandoned", 9);
    write_plain("shared.1.part", "in use", 6);
    const int fd = open("shared.1.part", O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    write_text("shared", "first");
    assert_content("shared", "first");
    assert_int_equal(access("shared.0.part", F_OK), -1);
    write_plain("shared.0.part", "in use", 6);
    const int other = open("shared.0.part", O_RDWR);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    write_text("shared", "second");
    assert_content("shared", "second");
    assert_content("shared.0.part", "in use");
    assert_content("shared.1.part", "in use");
    assert_int_equal(file_count(), before + 2);
    close(fd);
    close(other);
    /* Something else of this name is not removed. */
    assert_int_equal(unlink("shared.0.part"), 0);
    assert_int_equal(mkfifo("shared.0.part", 0666), 0);
    assert_int_equal(unlink("shared.1.part"), 0);
    assert_int_equal(symlink("shared", "shared.1.part"), 0);
    write_text("shared", "third");
    assert_content("shared", "third");
    assert_true(S_ISFIFO(mode_of("shared.0.part")));
    assert_true(S_ISLNK(mode_of("shared.1.part")));
    assert_int_equal(file_count(), before + 2);
}

static void at_most_100_writers_can_replace_a_file(void **state)
{
    (void)state;
    enum { PARTS = 100 };
    int locks[PARTS];
    char name[32];
    struct fth_error error = NO_ERROR;
    write_text("crowd", "old");
    for (int i = 0; i < PARTS; i++) {
        snprintf(name, sizeof name, "crowd.%d.part", i);
        write_plain(name, "", 0);
        locks[i] = open(name, O_RDWR);
        assert_int_equal(flock(locks[i], LOCK_EX | LOCK_NB), 0);
    }
    assert_int_equal(fth_file_write("crowd", "new", 3, &error), FTH_IO);
    assert_contains(error.cause, "File exists");
    assert_content("crowd", "old");
    close(locks[PARTS - 1]);
    write_text("crowd", "new");
    assert_content("crowd", "new");
    assert_int_equal(access("crowd.99.part", F_OK), -1);
    for (int i = 0; i < PARTS - 1; i++) {
        close(locks[i]);
        snprintf(name, sizeof name, "crowd.%d.part", i);
        assert_int_equal(unlink(name), 0);
    }
}

static void a_pipe_that_appears_in_the_meantime_is_not_replaced(void **state)
{
    (void)state;
    struct fth_atomic_file *file;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_atomic_open("meantime", &file, NULL), FTH_OK);
    assert_int_equal(mkfifo("meantime", 0666), 0);
    const size_t before = file_count() - (has_tmpfile ? 0 : 1);
    assert_int_equal(fth_atomic_commit(file, &error), FTH_IO);
    assert_contains(error.cause, "File exists");
    assert_true(S_ISFIFO(mode_of("meantime")));
    assert_int_equal(file_count(), before);
}

static void writers_of_the_same_file_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct fth_atomic_file *files[3];
    write_text("same", "old");
    const size_t before = file_count();
    for (size_t i = 0; i < FTH_COUNT(files); i++) {
        assert_int_equal(fth_atomic_open("same", &files[i], NULL), FTH_OK);
        assert_int_equal(fth_atomic_write(files[i],
                                          i == 0   ? "0"
                                          : i == 1 ? "1"
                                                   : "2",
                                          1, NULL),
                         FTH_OK);
    }
    assert_int_equal(fth_atomic_commit(files[1], NULL), FTH_OK);
    assert_content("same", "1");
    fth_atomic_abort(files[0]);
    assert_content("same", "1");
    assert_int_equal(fth_atomic_commit(files[2], NULL), FTH_OK);
    assert_content("same", "2");
    assert_int_equal(file_count(), before);
}

static void killed_processes_leave_no_temporary_files(void **state)
{
    (void)state;
    int ready[2], fd;
    char byte;
    assert_int_equal(mkdir("temporary", 0777), 0);
    assert_int_equal(setenv("TMPDIR", "temporary", 1), 0);
    assert_int_equal(fth_temporary_open(&fd, NULL), FTH_OK);
    assert_int_equal(write(fd, "abc", 3), 3);
    assert_int_equal(pread(fd, &byte, 1, 2), 1);
    assert_int_equal(byte, 'c');
    close(fd);
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (fth_temporary_open(&fd, NULL) != FTH_OK)
            _exit(1);
        (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(rmdir("temporary"), 0); /* fails unless it is empty */
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_temporary_open(&fd, &error), FTH_IO);
    assert_contains(error.cause, "set TMPDIR to a writable folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replaced_file_keeps_its_mode),
        cmocka_unit_test(a_replaced_file_keeps_its_owner_if_the_system_allows_it),
        cmocka_unit_test(links_stay_and_their_targets_are_written),
        cmocka_unit_test(links_that_lead_nowhere_are_reported),
        cmocka_unit_test(a_folder_without_permission_is_named),
        cmocka_unit_test(outputs_are_checked_before_they_are_written),
        cmocka_unit_test(killed_writers_leave_no_files),
        cmocka_unit_test(a_temporary_file_of_a_living_writer_is_left_alone),
        cmocka_unit_test(at_most_100_writers_can_replace_a_file),
        cmocka_unit_test(a_pipe_that_appears_in_the_meantime_is_not_replaced),
        cmocka_unit_test(writers_of_the_same_file_do_not_disturb_each_other),
        cmocka_unit_test(killed_processes_leave_no_temporary_files),
    };
    return cmocka_run_group_tests_name("atomic file", tests, enter_folder, leave_folder);
}
