//! The interface of a script: its name in errors, its functions, and the script's position below it.

use std::rc::Rc;

use mlua::{FromLuaMulti, IntoLuaMulti, Lua, Table};

const DEPTH_MAX: usize = 50;

pub(crate) const INTERFACE: &str = "assay";

/// Adds a function to a table of the interface. Each call gets the state.
pub(crate) fn add_function<S: 'static, A: FromLuaMulti, R: IntoLuaMulti>(
    lua: &Lua,
    table: &Table,
    name: &str,
    state: &Rc<S>,
    call: impl Fn(&Rc<S>, &Lua, A) -> mlua::Result<R> + 'static,
) -> mlua::Result<()> {
    let state = Rc::clone(state);
    table.set(name, lua.create_function(move |lua, arguments| call(&state, lua, arguments))?)
}

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
