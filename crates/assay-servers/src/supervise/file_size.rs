//! The limit on the size of files, `ulimit -f`.

use std::ffi::c_int;

/// Lets a write past the limit fail with an error, which can be told, instead of ending this process without a word.
#[expect(unsafe_code, reason = "nobody wraps this system call")]
pub fn fail_at_the_limit_of_file_sizes() {
    // A handler, as programs that are started get the default again instead of it.
    extern "C" fn nothing(_: c_int) {}
    let handler: extern "C" fn(c_int) = nothing;
    // SAFETY: the handler does nothing, so it may interrupt anything.
    let before = unsafe { libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t) };
    if before == libc::SIG_ERR {
        log::debug!("{}", std::io::Error::last_os_error());
    }
}
