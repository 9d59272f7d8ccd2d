/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/command_line.h"

#include <signal.h>
#include <stdio.h>

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    uv_stop(handle->loop);
}

static void save_certificate(const struct sim *sim, const char *path)
{
    struct bytes certificate = tls_keys_certificate(sim->keys);
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(certificate.data, 1, certificate.len, file) != certificate.len ||
        fclose(file) != 0)
        command_line_fail("cannot write the file of --tls-save");
}

int main(int argc, char **argv)
{
    struct command_line line;
    struct sim sim;
    struct err err;
    uv_loop_t loop;
    uv_signal_t on_term, on_int;
    char address[64];
    command_line_read(&line, argc, argv);
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&loop);
    if (sim_start(&sim, &loop, &line.options, &err) != RC_OK) {
        fprintf(stderr, "tidemark-sim: %s\n", err.text);
        return 1;
    }
    sim.faults = line.faults;
    sim_faults_changed(&sim);
    uv_signal_init(&loop, &on_term);
    uv_signal_init(&loop, &on_int);
    uv_signal_start(&on_term, on_signal, SIGTERM);
    uv_signal_start(&on_int, on_signal, SIGINT);
    if (line.tls_save != NULL)
        save_certificate(&sim, line.tls_save);
    sim_address(&sim, address);
    puts(address);
    if (sim.plain != NULL) {
        sim_plain_address(&sim, address);
        puts(address);
    }
    fflush(stdout);
    uv_run(&loop, UV_RUN_DEFAULT);
    sim_stop(&sim);
    uv_close((uv_handle_t *)&on_term, NULL);
    uv_close((uv_handle_t *)&on_int, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    sim_deinit(&sim);
    return uv_loop_close(&loop) == 0 ? 0 : 1;
}
