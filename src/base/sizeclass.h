/* Size classes: HZ3_SMALL_NUM_SC steps of 16 bytes, then 8 to each doubling up to 64 KiB; they waste at most 12.5 %.
 * More steps of 16 bytes cost far more memory, in runs that stay half empty, than they save. */
#pragma once

#include "base/types.h"

struct hz3_class_info {
    uint32_t size;     /* bytes of one object */
    uint16_t granules; /* of one run: its tail wastes under 1/16 */
    uint16_t objects;  /* in one run: at most HZ3_GRANULE / 16 per granule of its span */
    uint64_t magic;    /* ceil(2^40 / size): offset / size == offset * magic >> 40 for offsets < 1 MiB */
    uint8_t load;      /* objects a full magazine of this class holds */
};

/* The class of a size in units, rounded up, for malloc's fast path.  It is HZ3_CLASS_NONE for every size before
 * hz3_sizeclass_start and while it is hidden.  That class never has a magazine, so malloc then takes the slow path. */
extern HZ3_HIDDEN uint8_t hz3_class_table_of_malloc[HZ3_SMALL_MAX / HZ3_UNIT + 1];
extern HZ3_HIDDEN struct hz3_class_info hz3_class_info[HZ3_CLASS_VALUES];

void hz3_sizeclass_start(void);
/* The true table, never hidden; filled when the other one is hidden for the first time. */
extern HZ3_HIDDEN uint8_t hz3_class_table_hidden[HZ3_SMALL_MAX / HZ3_UNIT + 1];
/* Hides the classes from malloc's fast path, or shows them again.  May be called at any time. */
void hz3_sizeclass_hide(bool hidden);

HZ3_INLINE size_t hz3_units_of(size_t size)
{
    return (size + HZ3_UNIT - 1) >> HZ3_UNIT_SHIFT;
}

/* The class of a size <= HZ3_SMALL_MAX, computed, for slow paths; size 0 gets the smallest class. */
HZ3_INLINE unsigned hz3_class_of(size_t size)
{
    size_t units = hz3_units_of(size);
    if (units <= HZ3_LINEAR_CLASSES) return (unsigned)hz3_max(units, 1);
    unsigned doubling = 63 - (unsigned)__builtin_clzll(units - 1), first = __builtin_ctz(HZ3_LINEAR_CLASSES);
    unsigned step = (unsigned)((units - 1) >> (doubling - 3)) - 8;
    return HZ3_LINEAR_CLASSES + 8 * (doubling - first) + step + 1;
}

HZ3_INLINE size_t hz3_class_size(unsigned cls)
{
    return hz3_class_info[cls].size;
}

/* The smallest class whose objects hold `size` bytes and all start at multiples of `alignment` (a power of two <= 64
 * KiB); 0: there is none.  A run starts at a granule, so the alignment only has to divide the size. */
unsigned hz3_class_aligned(size_t size, size_t alignment);
