//! Keeps an unpacked tree as a prefix.

use std::path::PathBuf;

use assay_model::{Build, Package, Prefix, SystemSpec};
use tempfile::TempDir;

use crate::error::Error;
use crate::host;
use crate::layout::{self, Libraries};
use crate::provisioner::Provisioner;
use crate::unpack::{Limits, Tree};

pub(crate) struct Built {
    pub(crate) tree: TempDir,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) sha256: String,
    pub(crate) build: Build,
    pub(crate) packages: Vec<Package>,
}

pub(crate) fn prefix_name(spec: &SystemSpec, version: &str, sha256: &str) -> String {
    format!("{}-{version}-{}", spec.product, sha256.get(..16).unwrap_or(sha256))
}

impl Provisioner {
    pub(crate) fn keep(
        &self,
        spec: &SystemSpec,
        built: Built,
        libraries: Libraries,
    ) -> Result<Prefix, Error> {
        let Built { tree, name, version, sha256, build, packages } = built;
        let candidates = self.catalog.layout(spec.product)?;
        let mut layout = layout::find(tree.path(), candidates, &version, libraries)?;
        layout::complete(tree.path(), &mut layout, &candidates.programs)?;
        if libraries == Libraries::Host {
            host::check(&tree.path().join(&layout.server))?;
        }
        let product = spec.product;
        let path = PathBuf::new();
        let stored = Prefix { path, sha256, product, version, build, packages, layout };
        Tree::new(tree.path(), Limits::SERVER).seal()?;
        self.store.keep(tree, &name, &stored)
    }
}
