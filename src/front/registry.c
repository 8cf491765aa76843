#define _GNU_SOURCE
#include "front/registry.h"

#include "os/libc.h"

enum { BUCKETS = 1024, FIRST_WORD = 2 /* of a magazine: its header stays as stacks want it */ };
_Static_assert(sizeof(struct hz3_registry_entry) <= HZ3_MAGAZINE_BYTES - FIRST_WORD * sizeof(void *),
               "it fits a magazine");

struct hz3_registry_entry *hz3_registry, *hz3_registry_next[HZ3_WALKS];
HZ3_ATOMIC(bool) hz3_threads_several;
static struct hz3_registry_entry *buckets[BUCKETS];

static struct hz3_registry_entry **bucket_of(const struct hz3_thread *thread)
{
    return &buckets[((uintptr_t)thread >> 12) * 0x9e3779b97f4a7c15u >> 54];
}

void hz3_registry_hold(struct hz3_registry_entry *entry)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    hz3_libc_make_robust(&kind);
    pthread_mutex_init(&entry->there, &kind);
    pthread_mutex_lock(&entry->there);
}

struct hz3_registry_entry *hz3_registry_open(void)
{
    struct hz3_magazine *magazine = hz3_magazine_get(0);
    if (!magazine) return NULL;
    struct hz3_registry_entry *entry = (struct hz3_registry_entry *)&magazine->word[FIRST_WORD];
    hz3_registry_hold(entry);
    return entry;
}

void hz3_registry_close(struct hz3_registry_entry *entry)
{
    pthread_mutex_unlock(&entry->there);
}

struct hz3_registry_entry *hz3_registry_add(struct hz3_registry_entry *entry, struct hz3_thread *thread,
                                            struct hz3_heap *heap)
{
    struct hz3_registry_entry **bucket = bucket_of(thread), *earlier = *bucket;
    while (earlier && earlier->thread != thread) earlier = earlier->same_bucket;
    entry->thread = thread;
    entry->heap = heap;
    entry->gate_slot = 0;
    hz3_set(entry->claimed, 0);
    entry->same_bucket = *bucket;
    *bucket = entry;
    entry->prev = NULL;
    entry->next = hz3_registry;
    if (hz3_registry) hz3_registry->prev = entry;
    hz3_registry = entry;
    return earlier;
}

void hz3_registry_remove(struct hz3_registry_entry *entry)
{
    struct hz3_registry_entry **link = bucket_of(entry->thread);
    while (*link != entry) link = &(*link)->same_bucket;
    *link = entry->same_bucket;
    *(entry->prev ? &entry->prev->next : &hz3_registry) = entry->next;
    if (entry->next) entry->next->prev = entry->prev;
    for (int i = 0; i < HZ3_WALKS; i++)
        if (hz3_registry_next[i] == entry) hz3_registry_next[i] = entry->next;
    hz3_magazine_put(0, (struct hz3_magazine *)hz3_registry_memory(entry));
}

void *hz3_registry_memory(struct hz3_registry_entry *entry)
{
    return hz3_magazine_of((void **)entry);
}

bool hz3_registry_is_gone(struct hz3_registry_entry *entry)
{
    return hz3_libc_owner_died(&entry->there);
}

void hz3_registry_keep(struct hz3_registry_entry *own)
{
    hz3_registry = own;
    for (int i = 0; i < HZ3_WALKS; i++) hz3_registry_next[i] = NULL;
    for (unsigned i = 0; i < BUCKETS; i++)
        if (buckets[i]) buckets[i] = NULL;
    if (!own) return;
    *bucket_of(own->thread) = own;
    own->next = own->prev = own->same_bucket = NULL;
}
