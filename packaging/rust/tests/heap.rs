//! A heap as an allocator of the crate allocator-api2.

use allocator_api2::alloc::{Allocator, Layout};
use allocator_api2::{boxed::Box, vec::Vec};
use hz3::Heap;

fn in_heaps() -> u64 {
    let mut buffer = [0; 8192];
    let length = hz3::stats_json(&mut buffer);
    let text = std::str::from_utf8(&buffer[..length]).unwrap();
    let value = text.split("\"in_heaps\":").nth(1).unwrap();
    value.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn collections_live_in_it_and_go_with_it() {
    let heap = Heap::new().unwrap();
    let mut numbers = Vec::new_in(&heap);
    for number in 0..3_000_000u64 {
        numbers.push(number);
    }
    assert!(numbers.iter().enumerate().all(|(at, number)| at as u64 == *number));
    assert!(in_heaps() >= 3_000_000 * 8);
    numbers.truncate(10);
    numbers.shrink_to_fit();
    let boxed = Box::new_in([7u8; 100], &heap);
    assert_eq!((numbers[9], boxed[99]), (9, 7));
    std::mem::forget((numbers, boxed)); // the heap frees them
    drop(heap);
    assert!(in_heaps() < 3_000_000);
}

#[test]
fn blocks_keep_content_and_alignment() {
    let heap = &Heap::new().unwrap();
    for align in [1, 8, 16, 64, 4096, 1 << 17] {
        for size in [0, 1, 100, 5000, 200_000] {
            let (old, new) = (Layout::from_size_align(size, align).unwrap(), Layout::from_size_align(3 * size, align).unwrap());
            unsafe {
                let dirty = heap.allocate(new).unwrap().cast::<u8>();
                dirty.as_ptr().write_bytes(0xff, 3 * size);
                heap.deallocate(dirty, new);
                let block = heap.allocate_zeroed(old).unwrap().cast::<u8>();
                assert!(std::slice::from_raw_parts(block.as_ptr(), size).iter().all(|byte| *byte == 0));
                block.as_ptr().write_bytes(5, size);
                let grown = heap.grow_zeroed(block, old, new).unwrap().cast::<u8>();
                assert_eq!(grown.as_ptr() as usize % align, 0);
                let bytes = std::slice::from_raw_parts(grown.as_ptr(), 3 * size);
                assert!(bytes[..size].iter().all(|byte| *byte == 5) && bytes[size..].iter().all(|byte| *byte == 0));
                let shrunk = heap.shrink(grown, new, old).unwrap().cast::<u8>();
                assert!(std::slice::from_raw_parts(shrunk.as_ptr(), size).iter().all(|byte| *byte == 5));
                heap.deallocate(shrunk, old);
            }
        }
    }
}

#[test]
fn threads_share_it() {
    let heap = Heap::new().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let heap = &heap;
            scope.spawn(move || {
                let mut kept = Vec::new_in(heap);
                for round in 0..10_000u64 {
                    kept.push(Box::new_in(thread << 32 | round, heap));
                }
                assert!(kept.iter().enumerate().all(|(at, number)| **number == thread << 32 | at as u64));
            });
        }
    });
}

#[test]
fn what_cannot_be_had_is_an_error() {
    let heap = &Heap::new().unwrap();
    assert!(heap.allocate(Layout::from_size_align(1 << 60, 8).unwrap()).is_err());
}
