/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secp256k1.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>

#include <stdlib.h>

static EC_GROUP *curve_new(void)
{
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_secp256k1);
    if (group == NULL)
        abort();
    return group;
}

/* NULL: the bytes are no point of the curve. */
static EC_POINT *read_point(const EC_GROUP *group, const uint8_t bytes[SECP256K1_POINT_SIZE])
{
    EC_POINT *point = EC_POINT_new(group);
    if (point == NULL)
        abort();
    if (EC_POINT_oct2point(group, point, bytes, SECP256K1_POINT_SIZE, NULL) != 1) {
        EC_POINT_free(point);
        return NULL;
    }
    return point;
}

bool secp256k1_is_point(const uint8_t point[SECP256K1_POINT_SIZE])
{
    EC_GROUP *group = curve_new();
    EC_POINT *read = read_point(group, point);
    bool is = read != NULL;
    EC_POINT_free(read);
    EC_GROUP_free(group);
    return is;
}

bool secp256k1_add_base(const uint8_t point[SECP256K1_POINT_SIZE],
                        const uint8_t scalar[SECP256K1_SCALAR_SIZE],
                        uint8_t out[SECP256K1_POINT_SIZE])
{
    EC_GROUP *group = curve_new();
    EC_POINT *sum = read_point(group, point);
    BIGNUM *factor = BN_bin2bn(scalar, SECP256K1_SCALAR_SIZE, NULL);
    BIGNUM *one = BN_new();
    if (factor == NULL || one == NULL || BN_one(one) != 1)
        abort();
    bool done = sum != NULL && BN_cmp(factor, EC_GROUP_get0_order(group)) < 0 &&
                EC_POINT_mul(group, sum, factor, sum, one, NULL) == 1 &&
                EC_POINT_point2oct(group, sum, POINT_CONVERSION_COMPRESSED, out,
                                   SECP256K1_POINT_SIZE, NULL) == SECP256K1_POINT_SIZE;
    BN_free(one);
    BN_free(factor);
    EC_POINT_free(sum);
    EC_GROUP_free(group);
    return done;
}
