#include "base/sizeclass.h"

#include "base/layout.h"

uint8_t hz3_class_table_of_malloc[HZ3_SMALL_MAX / HZ3_UNIT + 1];
uint8_t hz3_class_table_hidden[HZ3_SMALL_MAX / HZ3_UNIT + 1];
struct hz3_class_info hz3_class_info[HZ3_CLASS_VALUES];

enum {
    LINEAR_MAX = HZ3_LINEAR_CLASSES * HZ3_UNIT,
    STEPS_PER_DOUBLING = 8,
    LOAD_MAX = 30,           /* slots of a magazine */
    LOAD_MIN = 4,            /* objects in a magazine of the largest class */
    LOAD_BYTES = 512 * 1024, /* aim of one magazine, where 4..30 objects allow it */
};

static size_t next_size(size_t size)
{
    if (size < LINEAR_MAX) return size + HZ3_UNIT;
    size_t doubling = (size_t)1 << (63 - __builtin_clzll(size));
    return size + doubling / STEPS_PER_DOUBLING;
}

/* The least that holds 16 objects, so that the tail wastes under 1/16.  No more: locked memory is paid for by the run.
 */
static unsigned run_granules(size_t size)
{
    unsigned granules = 1;
    while (granules * (size_t)HZ3_GRANULE < 16 * size) granules *= 2;
    return granules;
}

static void fill(uint8_t *table, bool none)
{
    size_t units = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++)
        for (; units <= hz3_class_size(cls) >> HZ3_UNIT_SHIFT; units++)
            table[units] = none ? HZ3_CLASS_NONE : (uint8_t)cls;
}

void hz3_sizeclass_hide(bool hidden)
{
    if (hidden && !hz3_class_table_hidden[1]) fill(hz3_class_table_hidden, false);
    fill(hz3_class_table_of_malloc, hidden);
}

void hz3_sizeclass_start(void)
{
    size_t size = HZ3_UNIT;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++, size = next_size(size)) {
        unsigned granules = run_granules(size);
        size_t load = LOAD_BYTES / size;
        hz3_class_info[cls] = (struct hz3_class_info){
            .size = (uint32_t)size,
            .granules = (uint16_t)granules,
            .objects = (uint16_t)(granules * (size_t)HZ3_GRANULE / size),
            .magic = (((uint64_t)1 << 40) + size - 1) / size,
            .load = (uint8_t)hz3_max(LOAD_MIN, hz3_min(load, LOAD_MAX)),
        };
    }
    hz3_sizeclass_hide(false);
}

unsigned hz3_class_aligned(size_t size, size_t alignment)
{
    if (size > HZ3_SMALL_MAX || alignment > HZ3_SMALL_MAX) return 0;
    unsigned cls = hz3_class_of(hz3_max(size, alignment));
    while (hz3_class_size(cls) & (alignment - 1)) cls++;
    return cls;
}

const struct hz3_place hz3_sizeclass_places[] = {
    HZ3_NUMBER("classes", HZ3_CLASSES),
    HZ3_PLACES("class", hz3_class_info),
    HZ3_PLACE("class.table", hz3_class_table_of_malloc),
    HZ3_FIELD("class.size", struct hz3_class_info, size),
    HZ3_FIELD("class.objects", struct hz3_class_info, objects),
    HZ3_FIELD("class.granules", struct hz3_class_info, granules),
    HZ3_FIELD("class.load", struct hz3_class_info, load),
    HZ3_PLACES_END,
};
