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
use core::ffi::{c_char, c_int, c_void, CStr};
use core::mem::size_of;
use core::ptr::{null, NonNull};

mod ffi {
    use super::{c_char, c_int, c_void};

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
        pub fn hz3_thread_bytes(allocated: *mut usize, freed: *mut usize);
        pub fn hz3_profile_pprof(buf: *mut c_void, size: usize) -> usize;
        pub fn hz3_control(
            name: *const c_char,
            old: *mut c_void,
            old_size: *mut usize,
            wanted: *const c_void,
            wanted_size: usize,
        ) -> c_int;
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
    use core::ptr::slice_from_raw_parts_mut;

    fn block(p: *mut c_void, size: usize) -> Result<NonNull<[u8]>, AllocError> {
        NonNull::new(slice_from_raw_parts_mut(p.cast(), size)).ok_or(AllocError)
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

/// Bytes that this thread has allocated, and freed. They are counted where magazines change: their difference is exact,
/// but for what waits on its way to other threads' heaps. A thread may have freed more, of what others
/// allocated: subtract with `wrapping_sub`, and read the difference as `isize`.
pub fn thread_bytes() -> (usize, usize) {
    let (mut allocated, mut freed) = (0, 0);
    unsafe { ffi::hz3_thread_bytes(&mut allocated, &mut freed) };
    (allocated, freed)
}

/// Writes the heap profile into `buffer` as pprof has it (not compressed), to be served at `/debug/pprof/heap`. Returns
/// the length of the whole profile: one that did not fit is none. 0: there is no profile; `set(c"HZ3_PROFILE", rate)`
/// starts it. Waits for a `dlopen` by another thread. Does not allocate.
pub fn pprof(buffer: &mut [u8]) -> usize {
    unsafe { ffi::hz3_profile_pprof(buffer.as_mut_ptr().cast(), buffer.len()) }
}

/// The value of an option or a figure; `hz3 options` lists the names. An error is an errno value: EINVAL, there is no
/// such name.
pub fn get(name: &CStr) -> Result<usize, i32> {
    control(name, None)
}

/// Sets an option while the program runs, or `c"purge"` to 1, and returns the value before. An error is an errno value:
/// EPERM where that is not allowed, EINVAL where the name or the value is none. Nothing is changed then.
pub fn set(name: &CStr, value: usize) -> Result<usize, i32> {
    control(name, Some(value))
}

fn control(name: &CStr, wanted: Option<usize>) -> Result<usize, i32> {
    let (mut before, mut size) = (0usize, size_of::<usize>());
    let old: *mut usize = &mut before;
    let to = wanted.as_ref().map_or(null(), |value: &usize| value as *const usize);
    match unsafe { ffi::hz3_control(name.as_ptr(), old.cast(), &mut size, to.cast(), size_of::<usize>()) } {
        0 => Ok(before),
        error => Err(error),
    }
}
