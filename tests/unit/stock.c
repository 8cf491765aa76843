/* A thread's stock: made when it is first needed, empty, and somebody else's when it is given up. */
#include "unit.h"

#include "middle/stock.h"

static void it_is_made_once_and_empty(void **state)
{
    (void)state;
    assert_null(hz3_stock);
    struct hz3_stock *stock = hz3_stock_get();
    assert_non_null(stock);
    assert_ptr_equal(hz3_stock_get(), stock);
    for (int i = 0; i < HZ3_STOCK_OUTGOING; i++) assert_ptr_equal(stock->outgoing[i], HZ3_STUB_TOP);
    for (int i = 0; i < HZ3_STOCK_SPILL; i++) assert_null(stock->spill[i].first);
    for (int i = 0; i < HZ3_STOCK_CENTRAL; i++) assert_null(stock->central[i]);
    assert_int_equal(stock->ring_count, 0);
}

static void it_is_empty_again_for_the_next(void **state)
{
    (void)state;
    struct hz3_stock *stock = hz3_stock_get();
    stock->ring_first = 7;
    for (int i = 0; i < HZ3_STOCK_RING; i++) stock->ring[i] = stock;
    hz3_stock_put(stock);
    hz3_stock = NULL;
    assert_ptr_equal(hz3_stock_get(), stock);
    assert_int_equal(stock->ring_first, 0);
    for (int i = 0; i < HZ3_STOCK_RING; i++) assert_null(stock->ring[i]);
    for (int i = 0; i < HZ3_STOCK_OUTGOING; i++) assert_ptr_equal(stock->outgoing[i], HZ3_STUB_TOP);
}

RUN(cmocka_unit_test(it_is_made_once_and_empty), cmocka_unit_test(it_is_empty_again_for_the_next))
