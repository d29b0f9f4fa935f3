//! The functions used by a script's interface.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use assay_model::Distribution;
use assay_workloads::RandomDraws;
use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaString, Table};

use crate::error::LuaError;
use crate::files::add_files;
use crate::interface::add_function;
use crate::leash::Leash;
use crate::options::{ScriptDraws, equivalent_of};
use crate::sources::{ScriptSources, ScriptText};

/// Maximum length of a random text, bytes.
const TEXT_MAX: u32 = 16 << 20;

#[derive(Clone)]
pub(crate) struct HostState {
    pub(crate) draws: Rc<RefCell<RandomDraws>>,
    pub(crate) sources: Rc<ScriptSources>,
    pub(crate) leash: Arc<Leash>,
    /// The script may use files anywhere, and run programs.
    pub(crate) may_use_all: bool,
    pub(crate) draw: ScriptDraws,
    pub(crate) threads: u32,
}

/// Compiles a text. Bytecode is refused: a forged one could do anything.
fn compile(lua: &Lua, source: &ScriptText) -> mlua::Result<Function> {
    let name = format!("@{}", source.path);
    lua.load(source.text.as_slice()).set_name(name).set_mode(ChunkMode::Text).into_function()
}

fn outside(error: LuaError) -> mlua::Error {
    mlua::Error::runtime(error)
}

pub(crate) fn host(lua: &Lua, shared: &HostState) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    add_random(lua, &table, shared)?;
    let said = Rc::new((Arc::clone(&shared.leash), shared.threads));
    add_function(lua, &table, "say", &said, |said, _, text: LuaString| {
        said.0.say(&text.to_string_lossy(), said.1);
        Ok(())
    })?;
    let sources = &shared.sources;
    add_function(lua, &table, "is_of_sysbench", sources, |_, _, name: String| {
        Ok(equivalent_of(&name).is_some())
    })?;
    add_function(lua, &table, "module", sources, |sources, lua, name: String| {
        compile(lua, &sources.module(&name).map_err(outside)?)
    })?;
    add_function(lua, &table, "file", sources, |sources, lua, path: String| {
        compile(lua, &sources.file(Path::new(&path)).map_err(outside)?)
    })?;
    let text = |sources: &Rc<ScriptSources>, lua: &Lua, (text, name): (LuaString, String)| {
        sources.look_at(&text.as_bytes());
        compile(lua, &ScriptText { path: name, text: text.as_bytes().to_vec() })
    };
    add_function(lua, &table, "compile", sources, text)?;
    if !shared.may_use_all {
        add_files(lua, &table, sources.directory())?;
    }
    Ok(table)
}

fn add_random(lua: &Lua, table: &Table, shared: &HostState) -> mlua::Result<()> {
    let draws = &shared.draws;
    let kinds = [
        ("rand_default", None),
        ("rand_uniform", Some(Distribution::Uniform)),
        ("rand_gaussian", Some(Distribution::Gaussian)),
        ("rand_special", Some(Distribution::Special)),
        ("rand_pareto", Some(Distribution::Pareto { h: shared.draw.pareto_h })),
        ("rand_zipfian", Some(Distribution::Zipfian { s: shared.draw.zipfian_exp })),
    ];
    for (name, kind) in kinds {
        add_function(lua, table, name, draws, move |draws, _, (low, high): (f64, f64)| {
            let (low, high) = (low as i64 as u32, high as i64 as u32);
            let mut draws = draws.borrow_mut();
            Ok(f64::from(match kind {
                None => draws.default(low, high),
                Some(Distribution::Uniform) => draws.uniform(low, high),
                Some(kind) => draws.draw(kind, low, high),
            }))
        })?;
    }
    add_function(lua, table, "rand_unit", draws, |draws, _, ()| Ok(draws.borrow_mut().unit()))?;
    add_function(lua, table, "rand_bits", draws, |draws, _, ()| {
        Ok(draws.borrow_mut().bits() as f64)
    })?;
    type UniqueEnds = (Option<f64>, Option<f64>);
    add_function(lua, table, "rand_unique", draws, |draws, _, ends: UniqueEnds| {
        let mut draws = draws.borrow_mut();
        Ok(f64::from(match ends {
            (Some(low), Some(high)) => draws.unique_in(low as i64 as u32, high as i64 as u32),
            _ => draws.unique(),
        }))
    })?;
    let out = RefCell::new(Vec::new());
    add_function(lua, table, "rand_string", draws, move |draws, lua, template: LuaString| {
        let mut out = out.borrow_mut();
        out.clear();
        draws.borrow_mut().string(&template.as_bytes(), &mut out);
        lua.create_string(out.as_slice())
    })?;
    add_function(lua, table, "rand_varstring", draws, |draws, lua, (min, max): (f64, f64)| {
        if max > f64::from(TEXT_MAX) {
            return Err(mlua::Error::runtime("a text of more than 16 MiB is not drawn"));
        }
        let mut out = Vec::new();
        draws.borrow_mut().letters(min as u32, max as u32, &mut out);
        lua.create_string(out.as_slice())
    })
}
