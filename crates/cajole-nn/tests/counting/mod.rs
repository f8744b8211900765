//! An allocator that counts what a thread asks it for.

// Every test file uses some of this.
#![allow(dead_code)]
// An allocator cannot do without.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout as Request, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// How often this thread has asked for memory.
pub(crate) fn allocations() -> usize {
    COUNT.with(Cell::get)
}

/// How many bytes this thread has been given and has not given back.
pub(crate) fn bytes() -> isize {
    BYTES.with(Cell::get)
}

/// What `work` returns, and how many bytes more than before it had at most.
pub(crate) fn most<T>(work: impl FnOnce() -> T) -> (T, isize) {
    let before = bytes();
    MOST.with(|most| most.set(before));
    let done = work();
    (done, MOST.with(Cell::get) - before)
}

fn count(requests: usize, bytes: isize) {
    let _ = COUNT.try_with(|count| count.set(count.get() + requests));
    let _ = BYTES.try_with(|all| {
        all.set(all.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(all.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, request: Request) -> *mut u8 {
        count(1, request.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(request) }
    }

    unsafe fn dealloc(&self, at: *mut u8, request: Request) {
        count(0, -(request.size() as isize));
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(at, request) }
    }

    unsafe fn realloc(&self, at: *mut u8, request: Request, size: usize) -> *mut u8 {
        count(1, size as isize - request.size() as isize);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(at, request, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
