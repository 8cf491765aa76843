//! The hz3 allocator: fast and small when threads free each other's memory.
//!
//! ```
//! #[global_allocator]
//! static GLOBAL: hz3::Hz3 = hz3::Hz3;
//! ```
//!
//! Rust then allocates from hz3. C code in the same program keeps libc's malloc.

#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_char, c_void, CStr};
use core::ptr::NonNull;

mod ffi {
    use super::{c_char, c_void};

    // As include/hz3.h says.
    extern "C" {
        pub fn hz3_malloc(size: usize) -> *mut c_void;
        pub fn hz3_calloc(count: usize, size: usize) -> *mut c_void;
        pub fn hz3_realloc(p: *mut c_void, size: usize) -> *mut c_void;
        pub fn hz3_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
        pub fn hz3_free(p: *mut c_void);
        pub fn hz3_malloc_usable_size(p: *const c_void) -> usize;
        pub fn hz3_heap_new() -> *mut c_void;
        pub fn hz3_heap_destroy(heap: *mut c_void);
        #[cfg(feature = "allocator-api2")]
        pub fn hz3_heap_calloc(heap: *mut c_void, count: usize, size: usize) -> *mut c_void;
        #[cfg(feature = "allocator-api2")]
        pub fn hz3_heap_aligned_alloc(heap: *mut c_void, alignment: usize, size: usize) -> *mut c_void;
        #[cfg(feature = "allocator-api2")]
        pub fn hz3_heap_realloc(heap: *mut c_void, p: *mut c_void, size: usize) -> *mut c_void;
        #[cfg(feature = "allocator-api2")]
        pub fn hz3_heap_free(heap: *mut c_void, p: *mut c_void);
        pub fn hz3_collect(force: bool);
        pub fn hz3_version() -> *const c_char;
        pub fn hz3_config_string() -> *const c_char;
        pub fn hz3_stats_json(buf: *mut c_char, size: usize) -> usize;
    }
}

/// The alignment that every block has at least.
const ALIGNMENT: usize = 16;

/// The allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hz3;

unsafe impl GlobalAlloc for Hz3 {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = if layout.align() <= ALIGNMENT {
            ffi::hz3_malloc(layout.size())
        } else {
            ffi::hz3_aligned_alloc(layout.align(), layout.size())
        };
        block.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            return ffi::hz3_calloc(1, layout.size()).cast();
        }
        let block = self.alloc(layout);
        if !block.is_null() {
            block.write_bytes(0, layout.size());
        }
        block
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            return ffi::hz3_realloc(block.cast(), size).cast();
        }
        let usable = ffi::hz3_malloc_usable_size(block.cast());
        if size <= usable && size >= usable / 2 {
            return block;
        }
        let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !new.is_null() {
            new.copy_from_nonoverlapping(block, layout.size().min(size));
            self.dealloc(block, layout);
        }
        new
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        ffi::hz3_free(block.cast());
    }
}

/// A heap with memory of its own. All of it goes back when this is dropped, at a cost for each run of 64 KiB, whatever
/// lives in it. Any thread may use it, under its lock. With the feature `allocator-api2`, `&Heap` is an allocator for the
/// collections of that crate.
#[derive(Debug)]
pub struct Heap(NonNull<c_void>);

// All that happens in a heap is under its lock.
unsafe impl Send for Heap {}
unsafe impl Sync for Heap {}

impl Heap {
    /// `None`: there is no memory.
    pub fn new() -> Option<Heap> {
        NonNull::new(unsafe { ffi::hz3_heap_new() }).map(Heap)
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        unsafe { ffi::hz3_heap_destroy(self.0.as_ptr()) }
    }
}

#[cfg(feature = "allocator-api2")]
mod allocator {
    use super::{ffi, Heap, Layout, NonNull, ALIGNMENT};
    use allocator_api2::alloc::{AllocError, Allocator};
    use core::ffi::c_void;

    fn block(p: *mut c_void, size: usize) -> Result<NonNull<[u8]>, AllocError> {
        Ok(NonNull::slice_from_raw_parts(NonNull::new(p.cast()).ok_or(AllocError)?, size))
    }

    impl Heap {
        /// Resizes a block whose new alignment every block has; else moves it.
        unsafe fn resize(&self, from: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
            if new.align() <= ALIGNMENT {
                let size = new.size().max(1); // of 0, realloc frees
                return block(ffi::hz3_heap_realloc(self.0.as_ptr(), from.as_ptr().cast(), size), new.size());
            }
            let to = (&self).allocate(new)?;
            to.cast::<u8>().as_ptr().copy_from_nonoverlapping(from.as_ptr(), old.size().min(new.size()));
            (&self).deallocate(from, old);
            Ok(to)
        }
    }

    // Of a reference, so that no heap moves, or ends, while its blocks live.
    unsafe impl Allocator for &Heap {
        fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
            let p = unsafe { ffi::hz3_heap_aligned_alloc(self.0.as_ptr(), layout.align(), layout.size()) };
            block(p, layout.size())
        }

        fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
            if layout.align() <= ALIGNMENT {
                return block(unsafe { ffi::hz3_heap_calloc(self.0.as_ptr(), 1, layout.size()) }, layout.size());
            }
            let p = self.allocate(layout)?;
            unsafe { p.cast::<u8>().as_ptr().write_bytes(0, layout.size()) };
            Ok(p)
        }

        unsafe fn deallocate(&self, p: NonNull<u8>, _: Layout) {
            ffi::hz3_heap_free(self.0.as_ptr(), p.as_ptr().cast())
        }

        unsafe fn grow(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
            self.resize(p, old, new)
        }

        unsafe fn grow_zeroed(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
            let to = self.resize(p, old, new)?;
            to.cast::<u8>().as_ptr().add(old.size()).write_bytes(0, new.size() - old.size());
            Ok(to)
        }

        unsafe fn shrink(&self, p: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
            self.resize(p, old, new)
        }
    }
}

/// Gives memory back to the system. With `force` this is all that holds no live object, except what other threads
/// cache; without, what has been idle for the decay time.
pub fn collect(force: bool) {
    unsafe { ffi::hz3_collect(force) }
}

/// The version of the library, as "MAJOR.MINOR.PATCH".
pub fn version() -> &'static CStr {
    unsafe { CStr::from_ptr(ffi::hz3_version()) }
}

/// Version, lane, and the value of every flag of the build.
pub fn config() -> &'static CStr {
    unsafe { CStr::from_ptr(ffi::hz3_config_string()) }
}

/// Writes statistics into `buffer` as one JSON object, ended by a NUL and cut off if it does not fit. Returns the
/// length of the whole object. Does not allocate.
pub fn stats_json(buffer: &mut [u8]) -> usize {
    unsafe { ffi::hz3_stats_json(buffer.as_mut_ptr().cast(), buffer.len()) }
}
