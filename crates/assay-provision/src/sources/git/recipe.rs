//! Build steps of a source tree, combined from rows of the catalog. Pure.

use std::path::{Path, PathBuf};

use assay_model::Product;
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

impl Fix {
    pub(crate) fn fits(&self, errors: &[String]) -> bool {
        errors.iter().any(|line| self.signs.iter().any(|sign| line.contains(sign)))
    }
}

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
    /// Combines the rows for a version; later ones add to earlier ones.
    pub(crate) fn new(product: Product, tool: BuildTool, version: &str, rows: &[BuildRow]) -> Self {
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
        let fits = |row: &&BuildRow| {
            let begun = row.from.as_deref().is_none_or(|from| compare(version, from).is_ge());
            let over = row.before.as_deref().is_some_and(|before| compare(version, before).is_ge());
            row.product == product && row.tool == tool && begun && !over
        };
        for row in rows.iter().filter(fits) {
            recipe.cc = row.cc.clone().unwrap_or(recipe.cc);
            recipe.cxx = row.cxx.clone().unwrap_or(recipe.cxx);
            recipe.options.extend_from_slice(&row.options);
            recipe.c_flags.extend_from_slice(&row.c_flags);
            recipe.cxx_flags.extend_from_slice(&row.cxx_flags);
            recipe.patches.extend_from_slice(&row.patches);
            recipe.submodules.extend_from_slice(&row.submodules);
        }
        recipe
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
        let mut words = self.options.clone();
        for (name, flags) in [("CFLAGS", &self.c_flags), ("CXXFLAGS", &self.cxx_flags)] {
            words.extend(assigned(name, flags));
        }
        words.join(" ")
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
        match self.tool {
            BuildTool::Cmake => {
                let mut more = Vec::new();
                more.extend(aids.ninja.then(|| "-GNinja".to_owned()));
                more.push(format!("-DCMAKE_INSTALL_PREFIX={prefix}"));
                let languages =
                    [("C", &self.cc, &self.c_flags), ("CXX", &self.cxx, &self.cxx_flags)];
                for (language, compiler, flags) in languages {
                    more.push(format!("-DCMAKE_{language}_COMPILER={compiler}"));
                    let launcher = || format!("-DCMAKE_{language}_COMPILER_LAUNCHER=ccache");
                    more.extend(aids.ccache.then(launcher));
                    more.extend(assigned(&format!("-DCMAKE_{language}_FLAGS"), flags));
                }
                more.extend_from_slice(&self.options);
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
                more.extend_from_slice(&self.options);
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
                more.extend_from_slice(&self.options);
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
        ";

    fn recipe(product: Product, tool: BuildTool, version: &str) -> BuildRecipe {
        #[derive(Deserialize)]
        struct Rows {
            build: Vec<BuildRow>,
        }
        let rows: Rows = toml::from_str(ROWS).unwrap();
        BuildRecipe::new(product, tool, version, &rows.build)
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
                "cmake -S /s -B /b -GNinja -DCMAKE_INSTALL_PREFIX=/p -DCMAKE_C_COMPILER=cc \
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
