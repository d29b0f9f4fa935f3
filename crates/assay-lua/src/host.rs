//! The functions used by a script's interface.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use assay_model::Distribution;
use assay_workloads::Draws;
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaString, Table};

use crate::error::Error;
use crate::files::add_files;
use crate::leash::Leash;
use crate::options::of_sysbench;
use crate::setting::ScriptDraws;
use crate::sources::{Source, Sources};

/// Maximum length of a random text, bytes.
const TEXT_MAX: u32 = 16 << 20;

#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) draws: Rc<RefCell<Draws>>,
    pub(crate) sources: Rc<Sources>,
    pub(crate) leash: Arc<Leash>,
    /// The script may use files anywhere, and run programs.
    pub(crate) may_use_all: bool,
    pub(crate) draw: ScriptDraws,
    pub(crate) threads: u32,
}

/// Compiles a text. Bytecode is refused: a forged one could do anything.
fn compile(lua: &Lua, source: &Source) -> mlua::Result<Function> {
    let name = format!("@{}", source.path);
    lua.load(source.text.as_slice()).set_name(name).set_mode(ChunkMode::Text).into_function()
}

fn outside(error: Error) -> mlua::Error {
    mlua::Error::runtime(error)
}

pub(crate) fn host(lua: &Lua, shared: &Shared) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    add_random(lua, &table, shared)?;
    let (leash, threads) = (Arc::clone(&shared.leash), shared.threads);
    let say = move |_: &Lua, text: LuaString| {
        leash.say(&text.to_string_lossy(), threads);
        Ok(())
    };
    table.set("say", lua.create_function(say)?)?;
    let is_of_sysbench = |_: &Lua, name: String| Ok(of_sysbench(&name).is_some());
    table.set("is_of_sysbench", lua.create_function(is_of_sysbench)?)?;
    let sources = Rc::clone(&shared.sources);
    let module =
        move |lua: &Lua, name: String| compile(lua, &sources.module(&name).map_err(outside)?);
    table.set("module", lua.create_function(module)?)?;
    let sources = Rc::clone(&shared.sources);
    let file = move |lua: &Lua, path: String| {
        compile(lua, &sources.file(Path::new(&path)).map_err(outside)?)
    };
    table.set("file", lua.create_function(file)?)?;
    let sources = Rc::clone(&shared.sources);
    let text = move |lua: &Lua, (text, name): (LuaString, String)| {
        sources.look_at(&text.as_bytes());
        compile(lua, &Source { path: name, text: text.as_bytes().to_vec() })
    };
    table.set("compile", lua.create_function(text)?)?;
    if !shared.may_use_all {
        add_files(lua, &table, shared.sources.directory())?;
    }
    Ok(table)
}

fn add_random(lua: &Lua, table: &Table, shared: &Shared) -> mlua::Result<()> {
    let draws = || Rc::clone(&shared.draws);
    let kinds = [
        ("rand_default", None),
        ("rand_uniform", Some(Distribution::Uniform)),
        ("rand_gaussian", Some(Distribution::Gaussian)),
        ("rand_special", Some(Distribution::Special)),
        ("rand_pareto", Some(Distribution::Pareto { h: shared.draw.pareto_h })),
        ("rand_zipfian", Some(Distribution::Zipfian { s: shared.draw.zipfian_exp })),
    ];
    for (name, kind) in kinds {
        let draws = draws();
        let draw = move |_: &Lua, (low, high): (f64, f64)| {
            let (low, high) = (low as i64 as u32, high as i64 as u32);
            let mut draws = draws.borrow_mut();
            Ok(f64::from(match kind {
                None => draws.default(low, high),
                Some(Distribution::Uniform) => draws.uniform(low, high),
                Some(kind) => draws.draw(kind, low, high),
            }))
        };
        table.set(name, lua.create_function(draw)?)?;
    }
    let of = draws();
    let unit = move |_: &Lua, ()| Ok(of.borrow_mut().unit());
    table.set("rand_unit", lua.create_function(unit)?)?;
    let of = draws();
    let bits = move |_: &Lua, ()| Ok(of.borrow_mut().bits() as f64);
    table.set("rand_bits", lua.create_function(bits)?)?;
    let of = draws();
    let unique = move |_: &Lua, (low, high): (Option<f64>, Option<f64>)| {
        let mut draws = of.borrow_mut();
        Ok(f64::from(match (low, high) {
            (Some(low), Some(high)) => draws.unique_in(low as i64 as u32, high as i64 as u32),
            _ => draws.unique(),
        }))
    };
    table.set("rand_unique", lua.create_function(unique)?)?;
    let (of, out) = (draws(), RefCell::new(Vec::new()));
    let string = move |lua: &Lua, template: LuaString| {
        let mut out = out.borrow_mut();
        out.clear();
        of.borrow_mut().string(&template.as_bytes(), &mut out);
        lua.create_string(out.as_slice())
    };
    table.set("rand_string", lua.create_function(string)?)?;
    let of = draws();
    let varstring = move |lua: &Lua, (min, max): (f64, f64)| {
        if max > f64::from(TEXT_MAX) {
            return Err(mlua::Error::runtime("a text of more than 16 MiB is not drawn"));
        }
        let mut out = Vec::new();
        of.borrow_mut().letters(min as u32, max as u32, &mut out);
        lua.create_string(out.as_slice())
    };
    table.set("rand_varstring", lua.create_function(varstring)?)
}
