//! Import cycles between files of a crate.
//!
//! A file imports another if it names a path in it, in a `use` or in full. A module that only declares its children and
//! re-exports their names does not import them, and a re-exported name belongs to the file that defines it. Tests at
//! the end of a file may import anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

/// Modules from the crate's root.
type Module = Vec<String>;

struct Crate {
    files: BTreeMap<Module, SourceFile>,
}

struct SourceFile {
    path: PathBuf,
    /// Paths in its code, as written.
    named: Vec<Module>,
    /// Re-exported names and their paths.
    exported: BTreeMap<String, Module>,
}

/// Cycles of the crate in the directory `krate`, whose source files are `files`.
pub(crate) fn check(krate: &Path, files: &[&PathBuf]) -> Result<Vec<String>> {
    let name = krate.file_name().unwrap_or_default().to_string_lossy();
    let mut modules = BTreeMap::new();
    for path in files {
        if let Ok(below) = path.strip_prefix(krate.join("src")) {
            modules.insert(module(below), file(below.to_owned(), &fs_err::read_to_string(path)?));
        }
    }
    let circles = circles(&Crate { files: modules }).into_iter();
    Ok(circles
        .map(|it| format!("{name}: files import each other in a circle: {}", it.join(", ")))
        .collect())
}

/// `a/mod.rs` and `a.rs` are both module `a`.
fn module(below: &Path) -> Module {
    let parts = below.with_extension("");
    let mut parts: Module = parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let is_root = parts.len() == 1 && parts[0] != "mod";
    if parts
        .last()
        .is_some_and(|last| last == "mod" || is_root && (last == "lib" || last == "main"))
    {
        parts.pop();
    }
    parts
}

fn file(path: PathBuf, text: &str) -> SourceFile {
    // A file of tests may be declared anywhere.
    let code = text.replace("#[cfg(test)]\nmod tests;", "");
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut file = SourceFile { path, named: Vec::new(), exported: BTreeMap::new() };
    for statement in code.split_inclusive(';') {
        let Some((before, tree)) = used(statement) else {
            file.named.extend(paths(statement));
            continue;
        };
        let mut expanded = Vec::new();
        expand(&Vec::new(), tree, &mut expanded);
        if before.trim_end().ends_with("pub") || before.trim_end().ends_with(')') {
            let names = expanded.into_iter().filter_map(|(path, name)| Some((name?, path)));
            file.exported.extend(names);
        } else {
            file.named.extend(expanded.into_iter().map(|(path, _)| path));
            file.named.extend(paths(before));
        }
    }
    file
}

/// The text before `use` in a statement, and the tree after it.
fn used(statement: &str) -> Option<(&str, &str)> {
    let (before, tree) = statement.rsplit_once("use ")?;
    let is_word = before.is_empty() || before.ends_with(char::is_whitespace);
    let tree = tree.trim_end().strip_suffix(';')?;
    (is_word && !tree.contains(['(', '=', '"'])).then_some((before, tree))
}

/// `a::{b, c::d as e}` is `a::b` and `a::c::d`, each with its local name.
fn expand(above: &Module, tree: &str, all: &mut Vec<(Module, Option<String>)>) {
    let tree = tree.trim();
    let head = tree.find('{').map_or(tree, |brace| &tree[..brace]);
    let (head, alias) = head.split_once(" as ").map_or((head, None), |(a, b)| (a, Some(b)));
    let mut path = above.clone();
    let words = head.split("::").map(str::trim).filter(|word| !word.is_empty() && *word != "*");
    path.extend(words.map(str::to_owned));
    match tree.find('{') {
        Some(brace) => {
            let inner = tree[brace + 1..].trim_end().trim_end_matches('}');
            // A trailing brace may be that of an inner tree.
            let open = inner.matches('{').count() - inner.matches('}').count();
            let inner = format!("{inner}{}", "}".repeat(open));
            for part in parts(&inner) {
                expand(&path, part, all);
            }
        }
        None => {
            let name = alias.map(str::trim).or(path.last().map(String::as_str));
            let name = name.map(str::to_owned);
            all.push((path, name));
        }
    }
}

/// Splits at commas, except within braces.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Paths of two or more names in code.
fn paths(code: &str) -> Vec<Module> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c| !is_part(c)).filter(|word| word.contains("::"));
    words
        .map(|word| word.split("::").map(|part| part.trim_matches(':').to_owned()).collect())
        .collect()
}

impl Crate {
    /// The module whose file defines the target of a path in `from`; `None` if it is not part of this crate.
    fn definer(&self, from: &Module, path: &[String], hops: u32) -> Option<Module> {
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => (from.clone(), path),
            child => {
                let mut module = from.clone();
                module.push(child.to_owned());
                self.files.contains_key(&module).then_some((module, &path[1..]))?
            }
        };
        while rest.first().is_some_and(|first| first == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        while let Some(next) = rest.first() {
            let mut child = at.clone();
            child.push(next.clone());
            if !self.files.contains_key(&child) {
                break;
            }
            (at, rest) = (child, &rest[1..]);
        }
        let file = self.files.get(&at)?;
        let exported = rest.first().and_then(|name| file.exported.get(name));
        match exported {
            Some(source) if hops > 0 => self.definer(&at, source, hops - 1),
            _ => Some(at),
        }
    }

    fn imports(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let imported = |(module, file): (&'_ Module, &SourceFile)| {
            let found = file.named.iter().filter_map(|path| self.definer(module, path, 8));
            let all: BTreeSet<Module> = found.filter(|other| other != module).collect();
            all
        };
        let known = |other: &Module| self.files.get_key_value(other).map(|(module, _)| module);
        let entries = self.files.iter();
        entries.map(|it| (it.0, imported(it).iter().filter_map(known).collect())).collect()
    }
}

/// Sets of files in which each file leads to all others.
fn circles(of: &Crate) -> Vec<Vec<String>> {
    let imports = of.imports();
    let reached = |from: &Module| {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Module> = imports[from].iter().copied().collect();
        while let Some(module) = open.pop() {
            if reached.insert(module) {
                open.extend(&imports[module]);
            }
        }
        reached
    };
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (*module, reached(module))).collect();
    let circle = |from: &Module| {
        let others = reach[from].iter().filter(|other| reach[**other].contains(from));
        others.copied().collect::<BTreeSet<_>>()
    };
    let circles: BTreeSet<_> = imports.keys().map(|module| circle(module)).collect();
    let shown = |module: &Module| of.files[module].path.display().to_string();
    let circles = circles.into_iter().filter(|circle| circle.len() > 1);
    circles.map(|circle| circle.into_iter().map(shown).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_in(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files =
            files.iter().map(|(path, text)| (module(Path::new(path)), file(path.into(), text)));
        circles(&Crate { files: files.collect() })
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let a = ("a.rs", "use crate::b::{c::C, D as E};\nfn a() {}");
        let lib = ("lib.rs", "mod a;\nmod b;\npub use a::a;\n");
        let c = ("b/c.rs", "pub struct C;\nfn c() { super::super::a::a() }");
        let mod_b = ("b/mod.rs", "pub(crate) mod c;\npub struct D;\n");
        assert_eq!(circles_in(&[lib, a, mod_b, c]), [["a.rs", "b/c.rs"]]);
        assert!(circles_in(&[lib, a, mod_b, ("b/c.rs", "pub struct C;")]).is_empty());
    }

    #[test]
    fn names_that_a_parent_passes_on_are_their_definers() {
        let lib = ("lib.rs", "mod a;\nmod b;\npub use b::B;\n");
        let b = ("b.rs", "// crate::a::A\npub struct B;\n#[cfg(test)]\nuse crate::a::A;");
        assert!(circles_in(&[lib, ("a.rs", "use crate::B;"), b]).is_empty());
        let lib = ("lib.rs", "mod a;\npub struct B;\nfn f() { a::g() }");
        assert_eq!(circles_in(&[lib, ("a.rs", "use crate::B;")]), [["lib.rs", "a.rs"]]);
    }
}
