// A program that the tests of process launching run: each command shows one property of the process, or makes trouble.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder)) printf("%s\n", entry->d_name);
    closedir(folder);
}

static void limit(const char *name, int resource) {
    struct rlimit value;
    getrlimit(resource, &value);
    printf("%s %lld %lld\n", name, (long long)value.rlim_cur, (long long)value.rlim_max);
}

static void facts(char **arguments) {
    for (char **argument = arguments; *argument != NULL; argument++) printf("argument %s\n", *argument);
    for (char **variable = environ; *variable != NULL; variable++) printf("variable %s\n", *variable);
    char folder[4096];
    printf("folder %s\n", getcwd(folder, sizeof folder));
    mode_t mask = umask(0);
    printf("mask %o\n", (unsigned)mask);
    printf("session %d\n", getsid(0) == getpid() && getpgid(0) == getpid());
    printf("no_new_privs %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    int adopts = -1;
    prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0, 0, 0);
    printf("adopts %d\n", adopts);
    FILE *score = fopen("/proc/self/oom_score_adj", "r");
    int adjustment = 0;
    if (fscanf(score, "%d", &adjustment) == 1) printf("oom %d\n", adjustment);
    fclose(score);
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0) fputs(line, stdout);
    fclose(status);
    limit("core", RLIMIT_CORE);
    limit("memory", RLIMIT_AS);
    limit("time", RLIMIT_CPU);
    limit("size", RLIMIT_FSIZE);
    limit("files", RLIMIT_NOFILE);
    limit("processes", RLIMIT_NPROC);
}

static void wait_forever(void) {
    for (;;) pause();
}

/// Writes "ready" and one line with the process's number, in one piece.
static void announce(const char *word) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %d\n", word, (int)getpid());
    if (write(STDOUT_FILENO, line, (size_t)length) != length) _exit(3);
}

/// Starts a process that outlives its parent in a session of its own and ignores polite signals.
static void daemonize(int clears_environment, const char *self) {
    pid_t middle = fork();
    if (middle == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        setsid();
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        if (clears_environment) {
            char *const arguments[] = {"innocent", "linger", NULL}, *const nothing[] = {NULL};
            execve(self, arguments, nothing);
            _exit(4);
        }
        announce("daemon");
        wait_forever();
    }
    waitpid(middle, NULL, 0);
}

/// All processes, this one included, fork without end. Two limits bound them: the count of the user's processes, and one
/// deadline at which all of them end.
static void fork_bomb(int most, unsigned user, int exits) {
    time_t deadline = time(NULL) + 30;
    struct rlimit processes = {(rlim_t)most, (rlim_t)most};
    if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0) _exit(5);
    if (setrlimit(RLIMIT_NPROC, &processes) != 0) _exit(6);
    signal(SIGCHLD, SIG_IGN);
    pid_t first = getpid();
    for (unsigned round = 0; time(NULL) < deadline; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            // Half of them leave the session, and their parents exit now and then.
            if (round % 2 == 0) setsid();
        } else if (pid > 0 && round % 5 == 4 && getpid() != first) {
            _exit(0);
        } else if (pid < 0) {
            if (getpid() == first) {
                announce("full");
                if (exits) _exit(0);
            }
            usleep(1000);
        }
    }
}

int main(int count, char **arguments) {
    const char *command = count > 1 ? arguments[1] : "";
    const char *operand = count > 2 ? arguments[2] : "";
    if (strcmp(command, "facts") == 0) {
        facts(arguments);
    } else if (strcmp(command, "descriptors") == 0) {
        descriptors();
    } else if (strcmp(command, "exit") == 0) {
        return atoi(operand);
    } else if (strcmp(command, "raise") == 0) {
        raise(atoi(operand));
    } else if (strcmp(command, "linger") == 0) {
        announce("ready");
        wait_forever();
    } else if (strcmp(command, "stubborn") == 0) {
        signal(SIGTERM, SIG_IGN);
        announce("ready");
        wait_forever();
    } else if (strcmp(command, "stop") == 0) {
        announce("ready");
        raise(SIGSTOP);
        wait_forever();
    } else if (strcmp(command, "read") == 0) {
        // Copies one descriptor to the output.
        char bytes[4096];
        ssize_t length;
        while ((length = read(atoi(operand), bytes, sizeof bytes)) > 0)
            if (write(STDOUT_FILENO, bytes, (size_t)length) != length) return 3;
    } else if (strcmp(command, "allocate") == 0) {
        // Megabytes, touched.
        size_t bytes = (size_t)atoll(operand) << 20;
        char *memory = malloc(bytes);
        if (memory == NULL) return 12;
        memset(memory, 1, bytes);
        printf("%d\n", memory[bytes - 1]);
    } else if (strcmp(command, "open") == 0) {
        int opened = 0;
        while (opened < atoi(operand) && open("/dev/null", O_RDONLY) >= 0) opened++;
        printf("%d\n", opened);
    } else if (strcmp(command, "spin") == 0) {
        for (volatile unsigned long turns = 0;; turns++) {}
    } else if (strcmp(command, "write") == 0) {
        int file = open(operand, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        char bytes[4096] = {0};
        while (write(file, bytes, sizeof bytes) > 0) {}
    } else if (strcmp(command, "processes") == 0 && count > 3) {
        // As another user, since the limit does not apply to root.
        uid_t user = (uid_t)atoi(arguments[3]);
        if (setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0) return 5;
        int started = 0;
        // A bound of its own, in case that there is no limit.
        while (started < atoi(operand) && started < 500) {
            pid_t pid = fork();
            if (pid < 0) break;
            if (pid == 0) wait_forever();
            started++;
        }
        printf("%d\n", started);
    } else if (strcmp(command, "child") == 0) {
        // A child in the same group, then both wait.
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            announce("child");
            wait_forever();
        }
        announce("ready");
        wait_forever();
    } else if (strcmp(command, "leave") == 0) {
        // Leaves a child in its group.
        int announced[2];
        if (pipe(announced) != 0) return 3;
        if (fork() == 0) {
            announce("child");
            close(announced[1]);
            wait_forever();
        }
        close(announced[1]);
        if (read(announced[0], announced, 1) != 0) return 3;
    } else if (strcmp(command, "daemon") == 0) {
        daemonize(0, arguments[0]);
        announce("ready");
        if (strcmp(operand, "exit") != 0) wait_forever();
    } else if (strcmp(command, "disguise") == 0) {
        daemonize(1, "/proc/self/exe");
        announce("ready");
        if (strcmp(operand, "exit") != 0) wait_forever();
    } else if (strcmp(command, "bomb") == 0 && count > 3) {
        fork_bomb(atoi(operand), (unsigned)atoi(arguments[3]), count > 4);
    } else {
        fprintf(stderr, "unknown command %s\n", command);
        return 64;
    }
    return 0;
}
