//! Finds the current position in a script.

use mlua::Lua;

const DEPTH_MAX: usize = 50;

/// The name of the interface in errors.
pub(crate) const INTERFACE: &str = "assay";

/// File and line of the script's innermost function.
pub(crate) fn place(lua: &Lua) -> Option<String> {
    for level in 0..DEPTH_MAX {
        let place = lua.inspect_stack(level, |at| {
            let file = at.source().short_src.filter(|file| file != INTERFACE)?.into_owned();
            Some(format!("{file}:{}", at.current_line()?))
        })?;
        if place.is_some() {
            return place;
        }
    }
    None
}
