//! Whether standard output was closed when the process began, as with `>&-`.
//!
//! Output must not be lost without a word then. But before `main`, the standard library
//! opens `/dev/null` in place of a closed standard output, in the same way as other programs do that
//! want no output, so that nothing can be noticed later. So this looks earlier, on Linux.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether it was. Elsewhere than on Linux nobody knows.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

#[cfg(target_os = "linux")]
ctor::declarative::ctor! {
    /// Runs before `main`. Only an open file can be duplicated.
    #[ctor(unsafe)]
    fn look() {
        use std::os::fd::AsFd;
        let is_closed = std::io::stdout().as_fd().try_clone_to_owned().is_err();
        WAS_CLOSED.store(is_closed, Ordering::Relaxed);
    }
}
