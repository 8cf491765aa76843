#include "variants/central_magazines.h"

#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/transfer_cache.h"

struct hz3_central_magazines hz3_central_magazines[HZ3_CLASS_VALUES];

static void push_locked(struct hz3_central_magazines *waiting, struct hz3_magazine *magazine)
{
    hz3_lock(&waiting->lock);
    hz3_set(magazine->header.next, waiting->first ? hz3_magazine_number(waiting->first) : 0);
    waiting->first = magazine;
    hz3_set(waiting->count, hz3_get(waiting->count) + 1);
    hz3_unlock(&waiting->lock);
}

static struct hz3_magazine *pop_locked(struct hz3_central_magazines *waiting)
{
    hz3_lock(&waiting->lock);
    struct hz3_magazine *magazine = waiting->first;
    if (magazine) {
        waiting->first = hz3_magazine_below(magazine);
        hz3_set(waiting->count, hz3_get(waiting->count) - 1);
    }
    hz3_unlock(&waiting->lock);
    return magazine;
}

static unsigned count(struct hz3_central_magazines *waiting)
{
    return HZ3_S142_CENTRAL_LOCKFREE ? hz3_stack_count(&waiting->stack) : hz3_get(waiting->count);
}

size_t hz3_central_waiting(void)
{
    size_t bytes = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++)
        bytes += count(&hz3_central_magazines[cls]) * hz3_class_size(cls) * hz3_class_info[cls].load;
    return bytes;
}

bool hz3_central_put_magazine(unsigned cls, struct hz3_magazine *magazine)
{
    struct hz3_central_magazines *waiting = &hz3_central_magazines[cls];
    if (count(waiting) >= HZ3_STACK_MAX) return false;
    if (HZ3_S142_CENTRAL_LOCKFREE)
        hz3_stack_push(&waiting->stack, magazine);
    else
        push_locked(waiting, magazine);
    return true;
}

struct hz3_magazine *hz3_central_get_magazine(unsigned cls)
{
    struct hz3_central_magazines *waiting = &hz3_central_magazines[cls];
    if (!count(waiting)) return NULL;
    return HZ3_S142_CENTRAL_LOCKFREE ? hz3_stack_pop(&waiting->stack) : pop_locked(waiting);
}

void hz3_central_trim(unsigned cls, bool all)
{
    unsigned there = count(&hz3_central_magazines[cls]), most = all ? there : (there + 1) / 2;
    struct hz3_magazine *magazine;
    while (most-- && (magazine = hz3_central_get_magazine(cls))) hz3_central_take_apart(cls, magazine);
}

size_t hz3_central_cached(unsigned cls)
{
    struct hz3_central_magazines *waiting = &hz3_central_magazines[cls];
    size_t objects = 0;
    if (HZ3_S142_CENTRAL_LOCKFREE) return hz3_transfer_count(cls, &waiting->stack);
    hz3_lock(&waiting->lock);
    for (struct hz3_magazine *magazine = waiting->first; magazine; magazine = hz3_magazine_below(magazine))
        objects += hz3_magazine_count(magazine);
    hz3_unlock(&waiting->lock);
    return objects;
}

void hz3_central_each_magazines_lock(void (*visit)(struct hz3_lock *lock))
{
    for (unsigned cls = 1; !HZ3_S142_CENTRAL_LOCKFREE && cls <= HZ3_CLASSES; cls++)
        visit(&hz3_central_magazines[cls].lock);
}
