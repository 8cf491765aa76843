#include "front/seats.h"

#include "os/lock.h"

static struct {
    bool taken, seen;  /* seen: by the collector, which comes by again */
    uint32_t claimant; /* a thread, as locks name it, or 0 */
    struct hz3_thread cache;
} seats[HZ3_SEATS];

bool hz3_seat_leave(const struct hz3_thread *cache)
{
    unsigned seat = cache->owner % HZ3_SEATS;
    if (seats[seat].taken) return false;
    seats[seat].taken = true;
    seats[seat].seen = false;
    seats[seat].cache = *cache;
    return true;
}

bool hz3_seat_take(struct hz3_thread *self, unsigned owner)
{
    const struct hz3_thread *cache = hz3_seat_look(owner % HZ3_SEATS);
    if (!cache || cache->owner != owner) return false;
    *self = *cache;
    hz3_seat_vacate(owner % HZ3_SEATS);
    return true;
}

struct hz3_thread *hz3_seat_look(unsigned seat)
{
    return seats[seat].taken && !seats[seat].claimant ? &seats[seat].cache : NULL;
}

struct hz3_thread *hz3_seat_claim(unsigned seat, bool all)
{
    struct hz3_thread *cache = hz3_seat_look(seat);
    bool seen = seats[seat].seen;
    seats[seat].seen = true;
    if (!cache || !(seen || all)) return NULL;
    seats[seat].claimant = hz3_lock_self();
    return cache;
}

void hz3_seat_vacate(unsigned seat)
{
    seats[seat].taken = false;
    seats[seat].claimant = 0;
}

void hz3_seats_after_fork(bool whole)
{
    for (unsigned seat = 0; seat < HZ3_SEATS; seat++) {
        uint32_t claimant = seats[seat].claimant;
        if (claimant ? claimant != hz3_lock_self() : !whole) hz3_seat_vacate(seat);
    }
}
