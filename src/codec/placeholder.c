/* placeholder: the values of the two tags, and the generator of UUIDs: within a millisecond it adds
 * a random step to a counter, which carries into the time when it is used up, so that UUIDs always
 * grow. */
#include "codec/placeholder.h"

#define LOW_MASK ((1ULL << 62) - 1)
#define HIGH_MAX 0xfffu

static bool read_number(struct json *j, unsigned *n)
{
    struct json_number number = {.is_negative = true};
    uint8_t c = json_peek(j);
    const uint8_t *from = j->at;
    bool is_good = c >= '0' && c <= '9';
    if (is_good && !json_number_scan(j, &number)) return false;
    is_good = is_good && number.is_integer && number.digit_count <= 9 &&
              number.magnitude < UUID_NUMBERS;
    if (!is_good) {
        return json_fail(j, from, "$uuidv7 must be an integer from 0 to %d", UUID_NUMBERS - 1);
    }
    *n = (unsigned)number.magnitude;
    return true;
}

bool placeholder_read(struct json *j, const struct placeholders *p, bool is_uuid,
                      char out[UUID_CHARS], size_t *len)
{
    unsigned n = 0;
    (void)json_peek(j);
    if (p == NULL) return json_fail(j, j->at, "placeholders are not supported here");
    if (is_uuid) {
        if (!read_number(j, &n)) return false;
        p->uuid(p->arg, n, out);
        *len = UUID_CHARS;
        return true;
    }
    if (!json_take_word(j, "true")) return json_fail(j, j->at, "$versionstamp must be true");
    p->versionstamp(p->arg, out);
    *len = VERSIONSTAMP_CHARS;
    return true;
}

void uuid_next(struct uuid_clock *c, int64_t now_ms, const uint8_t random[10],
               uint8_t out[UUID_BYTES])
{
    uint64_t low = 0;
    uint16_t high = 0;
    memcpy(&low, random, 8);
    memcpy(&high, random + 8, 2);
    if (now_ms > c->time_ms) {
        c->time_ms = now_ms;
        c->high = high & (HIGH_MAX >> 1); /* half of the room is left to count in */
        c->low = low & LOW_MASK;
    } else {
        c->low += (low & 0xffffffff) + 1;
        if (c->low > LOW_MASK) {
            c->low &= LOW_MASK;
            c->high++;
        }
        if (c->high > HIGH_MAX) {
            c->high = 0;
            c->time_ms++;
        }
    }
    uint64_t time = (uint64_t)c->time_ms;
    for (int i = 0; i < 6; i++) out[i] = (uint8_t)(time >> (40 - 8 * i));
    out[6] = (uint8_t)(0x70 | c->high >> 8);
    out[7] = (uint8_t)c->high;
    uint64_t tail = 0x8000000000000000ULL | c->low;
    for (int i = 0; i < 8; i++) out[8 + i] = (uint8_t)(tail >> (56 - 8 * i));
}

void uuid_format(const uint8_t uuid[UUID_BYTES], char out[UUID_CHARS])
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (int i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out[at++] = '-';
        out[at++] = digits[uuid[i] >> 4];
        out[at++] = digits[uuid[i] & 15];
    }
}
