// Proves that hz3.hpp serves a program that is compiled without run-time type information and without exceptions.
#include <memory_resource>
#include <vector>

#include "hz3.hpp"
#include "support.h"

int main()
{
    hz3::heap heap, other;
    hz3::memory_resource resource(heap), different(other);
    std::pmr::vector<int> numbers(100, &resource);
    CHECK(hz3_heap_malloc_usable_size(heap.get(), numbers.data()) >= 100 * sizeof(int));
    CHECK(resource == resource && resource != different && resource != *std::pmr::new_delete_resource());
}
