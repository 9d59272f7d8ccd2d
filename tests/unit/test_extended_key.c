/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys and addresses are those published with BIP32, BIP44, BIP49 and BIP84. */
#include "decode/extended_key.h"

#include "base/base58.h"
#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define XPUB                                                                                       \
    "xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekk"  \
    "udhUd9yLb6qx39T9nMdj"
#define YPUB                                                                                       \
    "ypub6Ww3ibxVfGzLrAH1PNcjyAWenMTbbAosGNB6VvmSEgytSER9azLDWCxoJwW7Ke7icmizBMXrzBx9979FfaHxHcr"  \
    "Arf3zbeJJJUZPf663zsP"
#define ZPUB                                                                                       \
    "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31"  \
    "mGDtKsAYz2oz2AGutZYs"

static void read_key(const char *text, struct extended_key *key)
{
    struct err err;
    if (extended_key_read(bytes_of(text), key, &err) != RC_OK)
        fail_msg("%s: %s", text, err.text);
}

/* BIP32, test vector 1: the derivations that need no private key. */
static void children_are_the_published_ones(void **state)
{
    static const struct {
        const char *parent, *child;
        uint32_t number;
    } vectors[] = {
        {"xpub68Gmy5EdvgibQVfPdqkBBCHxA5htiqg55crXYuXoQRKfDBFA1WEjWgP6LHhwBZeNK1VTsfTFUHCdrfp1bgwQ9"
         "xv5ski8PX9rL2dZXvgGDnw",
         "xpub6ASuArnXKPbfEwhqN6e3mwBcDTgzisQN1wXN9BJcM47sSikHjJf3UFHKkNAWbWMiGj7Wf5uMash7SyYq527Hq"
         "ck2AxYysAA7xmALppuCkwQ",
         1},
        {"xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu"
         "4trkrX7x7DogT5Uv6fcLW5",
         "xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62c"
         "fN7fe5JnJ7dh8zL4fiyLHV",
         2},
        {"xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62c"
         "fN7fe5JnJ7dh8zL4fiyLHV",
         "xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasT"
         "vXEYBVPamhGW6cFJodrTHy",
         1000000000},
    };
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct extended_key parent, expected, child;
        read_key(vectors[i].parent, &parent);
        read_key(vectors[i].child, &expected);
        assert_true(extended_key_child(&parent, vectors[i].number, &child));
        assert_memory_equal(child.point, expected.point, sizeof child.point);
        assert_memory_equal(child.chain_code, expected.chain_code, sizeof child.chain_code);
    }
}

static void addresses_look_as_the_key_is_spelt(void **state)
{
    static const struct {
        const char *key;
        uint32_t chain, number;
        const char *address;
    } vectors[] = {
        {XPUB, 0, 0, "1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA"},
        {XPUB, 0, 1, "1Ak8PffB2meyfYnbXZR9EGfLfFZVpzJvQP"},
        {XPUB, 1, 0, "1J3J6EvPrv8q6AC3VCjWV45Uf3nssNMRtH"},
        {YPUB, 0, 0, "37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf"},
        {ZPUB, 0, 0, "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu"},
        {ZPUB, 0, 1, "bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g"},
        {ZPUB, 1, 0, "bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el"},
    };
    struct text address = {0};
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct extended_key key, chain;
        read_key(vectors[i].key, &key);
        assert_true(extended_key_child(&key, vectors[i].chain, &chain));
        text_clear(&address);
        assert_true(extended_key_address(&chain, vectors[i].number, &address));
        assert_string_equal(text_string(&address), vectors[i].address);
    }
    text_free(&address);
}

static void what_is_no_public_key_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "zpub",
        /* one letter changed */
        "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf"
        "31mGDtKsAYz2oz2AGutZYt",
        /* BIP32, test vector 5: a private key under a public version, and no point of the curve */
        "xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6LBpB85b3D2yc8sfvZU521AAwdZaf"
        "Ez7mnzBBsz4wKY5e4cp9LB",
        "xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6Q5JXayek4PRsn35jii4veMimro1x"
        "efsM58PgBMrvdYre8QyULY",
    };
    struct extended_key key;
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(extended_key_read(bytes_of(wrong[i]), &key, &err), RC_REJECT);
}

static void a_private_key_is_refused_and_not_repeated(void **state)
{
    static const char secret[] =
        "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3"
        "TGtRBeJgk33yuGBxrMPHi";
    struct extended_key key;
    struct err err;
    (void)state;
    assert_true(extended_key_is(bytes_of(secret)));
    assert_int_equal(extended_key_read(bytes_of(secret), &key, &err), RC_REJECT);
    assert_non_null(strstr(err.text, "private"));
    assert_null(strstr(err.text, "xprv9s21"));
}

static void an_address_is_no_extended_key(void **state)
{
    (void)state;
    assert_true(extended_key_is(bytes_of(ZPUB)));
    assert_false(extended_key_is(bytes_of("bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu")));
    assert_false(extended_key_is(bytes_of("1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA")));
}

static void zeros_in_front_are_ones(void **state)
{
    static const uint8_t payload[21] = {0};
    uint8_t back[21];
    struct text text = {0};
    (void)state;
    base58_check_encode(bytes_make(payload, sizeof payload), &text);
    assert_string_equal(text_string(&text), "1111111111111111111114oLvT2");
    assert_true(base58_check_decode(text_bytes(&text), back, sizeof back));
    assert_memory_equal(back, payload, sizeof back);
    /* One more, or one less, is another text for the same number. */
    assert_false(base58_check_decode(bytes_make(text.data + 1, text.len - 1), back, sizeof back));
    assert_false(base58_check_decode(text_bytes(&text), back, sizeof back - 1));
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_the_published_ones),
        cmocka_unit_test(addresses_look_as_the_key_is_spelt),
        cmocka_unit_test(what_is_no_public_key_is_refused),
        cmocka_unit_test(a_private_key_is_refused_and_not_repeated),
        cmocka_unit_test(an_address_is_no_extended_key),
        cmocka_unit_test(zeros_in_front_are_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
