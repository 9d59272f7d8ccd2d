/* SPDX-License-Identifier: Apache-2.0
 *
 * test_certificate.h - a certificate for 127.0.0.1 and localhost, made on the spot and good for an
 * hour.
 *
 * It signs itself, so its own file is what a client that shall trust it is given. */
#ifndef TESTS_CERTIFICATE_H
#define TESTS_CERTIFICATE_H

struct test_certificate {
    char file[64], key_file[64]; /* PEM */
};

void test_certificate_make(struct test_certificate *certificate);
void test_certificate_remove(const struct test_certificate *certificate);

#endif
