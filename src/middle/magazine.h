/* A magazine: pointers to free objects of one class.  Free memory moves in magazines only.
 *
 *      256-byte boundary                                        256-byte boundary
 *      |                                                                        |
 *      | header | unused ... | NULL | object | object | object | (room) ... |
 *                              ^floor                   ^top
 *
 * `top` points at the last filled word.  The word at the floor is NULL: a malloc that reads it knows
 * that the magazine is empty.  The word after the last is on a boundary: a free that would write
 * there knows that it is full.  A higher floor makes a smaller magazine.  The stub is a constant magazine
 * that is empty and full at once.  It stands in where a thread has no magazine, so no path asks whether there is one.
 *
 * While a magazine is in a stack, header.top and header.floor say what it holds. */
#pragma once

#include "back/arena.h"
#include "middle/stack.h"
#include "os/lock.h"

enum { HZ3_MAGAZINE_BYTES = 256, HZ3_MAGAZINE_LAST = 31 };

struct hz3_magazine {
    union {
        struct {
            HZ3_ATOMIC(uint32_t) next; /* number of the magazine below in a stack, 0: none */
            uint8_t floor, top;        /* word indices */
            uint16_t key;              /* of an outgoing magazine: owner and class; written by its thread */
        } header;
        void *word[HZ3_MAGAZINE_BYTES / sizeof(void *)];
    };
} __attribute__((aligned(HZ3_MAGAZINE_BYTES)));

_Static_assert(sizeof(void *) == 8, "a magazine holds 30 pointers of 8 bytes");

extern const struct hz3_magazine hz3_magazine_stub;
#define HZ3_STUB_TOP ((void **)&hz3_magazine_stub.word[HZ3_MAGAZINE_LAST])

HZ3_INLINE struct hz3_magazine *hz3_magazine_of(void **top)
{
    return (struct hz3_magazine *)((uintptr_t)top & ~(uintptr_t)(HZ3_MAGAZINE_BYTES - 1));
}

HZ3_INLINE bool hz3_is_full(void **top)
{
    return (uintptr_t)(top + 1) % HZ3_MAGAZINE_BYTES == 0;
}

/* Empties the magazine and gives it room for `capacity` objects (1..30); returns its top. */
HZ3_INLINE void **hz3_magazine_open(struct hz3_magazine *magazine, unsigned capacity)
{
    unsigned floor = HZ3_MAGAZINE_LAST - capacity;
    magazine->header.floor = (uint8_t)floor;
    magazine->word[floor] = NULL;
    return &magazine->word[floor];
}

/* Writes into the magazine what it holds, before it goes to a stack. */
HZ3_INLINE struct hz3_magazine *hz3_magazine_close(void **top)
{
    struct hz3_magazine *magazine = hz3_magazine_of(top);
    magazine->header.top = (uint8_t)(top - magazine->word);
    return magazine;
}

HZ3_INLINE unsigned hz3_magazine_count(const struct hz3_magazine *magazine)
{
    return (unsigned)(magazine->header.top - magazine->header.floor);
}

/* Prefetches its cache lines at once, since another core may have written them; those that malloc reads first come
 * first.  The first line is here already, with the header. */
HZ3_INLINE void hz3_magazine_prefetch(const struct hz3_magazine *magazine)
{
    for (unsigned at = HZ3_MAGAZINE_BYTES - HZ3_CACHE_LINE; at > 0; at -= HZ3_CACHE_LINE)
        __builtin_prefetch((const char *)magazine + at);
}

/* How many objects a magazine has up to `top`; its thread may be changing it. */
HZ3_RACY static inline size_t hz3_magazine_objects(void **top)
{
    const struct hz3_magazine *magazine = hz3_magazine_of(top);
    void *const *floor = &magazine->word[magazine->header.floor];
    return top == HZ3_STUB_TOP || top < floor ? 0 : (size_t)(top - floor);
}

/* The same where nobody changes it, and top is not the stub's. */
HZ3_INLINE unsigned hz3_magazine_filled(void **top)
{
    return (unsigned)((uintptr_t)top % HZ3_MAGAZINE_BYTES / sizeof *top) - hz3_magazine_of(top)->header.floor;
}

/* Numbers start at 1; 0 is no magazine. */
HZ3_INLINE uint32_t hz3_magazine_number(const struct hz3_magazine *magazine)
{
    return (uint32_t)(((uintptr_t)magazine - hz3_magazine_area) / HZ3_MAGAZINE_BYTES + 1);
}

HZ3_INLINE struct hz3_magazine *hz3_magazine_at(uint32_t number)
{
    return (struct hz3_magazine *)(hz3_magazine_area + (number - 1ul) * HZ3_MAGAZINE_BYTES);
}

HZ3_INLINE struct hz3_magazine *hz3_magazine_numbered(uint32_t number)
{
    return number ? hz3_magazine_at(number) : NULL;
}

static inline HZ3_ATOMIC(uint32_t) * hz3_stack_link(uint32_t number)
{
    return &hz3_magazine_at(number)->header.next;
}

HZ3_INLINE struct hz3_stack_chain hz3_magazine_alone(const struct hz3_magazine *magazine)
{
    uint32_t number = hz3_magazine_number(magazine);
    return (struct hz3_stack_chain){number, number, 1};
}

/* The next magazine below, in a chain, or in a stack that was taken whole. */
HZ3_INLINE struct hz3_magazine *hz3_magazine_below(struct hz3_magazine *magazine)
{
    return hz3_magazine_numbered(hz3_get(magazine->header.next));
}

HZ3_INLINE void hz3_stack_push(struct hz3_stack *stack, struct hz3_magazine *magazine)
{
    hz3_stack_put(stack, hz3_magazine_number(magazine));
}

/* Or NULL. */
HZ3_INLINE struct hz3_magazine *hz3_stack_pop(struct hz3_stack *stack)
{
    uint64_t replaced;
    return hz3_magazine_numbered(hz3_stack_take(stack, &replaced));
}

HZ3_INLINE unsigned hz3_stack_count(struct hz3_stack *stack)
{
    return hz3_stack_count_of(hz3_get(stack->head));
}

/* Empty magazines.  `hint` spreads threads over several stacks. */
struct hz3_magazine *hz3_magazine_get(unsigned hint); /* or NULL: no memory */
void hz3_magazine_put(unsigned hint, struct hz3_magazine *magazine);
/* A bundle is several empty magazines that move by one compare-and-swap: linked by word[1], and header.top of the first
 * says how many. */
void hz3_magazine_put_bundle(unsigned hint, struct hz3_magazine *bundle, unsigned count);
struct hz3_magazine *hz3_magazine_carve(void); /* a bundle of memory that was never used, or NULL */
/* Without a lock: an empty magazine if there is one, or NULL.  hz3_magazine_stock_up sees to it that there are some. */
struct hz3_magazine *hz3_magazine_get_ready(unsigned hint);
struct hz3_magazine *hz3_magazine_get_ready_bundle(unsigned hint); /* the same for a bundle */
HZ3_INLINE struct hz3_magazine *hz3_magazine_get_bundle(unsigned hint)
{
    struct hz3_magazine *bundle = hz3_magazine_get_ready_bundle(hint);
    return bundle ? bundle : hz3_magazine_carve();
}
void hz3_magazine_stock_up(void);
extern struct hz3_lock hz3_magazine_lock;            /* for fork */
