//! The limit on the size of files, `ulimit -f`.

use std::ffi::c_int;

/// Makes a write past the limit fail with an error instead of killing this process silently.
#[expect(unsafe_code, reason = "nobody wraps this system call")]
pub fn fail_at_the_limit_of_file_sizes() {
    // A handler, because started programs get the default instead of it.
    extern "C" fn nothing(_: c_int) {}
    let handler: extern "C" fn(c_int) = nothing;
    // SAFETY: the handler does nothing, so it may interrupt anything.
    let before = unsafe { libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t) };
    if before == libc::SIG_ERR {
        log::debug!("{}", std::io::Error::last_os_error());
    }
}
