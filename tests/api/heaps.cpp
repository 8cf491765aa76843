// Proves that containers work in a heap of hz3.hpp, and that all they hold is gone with it.
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "hz3.hpp"
#include "support.h"

static bool lies_in(const hz3::heap &heap, const void *p)
{
    return hz3_heap_malloc_usable_size(heap.get(), p) > 0; // ends the process where it does not
}

static void containers()
{
    hz3::heap heap, other;
    std::vector<int, hz3::allocator<int>> numbers(heap);
    std::map<int, int, std::less<>, hz3::allocator<std::pair<const int, int>>> tree{heap};
    std::list<int, hz3::allocator<int>> list(heap);
    for (int i = 0; i < 10000; i++) {
        numbers.push_back(i);
        tree[i] = i;
        list.push_back(i);
    }
    for (int i = 0; i < 10000; i++) CHECK(numbers[(size_t)i] == i && tree[i] == i);
    CHECK(lies_in(heap, numbers.data()));
    std::vector<int, hz3::allocator<int>> copy(numbers), moved(other), kept(other);
    CHECK(lies_in(heap, copy.data()));
    moved = std::move(copy);
    kept = numbers;
    CHECK(lies_in(heap, moved.data()) && lies_in(other, kept.data()));
    std::swap(moved, kept);
    CHECK(lies_in(other, moved.data()) && lies_in(heap, kept.data()) && moved == kept);
    CHECK(numbers.get_allocator() == kept.get_allocator() && numbers.get_allocator() != moved.get_allocator());
    CHECK(numbers.get_allocator() == tree.get_allocator() && tree.get_allocator() != moved.get_allocator());
}

static void polymorphic_containers()
{
    hz3::heap heap, other;
    hz3::memory_resource resource(heap), same(heap.get()), different(other);
    CHECK(resource == same && resource != different && resource != *std::pmr::new_delete_resource());
    auto *words = new (hz3_heap_malloc(heap.get(), sizeof(std::pmr::unordered_map<std::pmr::string, int>)))
        std::pmr::unordered_map<std::pmr::string, int>(&resource);
    for (int i = 0; i < 10000; i++)
        (*words)[std::pmr::string("a word that is too long for its string ") + std::to_string(i).c_str()] = i;
    CHECK(words->size() == 10000 && lies_in(heap, words->begin()->first.data()));
    struct alignas(256) wide {
        char bytes[256];
    };
    std::pmr::vector<wide> aligned(3, &resource);
    CHECK((uintptr_t)aligned.data() % 256 == 0);
} // the map is gone with its heap

static void what_cannot_be_had_throws()
{
    hz3::heap heap;
    hz3::allocator<long> longs(heap);
    int thrown = 0;
    try {
        (void)longs.allocate(SIZE_MAX / 2);
    } catch (const std::bad_array_new_length &) {
        thrown++;
    }
    try {
        (void)longs.allocate(SIZE_MAX / 16);
    } catch (const std::bad_alloc &) {
        thrown++;
    }
    try {
        (void)hz3::memory_resource(heap).allocate(SIZE_MAX / 2);
    } catch (const std::bad_alloc &) {
        thrown++;
    }
    CHECK(thrown == 3);
}

static void heaps_move()
{
    hz3::heap heap, other;
    void *p = hz3_heap_malloc(heap.get(), 100);
    hz3::heap to(std::move(heap));
    CHECK(!heap.get() && lies_in(to, p));
    heap = std::move(to);
    CHECK(!to.get() && lies_in(heap, p));
    other = std::move(heap);
    CHECK(lies_in(other, p));
}

int main()
{
    containers();
    polymorphic_containers();
    what_cannot_be_had_throws();
    std::thread(heaps_move).join();
}
