/* SPDX-License-Identifier: Apache-2.0
 *
 * ws_upgrade.h - the HTTP exchange that opens a websocket, as bytes.
 *
 * Pure: writes the request, reads the answer, touches no socket. No extension and no subprotocol is
 * offered, so an answer that names one is refused, as is one whose key does not match. */
#ifndef SYS_WS_UPGRADE_H
#define SYS_WS_UPGRADE_H

#include "sys/runtime.h"

#define WS_UPGRADE_HEAD_MAX      16384
#define WS_UPGRADE_BODY_MAX      1024
#define WS_UPGRADE_KEY_SIZE      32
#define WS_UPGRADE_PROTOCOL_SIZE 64

struct ws_upgrade {
    char key[WS_UPGRADE_KEY_SIZE], accept[WS_UPGRADE_KEY_SIZE]; /* what we say, what we want */
    char protocol[WS_UPGRADE_PROTOCOL_SIZE]; /* the one subprotocol we offer; "": none */
};

/* What a server answers to a client's key. */
void ws_upgrade_accept(struct bytes key, char accept[WS_UPGRADE_KEY_SIZE]);
/* `nonce` is 16 random bytes. */
void ws_upgrade_init(struct ws_upgrade *upgrade, const uint8_t nonce[16]);

/* The http(s) address that stands for `url`; RC_REJECT when it is no usable ws:// or wss:// URL. */
must_check enum rc ws_upgrade_url(const char *url, struct text *http_url, struct err *err);

/* Appends the request for `http_url`. RC_REJECT when a header could break out of its line. */
must_check enum rc ws_upgrade_write(struct ws_upgrade *upgrade, const char *http_url,
                                    const struct ws_request *request, struct text *out,
                                    struct err *err);

/* Looks at what came so far. RC_AGAIN: more is needed (`*status` is known once it is not 0).
 * RC_OK: open; the first `*head_len` bytes are the answer, frames follow. RC_RETRY: refused;
 * `*status` is the server's or 0, and `body` gets the first bytes of its body. `ended`: no more
 * will come. */
must_check enum rc ws_upgrade_read(const struct ws_upgrade *upgrade, struct bytes answer,
                                   bool ended, size_t *head_len, int *status, struct text *body,
                                   struct err *err);
/* Of an answer that is a refusal: tells `events` how long to wait, if it says so. */
void ws_upgrade_tell_wait(struct bytes answer, struct runtime *runtime,
                          const struct ws_events *events, void *arg);

#endif
