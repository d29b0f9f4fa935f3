//! Functions by which the interface reports the script's position, before long calls and on errors.

use std::rc::Rc;

use mlua::{Lua, Table};

use crate::stack::place;
use crate::watch::{NO_END, Watch};

pub(crate) fn add_places(lua: &Lua, table: &Table, watch: &Rc<Watch>) -> mlua::Result<()> {
    let of = || Rc::clone(watch);
    let it = of();
    table.set("is_over", lua.create_function(move |_, ()| Ok(it.is_over()))?)?;
    let it = of();
    let look = move |lua: &Lua, ()| {
        let may = it.may_go_on_at(place(lua));
        may.then_some(()).ok_or_else(|| mlua::Error::runtime(NO_END))
    };
    table.set("look", lua.create_function(look)?)?;
    let it = of();
    let note = move |lua: &Lua, ()| {
        if let Some(place) = place(lua) {
            it.note_failure(place);
        }
        Ok(())
    };
    table.set("note_failure", lua.create_function(note)?)
}
