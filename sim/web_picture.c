/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/web_picture.h"

#include "sim/sim.h"

#include <string.h>

#define WIDTH      32u
#define HEIGHT     18u
#define LINE       (WIDTH + 1) /* each begins with how it was filtered */
#define HUGE_BYTES 4194304u
#define PNG        "image/png"
#define MAGIC      "\x89PNG\r\n\x1a\n"
/* Nobody's, and on this machine: a client that follows it leaves nothing outside. */
#define INWARD "Location: http://127.0.0.9:9/inside\r\n"

/* ---- drawing ---- */

static void put_u32(struct text *out, uint32_t value)
{
    const char bytes[] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8),
                          (char)value};
    text_append(out, bytes, sizeof bytes);
}

static uint32_t crc_of(struct bytes bytes)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= (unsigned char)bytes.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static uint32_t adler_of(struct bytes bytes)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        a = (a + (unsigned char)bytes.data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static void put_chunk(struct text *out, const char *name, struct bytes content)
{
    put_u32(out, (uint32_t)content.len);
    size_t begin = out->len;
    text_append(out, name, 4);
    text_append(out, content.data, content.len);
    put_u32(out, crc_of(bytes_make(out->data + begin, out->len - begin)));
}

/* Not packed at all: one stored block. */
static void put_pixels(struct text *out, const unsigned char *pixels, size_t len)
{
    struct text stream = {0};
    const char head[] = {
        0x78, 0x01, 0x01, (char)len, (char)(len >> 8), (char)~len, (char)(~len >> 8)};
    struct bytes raw = bytes_make((const char *)pixels, len);
    text_append(&stream, head, sizeof head);
    text_append(&stream, raw.data, raw.len);
    put_u32(&stream, adler_of(raw));
    put_chunk(out, "IDAT", text_bytes(&stream));
    text_free(&stream);
}

static void draw(uint32_t id, struct text *out)
{
    static const char head[] = {0, 0, 0, WIDTH, 0, 0, 0, HEIGHT, 8, 3, 0, 0, 0};
    uint32_t hue = id * 2654435761u;
    const char palette[] = {(char)(hue >> 24),  (char)(hue >> 16),  (char)(hue >> 8),
                            (char)~(hue >> 25), (char)~(hue >> 17), (char)(hue >> 9)};
    unsigned char pixels[HEIGHT * LINE] = {0};
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++) {
            uint32_t turn = (x + id) % 16;
            pixels[y * LINE + 1 + x] = y > HEIGHT / 2 + (turn < 8 ? turn : 16 - turn) / 2;
        }
    text_append(out, MAGIC, sizeof MAGIC - 1);
    put_chunk(out, "IHDR", bytes_make(head, sizeof head));
    put_chunk(out, "PLTE", bytes_make(palette, sizeof palette));
    put_pixels(out, pixels, sizeof pixels);
    put_chunk(out, "IEND", bytes_make("", 0));
}

void web_picture_reply(struct http_exchange *exchange, uint32_t id)
{
    struct text png = {0};
    draw(id, &png);
    http_reply(exchange, 200, PNG, NULL, text_bytes(&png));
    text_free(&png);
}

/* ---- in place of a picture ---- */

static void reply_good(struct http_exchange *exchange, struct sim *sim, uint32_t id)
{
    (void)sim;
    web_picture_reply(exchange, id);
}

static void reply_huge(struct http_exchange *exchange, struct sim *sim, uint32_t id)
{
    struct text png = {0};
    (void)sim;
    draw(id, &png);
    memset(text_reserve(&png, HUGE_BYTES), 0, HUGE_BYTES);
    png.len += HUGE_BYTES;
    http_reply(exchange, 200, PNG, NULL, text_bytes(&png));
    text_free(&png);
}

static void reply_html(struct http_exchange *exchange, struct sim *sim, uint32_t id)
{
    (void)sim, (void)id;
    http_reply(exchange, 200, PNG, NULL,
               bytes_of("<!doctype html><script>document.title = 'taken'</script>"));
}

static void reply_svg(struct http_exchange *exchange, struct sim *sim, uint32_t id)
{
    (void)sim, (void)id;
    http_reply(exchange, 200, "image/svg+xml", NULL,
               bytes_of("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\">"
                        "<script>document.title = 'taken'</script></svg>"));
}

static void reply_slow(struct http_exchange *exchange, struct sim *sim, uint32_t id)
{
    peer_stall(http_exchange_peer(exchange), sim->options.slow_page_ms);
    web_picture_reply(exchange, id);
}

static void reply_inward(struct http_exchange *exchange, struct sim *sim, uint32_t id)
{
    (void)sim, (void)id;
    http_reply(exchange, 302, "text/plain", INWARD, bytes_of("moved\n"));
}

static const struct {
    const char *name;
    void (*reply)(struct http_exchange *exchange, struct sim *sim, uint32_t id);
} kinds[] = {
    {"good", reply_good}, {"huge", reply_huge}, {"html", reply_html},
    {"svg", reply_svg},   {"slow", reply_slow}, {"inward", reply_inward},
};

void web_picture_get(struct http_exchange *exchange, void *arg)
{
    struct bytes path = http_exchange_request(exchange)->path;
    const char *begin = path.data + strlen("/picture/"), *end = path.data + path.len;
    const char *slash = memchr(begin, '/', (size_t)(end - begin));
    uint64_t id;
    for (size_t i = 0; slash != NULL && i < sizeof kinds / sizeof kinds[0]; i++)
        if (bytes_equal_string(bytes_make(begin, (size_t)(slash - begin)), kinds[i].name) &&
            bytes_to_u64(bytes_make(slash + 1, (size_t)(end - slash - 1)), &id)) {
            kinds[i].reply(exchange, arg, (uint32_t)id);
            return;
        }
    http_reply_text(exchange, 404, "there is no such picture\n");
}

/* Every address has one. */
void web_picture_thumb(struct http_exchange *exchange, void *arg)
{
    (void)arg;
    web_picture_reply(exchange, crc_of(http_exchange_request(exchange)->path));
}
