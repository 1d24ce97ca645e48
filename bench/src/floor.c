/*
 * The floor program: `floor FILE` opens, appends a line, flushes and ends.
 *
 * It is what a durable append costs a process at least: a C program, linked
 * to the C library of the machine. src/floor.rs builds it.
 */
#include <fcntl.h>
#include <unistd.h>

static const char LINE[] = "something happened, and it is not to be forgotten\n";

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    int file = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return 1;
    ssize_t length = sizeof LINE - 1;
    if (write(file, LINE, length) != length)
        return 1;
    return fdatasync(file) == 0 ? 0 : 1;
}
