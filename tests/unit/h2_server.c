/* SPDX-License-Identifier: Apache-2.0 */
#include "h2_server.h"

#include "base/bytes.h"
#include "free_port.h"
#include "test_certificate.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES_MAX 1000
#define TRY_MS    20

struct h2_server {
    struct test_certificate certificate;
    char folder[64], path[80];
    unsigned port;
    pid_t pid;
};

static void __attribute__((noreturn)) give_up(const char *why)
{
    fprintf(stderr, "h2_server: %s\n", why);
    abort();
}

static int dial(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static void run(const struct h2_server *server)
{
    char port[16];
    const struct test_certificate *own = &server->certificate;
    snprintf(port, sizeof port, "%u", server->port);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char *const args[] = {(char *)"nghttpd",
                          (char *)"--address=127.0.0.1",
                          (char *)"--htdocs",
                          (char *)(size_t)server->folder,
                          port,
                          (char *)(size_t)own->key_file,
                          (char *)(size_t)own->file,
                          NULL};
    execvp(args[0], args);
    execv("/usr/sbin/nghttpd", args);
    _exit(127);
}

static void await(struct h2_server *server)
{
    int status, fd;
    for (int i = 0; (fd = dial(server->port)) < 0; i++) {
        if (waitpid(server->pid, &status, WNOHANG) == server->pid)
            give_up("nghttpd does not start: install the package nghttp2-server");
        if (i == TRIES_MAX)
            give_up("nghttpd takes no connections");
        poll(NULL, 0, TRY_MS);
    }
    close(fd);
}

struct h2_server *h2_server_new(size_t file_bytes)
{
    struct h2_server *server = memory_new_zeroed(1, sizeof *server);
    test_certificate_make(&server->certificate);
    snprintf(server->folder, sizeof server->folder, "/tmp/h2_server_XXXXXX");
    if (mkdtemp(server->folder) == NULL)
        give_up("no folder");
    snprintf(server->path, sizeof server->path, "%s/file", server->folder);
    int fd = open(server->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)file_bytes) != 0)
        give_up("no file");
    close(fd);
    server->port = free_port();
    if (server->port == 0)
        give_up("no port");
    server->pid = fork();
    if (server->pid == 0)
        run(server);
    if (server->pid < 0)
        give_up("no process");
    await(server);
    return server;
}

void h2_server_free(struct h2_server *server)
{
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
    unlink(server->path);
    rmdir(server->folder);
    test_certificate_remove(&server->certificate);
    free(server);
}

unsigned h2_server_port(const struct h2_server *server)
{
    return server->port;
}

const char *h2_server_ca_file(const struct h2_server *server)
{
    return server->certificate.file;
}
