//! Build steps of a source tree, combined from rows of the catalog. Pure.

use std::path::{Path, PathBuf};

use assay_model::{BuildFlag, BuildFlags, Product};
use serde::Deserialize;

use crate::version::compare;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BuildTool {
    Cmake,
    Configure,
    Meson,
}

impl BuildTool {
    /// The tool of a tree with these names at its top. Postgres has two: the older one builds all versions.
    pub(crate) fn in_tree(names: &[String]) -> Option<Self> {
        let all = [
            ("CMakeLists.txt", Self::Cmake),
            ("configure", Self::Configure),
            ("meson.build", Self::Meson),
        ];
        all.into_iter().find(|(name, _)| names.iter().any(|it| it == name)).map(|(_, tool)| tool)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Cmake => "cmake",
            Self::Configure => "configure",
            Self::Meson => "meson",
        }
    }
}

/// A row of the catalog: the build options of some versions of a product.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuildRow {
    product: Product,
    tool: BuildTool,
    /// The first version that the row covers; `None` for all.
    from: Option<String>,
    /// The first later version that the row does not cover.
    before: Option<String>,
    /// Flags of a system that ask for the row, with their values. `*` at the end of a value stands for any ending.
    #[serde(default)]
    pub(crate) when: BuildFlags,
    /// Whether no server was built with the row.
    #[serde(default)]
    untested: bool,
    /// C compiler, if it is not `cc`.
    cc: Option<String>,
    /// C++ compiler, if it is not `c++`.
    cxx: Option<String>,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    c_flags: Vec<String>,
    #[serde(default)]
    cxx_flags: Vec<String>,
    /// Files for `git apply`, relative to the catalog file.
    #[serde(default)]
    pub(crate) patches: Vec<PathBuf>,
    #[serde(default)]
    submodules: Vec<String>,
}

/// A row of the catalog: a fix that makes a source tree build with compilers newer than itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fix {
    /// Its effect, for the report.
    pub(crate) about: String,
    /// The product and its versions that it is for, as in [`BuildRow`]; `None` for all.
    product: Option<Product>,
    from: Option<String>,
    before: Option<String>,
    #[serde(default)]
    untested: bool,
    /// What a user has to provide where nothing else in the row helps.
    pub(crate) advice: Option<String>,
    /// It is tried if one of these is among the errors.
    signs: Vec<String>,
    /// C compiler that replaces the usual one; both must be installed.
    pub(crate) cc: Option<String>,
    cxx: Option<String>,
    /// For the build tool; of two values of an option, the later counts.
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    c_flags: Vec<String>,
    #[serde(default)]
    cxx_flags: Vec<String>,
}

impl BuildRow {
    /// A line of a table: flags of systems, versions, and what the row adds for them. `None` for a row that is for all
    /// systems.
    pub(crate) fn of_flags(&self) -> Option<String> {
        let flags: Vec<String> =
            self.when.iter().map(|(flag, value)| format!("`{}={value}`", flag.option())).collect();
        let versions = versions(Some(self.product), &self.from, &self.before);
        let added = flags_in_words(&self.c_flags, &self.cxx_flags);
        let added: Vec<String> = self.options.iter().cloned().chain(added).collect();
        let (flags, added, tool) = (flags.join(", "), added.join(" "), self.tool.word());
        let line =
            || format!("| {flags} | {versions}, {tool} | `{added}` | {} |\n", mark(self.untested));
        (!flags.is_empty()).then(line)
    }

    fn is_for(&self, tool: BuildTool, product: Product, version: &str, flags: &BuildFlags) -> bool {
        let is_asked = |(flag, wanted): (&BuildFlag, &String)| {
            let matches = |value: &String| match wanted.strip_suffix('*') {
                Some(start) => value.starts_with(start),
                None => value == wanted,
            };
            flags.get(flag).is_some_and(matches)
        };
        (self.product, self.tool) == (product, tool)
            && covers(version, self.from.as_deref(), self.before.as_deref())
            && self.when.iter().all(is_asked)
    }
}

impl Fix {
    pub(crate) fn fits(&self, errors: &[String]) -> bool {
        errors.iter().any(|line| self.signs.iter().any(|sign| line.contains(sign)))
    }

    /// Whether it may be tried: for this product and version, and without replacing what a system asks for.
    pub(crate) fn is_for(&self, product: Product, version: &str, flags: &BuildFlags) -> bool {
        let has = |flag| flags.contains_key(&flag);
        let replaces_compiler = self.cc.is_some() && (has(BuildFlag::Cc) || has(BuildFlag::Cxx));
        let sets_standard = self.cxx_flags.iter().any(|flag| flag.starts_with(STANDARD));
        self.product.is_none_or(|it| it == product)
            && covers(version, self.from.as_deref(), self.before.as_deref())
            && !replaces_compiler
            && !(sets_standard && has(BuildFlag::Std))
    }

    /// A line of a table: the fix, its versions, and what it adds to a build.
    pub(crate) fn line(&self) -> String {
        let compilers = self.cc.iter().chain(&self.cxx).cloned();
        let flags = flags_in_words(&self.c_flags, &self.cxx_flags);
        let all = compilers.chain(self.options.iter().cloned()).chain(flags);
        let added = all.collect::<Vec<_>>().join(" ");
        let added = if added.is_empty() { "advice".to_owned() } else { format!("`{added}`") };
        let versions = versions(self.product, &self.from, &self.before);
        let about = self.about.replace('<', "\\<");
        format!("| {about} | {versions} | {added} | {} |\n", mark(self.untested))
    }
}

fn mark(untested: bool) -> &'static str {
    if untested { "never" } else { "yes" }
}

fn versions(product: Option<Product>, from: &Option<String>, before: &Option<String>) -> String {
    let mut text = product.map_or_else(|| "all".to_owned(), |it| it.to_string());
    for (word, version) in [("from", from), ("before", before)] {
        if let Some(version) = version {
            text += &format!(" {word} {version}");
        }
    }
    text
}

fn covers(version: &str, from: Option<&str>, before: Option<&str>) -> bool {
    from.is_none_or(|from| compare(version, from).is_ge())
        && before.is_none_or(|before| compare(version, before).is_lt())
}

/// Start of the flag of compilers that chooses a language standard.
const STANDARD: &str = "-std=";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BuildRecipe {
    pub(crate) tool: BuildTool,
    pub(crate) cc: String,
    pub(crate) cxx: String,
    pub(crate) options: Vec<String>,
    c_flags: Vec<String>,
    cxx_flags: Vec<String>,
    pub(crate) patches: Vec<PathBuf>,
    pub(crate) submodules: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Aids {
    pub(crate) ninja: bool,
    pub(crate) ccache: bool,
    pub(crate) jobs: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BuildPlaces<'a> {
    pub(crate) source: &'a Path,
    pub(crate) build: &'a Path,
    /// Compiled into the server as its own directory.
    pub(crate) prefix: &'a Path,
    /// Staging root, below which the build is installed at first.
    pub(crate) stage: &'a Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BuildStep {
    pub(crate) name: &'static str,
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
}

impl BuildRecipe {
    /// Combines the rows for a version; later ones add to earlier ones. Fails with a flag that no row knows and that
    /// would therefore have no effect.
    pub(crate) fn new(
        product: Product,
        tool: BuildTool,
        version: &str,
        rows: &[BuildRow],
        flags: &BuildFlags,
    ) -> Result<Self, BuildFlag> {
        let flags = with_both_compilers(flags);
        // The other tools build Postgres, which is written in C.
        if tool != BuildTool::Cmake && flags.get(&BuildFlag::Cc) != flags.get(&BuildFlag::Cxx) {
            return Err(BuildFlag::Cxx);
        }
        let mut recipe = Self {
            tool,
            cc: "cc".to_owned(),
            cxx: "c++".to_owned(),
            options: Vec::new(),
            c_flags: Vec::new(),
            cxx_flags: Vec::new(),
            patches: Vec::new(),
            submodules: Vec::new(),
        };
        let fits = |row: &&BuildRow| row.is_for(tool, product, version, &flags);
        let rows: Vec<&BuildRow> = rows.iter().filter(fits).collect();
        for row in &rows {
            recipe.cc = row.cc.clone().unwrap_or(recipe.cc);
            recipe.cxx = row.cxx.clone().unwrap_or(recipe.cxx);
            recipe.options.extend(filled(&row.options, &flags));
            recipe.c_flags.extend(filled(&row.c_flags, &flags));
            recipe.cxx_flags.extend(filled(&row.cxx_flags, &flags));
            recipe.patches.extend_from_slice(&row.patches);
            recipe.submodules.extend_from_slice(&row.submodules);
        }
        for (flag, value) in &flags {
            match flag {
                BuildFlag::Cc => recipe.cc.clone_from(value),
                BuildFlag::Cxx => recipe.cxx = cxx_of(value),
                // `off` is the default of every source.
                _ if value == "off" || rows.iter().any(|row| row.when.contains_key(flag)) => {}
                _ => return Err(*flag),
            }
        }
        Ok(recipe)
    }

    pub(crate) fn fixed(mut self, fix: &Fix) -> Self {
        self.cc = fix.cc.clone().unwrap_or(self.cc);
        self.cxx = fix.cxx.clone().unwrap_or(self.cxx);
        self.options.extend_from_slice(&fix.options);
        self.c_flags.extend_from_slice(&fix.c_flags);
        self.cxx_flags.extend_from_slice(&fix.cxx_flags);
        self
    }

    pub(crate) fn flags(&self) -> String {
        let flags = flags_in_words(&self.c_flags, &self.cxx_flags);
        self.options.iter().cloned().chain(flags).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn steps(&self, places: BuildPlaces<'_>, aids: Aids) -> Vec<BuildStep> {
        let jobs = aids.jobs.to_string();
        let [source, build, prefix, stage] =
            [places.source, places.build, places.prefix, places.stage]
                .map(|it| it.display().to_string());
        let step = |name, program: &str, arguments: &[&str], more: Vec<String>| {
            let arguments = arguments.iter().map(|&it| it.to_owned()).chain(more).collect();
            BuildStep { name, program: program.to_owned(), arguments }
        };
        let options = || self.options.iter().map(|it| it.replace("{source}", &source));
        match self.tool {
            BuildTool::Cmake => {
                let mut more = Vec::new();
                more.extend(aids.ninja.then(|| "-GNinja".to_owned()));
                more.push(format!("-DCMAKE_INSTALL_PREFIX={prefix}"));
                more.push("-DCMAKE_EXPORT_COMPILE_COMMANDS=ON".to_owned());
                let languages =
                    [("C", &self.cc, &self.c_flags), ("CXX", &self.cxx, &self.cxx_flags)];
                for (language, compiler, flags) in languages {
                    more.push(format!("-DCMAKE_{language}_COMPILER={compiler}"));
                    let launcher = || format!("-DCMAKE_{language}_COMPILER_LAUNCHER=ccache");
                    more.extend(aids.ccache.then(launcher));
                    more.extend(assigned(&format!("-DCMAKE_{language}_FLAGS"), flags));
                }
                more.extend(options());
                vec![
                    step("configuring", "cmake", &["-S", &source, "-B", &build], more),
                    step(
                        "compiling",
                        "cmake",
                        &["--build", &build, "--parallel", &jobs],
                        Vec::new(),
                    ),
                    step("installing", "cmake", &["--install", &build], Vec::new()),
                ]
            }
            BuildTool::Configure => {
                let mut more = vec![format!("--prefix={prefix}")];
                more.extend(options());
                let cached = if aids.ccache { "ccache " } else { "" };
                more.push(format!("CC={cached}{}", self.cc));
                more.push(format!("CXX={cached}{}", self.cxx));
                more.extend(assigned("CFLAGS", &self.c_flags));
                more.extend(assigned("CXXFLAGS", &self.cxx_flags));
                vec![
                    step("configuring", &format!("{source}/configure"), &[], more),
                    step("compiling", "make", &["-j", &jobs], Vec::new()),
                    step(
                        "installing",
                        "make",
                        &["install", &format!("DESTDIR={stage}")],
                        Vec::new(),
                    ),
                ]
            }
            BuildTool::Meson => {
                let mut more = vec![format!("--prefix={prefix}")];
                more.extend(options());
                more.extend(assigned("-Dc_args", &self.c_flags));
                let destination = ["install", "-C", &build, "--destdir", &stage];
                vec![
                    step("configuring", "meson", &["setup", &build, &source], more),
                    step("compiling", "meson", &["compile", "-C", &build, "-j", &jobs], Vec::new()),
                    step("installing", "meson", &destination, Vec::new()),
                ]
            }
        }
    }
}

/// A compiler that is given alone is that of both languages: objects of two compilers do not mix at link time.
fn with_both_compilers(flags: &BuildFlags) -> BuildFlags {
    let mut flags = flags.clone();
    for (one, other) in [(BuildFlag::Cc, BuildFlag::Cxx), (BuildFlag::Cxx, BuildFlag::Cc)] {
        if let Some(name) = flags.get(&one).cloned() {
            flags.entry(other).or_insert(name);
        }
    }
    flags
}

/// The C++ program of a compiler: `g++-12` of `gcc-12`, `clang++` of `clang`.
fn cxx_of(compiler: &str) -> String {
    match compiler {
        "cc" => "c++".to_owned(),
        _ => compiler.replace("gcc", "g++").replace("clang", "clang++"),
    }
}

/// Options of a row with the values of flags for their names in braces.
fn filled(options: &[String], flags: &BuildFlags) -> impl Iterator<Item = String> {
    let fill = |text: String, (flag, value): (&BuildFlag, &String)| {
        text.replace(&format!("{{{}}}", flag.word()), value)
    };
    options.iter().map(move |option| flags.iter().fold(option.clone(), fill))
}

fn flags_in_words(c_flags: &[String], cxx_flags: &[String]) -> impl Iterator<Item = String> {
    let all = [assigned("CFLAGS", c_flags), assigned("CXXFLAGS", cxx_flags)];
    all.into_iter().flatten()
}

/// A command of a build, as build tools list them in `compile_commands.json`.
#[derive(Debug, Deserialize)]
pub(crate) struct CompileCommand {
    file: String,
    #[serde(default)]
    command: String,
}

/// A flag of a system that the build files of the source replace or leave out, and with what. Of several flags of one
/// kind, compilers obey the last. Parts of a source, such as libraries of others, may have their own.
pub(crate) fn replaced(
    commands: &[CompileCommand],
    flags: &BuildFlags,
) -> Option<(BuildFlag, String)> {
    flags.iter().find_map(|(flag, value)| {
        let (start, wanted) = match flag {
            BuildFlag::Opt => ("-O", format!("-{value}")),
            BuildFlag::Std => (STANDARD, format!("-std=gnu++{value}")),
            // Any form of it: compilers and versions of CMake differ.
            BuildFlag::Lto if value == "on" => ("-flto", String::new()),
            _ => return None,
        };
        let is_meant = |it: &&CompileCommand| *flag != BuildFlag::Std || !it.file.ends_with(".c");
        let last = |it: &CompileCommand| {
            let word = it.command.split_whitespace().rfind(|word| word.starts_with(start));
            word.unwrap_or_default().to_owned()
        };
        let is_wanted = |it: &str| if wanted.is_empty() { !it.is_empty() } else { it == wanted };
        let found: Vec<String> = commands.iter().filter(is_meant).map(last).collect();
        let other = found.iter().filter(|it| !is_wanted(it.as_str()));
        let is_most = 2 * other.clone().count() > found.len();
        Some((*flag, other.clone().next()?.clone())).filter(|_| is_most)
    })
}

/// `NAME=FLAGS`; `None` without flags.
fn assigned(name: &str, flags: &[String]) -> Option<String> {
    (!flags.is_empty()).then(|| format!("{name}={}", flags.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "
        [[build]]
        product = 'mysql'
        tool = 'cmake'
        options = ['-DCMAKE_BUILD_TYPE=RelWithDebInfo']
        submodules = ['a']
        [[build]]
        product = 'mysql'
        tool = 'cmake'
        from = '8.0'
        before = '8.0.33'
        cxx = 'g++-12'
        cxx_flags = ['-include', 'cstdint']
        patches = ['x.patch']
        [[build]]
        product = 'postgres'
        tool = 'configure'
        c_flags = ['-O2', '-g']
        options = ['--without-icu']
        [[build]]
        product = 'postgres'
        tool = 'meson'
        c_flags = ['-g']
        [[build]]
        product = 'mysql'
        tool = 'cmake'
        when = { opt = '*' }
        options = ['-DFLAGS=-{opt} -g']
        [[build]]
        product = 'mysql'
        tool = 'cmake'
        when = { lto = 'on', cc = 'clang*' }
        options = ['-DLLD=ON']
        ";

    fn with_flags(
        product: Product,
        tool: BuildTool,
        version: &str,
        flags: &BuildFlags,
    ) -> Result<BuildRecipe, BuildFlag> {
        #[derive(Deserialize)]
        struct Rows {
            build: Vec<BuildRow>,
        }
        let rows: Rows = toml::from_str(ROWS).unwrap();
        BuildRecipe::new(product, tool, version, &rows.build, flags)
    }

    fn recipe(product: Product, tool: BuildTool, version: &str) -> BuildRecipe {
        with_flags(product, tool, version, &BuildFlags::new()).unwrap()
    }

    fn flags(all: &[(BuildFlag, &str)]) -> BuildFlags {
        all.iter().map(|(flag, value)| (*flag, (*value).to_owned())).collect()
    }

    fn commands(recipe: &BuildRecipe, aids: Aids) -> Vec<String> {
        let [source, build, prefix, stage] = ["/s", "/b", "/p", "/t"].map(Path::new);
        let steps = recipe.steps(BuildPlaces { source, build, prefix, stage }, aids);
        steps.iter().map(|step| format!("{} {}", step.program, step.arguments.join(" "))).collect()
    }

    const PLAIN: Aids = Aids { ninja: false, ccache: false, jobs: 2 };
    const FULL: Aids = Aids { ninja: true, ccache: true, jobs: 2 };

    #[test]
    fn rows_are_for_versions() {
        let flags = |version| recipe(Product::MySql, BuildTool::Cmake, version).flags();
        assert_eq!(flags("5.7.44"), "-DCMAKE_BUILD_TYPE=RelWithDebInfo");
        let patched = "-DCMAKE_BUILD_TYPE=RelWithDebInfo CXXFLAGS=-include cstdint";
        assert_eq!(flags("8.0.0"), patched);
        assert_eq!(flags("8.0.32"), patched);
        assert_eq!(flags("8.0.33"), flags("5.7.44"));
        let old = recipe(Product::MySql, BuildTool::Cmake, "8.0.12");
        assert_eq!((old.patches.len(), old.submodules.len(), old.cxx.as_str()), (1, 1, "g++-12"));
        assert_eq!(recipe(Product::MariaDb, BuildTool::Cmake, "10.6.1").flags(), "");
    }

    #[test]
    fn flags_of_a_system_choose_rows_and_compilers() {
        let recipe_with = |all: &[(BuildFlag, &str)]| {
            with_flags(Product::MySql, BuildTool::Cmake, "5.7.44", &flags(all))
        };
        let built = recipe_with(&[(BuildFlag::Opt, "O3"), (BuildFlag::Cxx, "gcc-10")]).unwrap();
        assert_eq!(built.flags(), "-DCMAKE_BUILD_TYPE=RelWithDebInfo -DFLAGS=-O3 -g");
        assert_eq!((built.cc.as_str(), built.cxx.as_str()), ("gcc-10", "g++-10"));
        let built = recipe_with(&[(BuildFlag::Cc, "clang-16"), (BuildFlag::Lto, "on")]).unwrap();
        assert_eq!((built.cc.as_str(), built.cxx.as_str()), ("clang-16", "clang++-16"));
        assert!(built.flags().ends_with(" -DLLD=ON"), "{}", built.flags());
        let built = recipe_with(&[(BuildFlag::Cc, "cc"), (BuildFlag::Lto, "off")]).unwrap();
        assert_eq!(built, recipe(Product::MySql, BuildTool::Cmake, "5.7.44"));
        // No row is for these.
        assert_eq!(recipe_with(&[(BuildFlag::Lto, "on")]), Err(BuildFlag::Lto));
        assert_eq!(recipe_with(&[(BuildFlag::Std, "17")]), Err(BuildFlag::Std));
        let postgres = |all: &[(BuildFlag, &str)]| {
            let built = with_flags(Product::Postgres, BuildTool::Configure, "15.18", &flags(all));
            built.map(|it| it.cc)
        };
        assert_eq!(postgres(&[(BuildFlag::Cxx, "clang")]), Ok("clang".to_owned()));
        let two = [(BuildFlag::Cc, "gcc"), (BuildFlag::Cxx, "clang")];
        assert_eq!(postgres(&two), Err(BuildFlag::Cxx));
    }

    #[test]
    fn a_flag_that_the_source_replaces_is_found() {
        let command = |file: &str, command: &str| CompileCommand {
            file: file.to_owned(),
            command: command.to_owned(),
        };
        let commands = [
            command("a.cc", "c++ -O3 -std=gnu++17 -g -O2 -std=gnu++11 -c a.cc"),
            command("b.cc", "c++ -O3 -std=gnu++17 -g -O2 -std=gnu++11 -c b.cc"),
            command("c.c", "cc -O3 -g -c c.c"),
        ];
        let replaced_flag = |flag, value| replaced(&commands, &flags(&[(flag, value)]));
        assert_eq!(replaced_flag(BuildFlag::Opt, "O3"), Some((BuildFlag::Opt, "-O2".to_owned())));
        assert_eq!(replaced_flag(BuildFlag::Opt, "O2"), None, "one part may have its own");
        assert_eq!(
            replaced_flag(BuildFlag::Std, "17"),
            Some((BuildFlag::Std, "-std=gnu++11".to_owned()))
        );
        assert_eq!(replaced_flag(BuildFlag::Std, "11"), None);
        assert_eq!(replaced_flag(BuildFlag::Lto, "on"), Some((BuildFlag::Lto, String::new())));
        assert_eq!(replaced_flag(BuildFlag::Lto, "off"), None);
        let linked = [command("a.cc", "c++ -flto=thin -c a.cc")];
        assert_eq!(replaced(&linked, &flags(&[(BuildFlag::Lto, "on")])), None);
        assert_eq!(replaced(&[], &flags(&[(BuildFlag::Opt, "O3")])), None);
    }

    #[test]
    fn a_fix_replaces_nothing_that_a_system_asks_for() {
        let fix = |text: &str| -> Fix {
            toml::from_str(&format!("about = ''\nsigns = []\n{text}")).unwrap()
        };
        let is_for = |fix: &Fix, version, all: &[(BuildFlag, &str)]| {
            fix.is_for(Product::MySql, version, &flags(all))
        };
        let clang = fix("cc = 'clang'\ncxx = 'clang++'");
        assert!(is_for(&clang, "8.0.1", &[(BuildFlag::Opt, "O3")]));
        assert!(!is_for(&clang, "8.0.1", &[(BuildFlag::Cxx, "gcc-12")]));
        let standard = fix("cxx_flags = ['-std=gnu++14']");
        assert!(is_for(&standard, "8.0.1", &[(BuildFlag::Cxx, "gcc-12")]));
        assert!(!is_for(&standard, "8.0.1", &[(BuildFlag::Std, "17")]));
        let old = fix("product = 'mysql'\nfrom = '5.6'\nbefore = '8.0'");
        assert!(is_for(&old, "5.7.44", &[]) && !is_for(&old, "8.0.1", &[]));
        assert!(!old.is_for(Product::MariaDb, "5.7.44", &BuildFlags::new()));
    }

    #[test]
    fn a_fix_adds_options_and_flags() {
        let text = "
            about = 'policies of 3.5'
            signs = ['CMake < 3.5']
            options = ['-DPOLICY=3.5']
            cxx_flags = ['-w']
            ";
        let fix: Fix = toml::from_str(text).unwrap();
        assert!(fix.fits(&["  Compatibility with CMake < 3.5 has been removed".to_owned()]));
        assert!(!fix.fits(&["error: x".to_owned()]));
        let fixed = recipe(Product::MySql, BuildTool::Cmake, "8.0.0").fixed(&fix);
        let flags = "-DCMAKE_BUILD_TYPE=RelWithDebInfo -DPOLICY=3.5 CXXFLAGS=-include cstdint -w";
        assert_eq!((fixed.flags().as_str(), fixed.cxx.as_str()), (flags, "g++-12"));
    }

    #[test]
    fn every_build_tool_gets_its_own_commands() {
        let mysql = recipe(Product::MySql, BuildTool::Cmake, "8.0.32");
        let cmake = commands(&mysql, FULL);
        assert_eq!(
            cmake,
            [
                "cmake -S /s -B /b -GNinja -DCMAKE_INSTALL_PREFIX=/p \
                 -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_C_COMPILER=cc \
                 -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER=g++-12 \
                 -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_FLAGS=-include cstdint \
                 -DCMAKE_BUILD_TYPE=RelWithDebInfo",
                "cmake --build /b --parallel 2",
                "cmake --install /b",
            ]
        );
        let postgres = recipe(Product::Postgres, BuildTool::Configure, "15.18");
        assert_eq!(
            commands(&postgres, PLAIN),
            [
                "/s/configure --prefix=/p --without-icu CC=cc CXX=c++ CFLAGS=-O2 -g",
                "make -j 2",
                "make install DESTDIR=/t",
            ]
        );
        assert!(commands(&postgres, FULL)[0].contains("CC=ccache cc CXX=ccache c++"));
        let meson = recipe(Product::Postgres, BuildTool::Meson, "18.1");
        assert_eq!(
            commands(&meson, PLAIN),
            [
                "meson setup /b /s --prefix=/p -Dc_args=-g",
                "meson compile -C /b -j 2",
                "meson install -C /b --destdir /t",
            ]
        );
    }

    #[test]
    fn the_build_tool_is_recognised_by_the_tree() {
        let tool = |names: &[&str]| {
            BuildTool::in_tree(&names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(tool(&["README", "CMakeLists.txt"]), Some(BuildTool::Cmake));
        assert_eq!(tool(&["meson.build", "configure"]), Some(BuildTool::Configure));
        assert_eq!(tool(&["meson.build"]), Some(BuildTool::Meson));
        assert_eq!(tool(&["Makefile"]), None);
    }
}
