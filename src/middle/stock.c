#include "middle/stock.h"

enum {
    /* What the area deals out: a power of two. */
    STOCK_BYTES = sizeof(struct hz3_stock) <= 1024   ? 1024
                  : sizeof(struct hz3_stock) <= 2048 ? 2048
                  : sizeof(struct hz3_stock) <= 4096 ? 4096
                                                     : 8192,
};
_Static_assert(sizeof(struct hz3_stock) <= STOCK_BYTES, "a stock fits");

_Thread_local struct hz3_stock *hz3_stock;
struct hz3_lock hz3_stock_lock;
static struct free_stock {
    struct free_stock *next;
} *free_stocks;

static struct hz3_stock *take(void)
{
    hz3_lock(&hz3_stock_lock);
    struct free_stock *stock = free_stocks;
    if (stock) free_stocks = stock->next;
    hz3_unlock(&hz3_stock_lock);
    if (stock) return (struct hz3_stock *)stock;
    hz3_lock(&hz3_magazine_lock);
    stock = (struct free_stock *)hz3_map_magazines(STOCK_BYTES);
    hz3_unlock(&hz3_magazine_lock);
    return (struct hz3_stock *)stock;
}

struct hz3_stock *hz3_stock_get(void)
{
    if (likely(hz3_stock != NULL)) return hz3_stock;
    struct hz3_stock *stock = take();
    if (!stock) return NULL;
    *stock = (struct hz3_stock){.ring_count = 0};
    for (int i = 0; i < HZ3_STOCK_OUTGOING; i++) stock->outgoing[i] = HZ3_STUB_TOP;
    hz3_fence(memory_order_release); /* statistics look into other threads' */
    return hz3_stock = stock;
}

void hz3_stock_put(struct hz3_stock *stock)
{
    struct free_stock *free_stock = (struct free_stock *)stock;
    hz3_lock(&hz3_stock_lock);
    free_stock->next = free_stocks;
    free_stocks = free_stock;
    hz3_unlock(&hz3_stock_lock);
}
