//! A program whose global allocator is hz3.

use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, GlobalAlloc, Layout};
use std::sync::mpsc;

#[global_allocator]
static GLOBAL: hz3::Hz3 = hz3::Hz3;

fn layouts() -> impl Iterator<Item = Layout> {
    let alignments = (0..21).map(|power| 1 << power);
    alignments.flat_map(|align| {
        [1, 15, 16, 100, 4096, 70_000, 3 << 20].map(|size| Layout::from_size_align(size, align).unwrap())
    })
}

fn figure(name: &str) -> u64 {
    let mut buffer = [0; 8192];
    let length = hz3::stats_json(&mut buffer);
    assert!(length < buffer.len());
    let text = std::str::from_utf8(&buffer[..length]).unwrap();
    let value = text.split(&format!("\"{name}\":")).nth(1).expect(text);
    value.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn it_is_this_version_of_lane_scale_without_the_standard_names() {
    assert_eq!(hz3::version().to_str().unwrap(), env!("CARGO_PKG_VERSION"));
    let config = hz3::config().to_str().unwrap();
    assert!(config.contains(" lane=scale ") && config.ends_with(" HZ3_OVERRIDE=0"), "{config}");
}

#[test]
fn vectors_come_from_it() {
    let before = figure("allocated"); // far more than other tests allocate meanwhile, and never touched
    let vector = vec![0u8; 16 << 30];
    assert!(figure("allocated") >= before + (12 << 30));
    drop(vector);
    assert!(figure("allocated") < before + (4 << 30));
    hz3::collect(true);
}

#[test]
fn blocks_are_aligned_and_their_own() {
    let blocks: Vec<_> = layouts().map(|layout| (layout, unsafe { alloc(layout) })).collect();
    for (number, (layout, block)) in blocks.iter().enumerate() {
        assert!(!block.is_null() && *block as usize % layout.align() == 0, "{layout:?}");
        unsafe { block.write_bytes(number as u8, layout.size()) };
    }
    for (number, (layout, block)) in blocks.into_iter().enumerate() {
        let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
        assert!(bytes.iter().all(|byte| *byte == number as u8), "{layout:?}");
        unsafe { dealloc(block, layout) };
    }
}

#[test]
fn zeroed_blocks_are_zero_where_others_wrote_before() {
    for layout in layouts() {
        unsafe {
            let dirty = alloc(layout);
            dirty.write_bytes(0xff, layout.size());
            dealloc(dirty, layout);
            let block = alloc_zeroed(layout);
            assert!(!block.is_null() && block as usize % layout.align() == 0, "{layout:?}");
            assert!(std::slice::from_raw_parts(block, layout.size()).iter().all(|byte| *byte == 0), "{layout:?}");
            dealloc(block, layout);
        }
    }
}

#[test]
fn resizing_keeps_content_and_alignment() {
    for layout in layouts() {
        for size in [1, layout.size() / 2 + 1, layout.size() + 1, layout.size() * 3] {
            unsafe {
                let block = alloc(layout);
                for at in 0..layout.size() {
                    block.add(at).write(at as u8);
                }
                let block = realloc(block, layout, size);
                assert!(!block.is_null() && block as usize % layout.align() == 0, "{layout:?} to {size}");
                let kept = std::slice::from_raw_parts(block, layout.size().min(size));
                assert!(kept.iter().enumerate().all(|(at, byte)| *byte == at as u8), "{layout:?} to {size}");
                block.add(size - 1).write(1);
                dealloc(block, Layout::from_size_align(size, layout.align()).unwrap());
            }
        }
    }
}

#[test]
fn what_cannot_be_had_is_null() {
    for align in [1, 4096] {
        let layout = Layout::from_size_align(1 << 60, align).unwrap();
        unsafe {
            assert!(GLOBAL.alloc(layout).is_null());
            assert!(GLOBAL.alloc_zeroed(layout).is_null());
            let small = Layout::from_size_align(64, align).unwrap();
            let block = GLOBAL.alloc(small);
            block.write_bytes(7, 64);
            assert!(GLOBAL.realloc(block, small, 1 << 60).is_null());
            assert_eq!(*block.add(63), 7);
            GLOBAL.dealloc(block, small);
        }
    }
}

#[test]
fn threads_free_each_others_memory() {
    let (sender, receiver) = mpsc::channel::<Vec<u64>>();
    let makers: Vec<_> = (0..4u64)
        .map(|thread| {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for round in 0..20_000 {
                    sender.send(vec![thread << 32 | round; 1 + round as usize % 50]).unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    let mut received = 0;
    for vector in receiver {
        assert!(vector.iter().all(|value| *value == vector[0]));
        received += 1;
    }
    makers.into_iter().for_each(|maker| maker.join().unwrap());
    assert_eq!(received, 4 * 20_000);
}

#[test]
fn its_options_and_figures_have_names() {
    const EPERM: i32 = 1;
    const EINVAL: i32 = 22;
    let before = hz3::get(c"HZ3_DECAY").unwrap();
    assert_eq!(hz3::set(c"HZ3_DECAY", 123), Ok(before));
    assert_eq!(hz3::set(c"HZ3_DECAY", before), Ok(123));
    assert_eq!(hz3::set(c"HZ3_HEAPS", 1), Err(EPERM));
    assert_eq!(hz3::get(c"HZ3_NONE"), Err(EINVAL));
    assert_eq!(hz3::set(c"purge", 1), Ok(0));
}

#[test]
fn a_thread_knows_what_it_allocated() {
    std::thread::spawn(|| {
        let (allocated, freed) = hz3::thread_bytes();
        let vector = vec![1u8; 1 << 20];
        let after = hz3::thread_bytes();
        assert!(after.0 - allocated >= 1 << 20 && after.1 - freed < 4096, "{after:?}");
        drop(vector);
        assert!(hz3::thread_bytes().1 - freed >= 1 << 20);
    })
    .join()
    .unwrap();
}

#[test]
fn a_profile_comes_as_bytes() {
    hz3::set(c"HZ3_PROFILE", 4096).unwrap();
    let kept: Vec<_> = (0..10_000).map(|_| vec![1u8; 1000]).collect();
    let mut buffer = vec![0; 4 << 20];
    let length = hz3::pprof(&mut buffer);
    hz3::set(c"HZ3_PROFILE", 0).unwrap();
    assert!(0 < length && length < buffer.len());
    assert!(buffer[..length].windows(11).any(|bytes| bytes == b"inuse_space"));
    drop(kept);
}
