//! Documents about systems in cells, which the work after a study leaves. Their types may belong to a wing.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::CellId;

/// The type of a document.
pub trait StudyDocument: Serialize + DeserializeOwned {
    /// Name of its documents in ledgers.
    const NAME: &'static str;

    /// The bounds of its values, because a ledger may come from anyone.
    fn check(&self) -> Result<(), String>;
}

/// A document of any type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellDocument {
    pub system: usize,
    pub cell: CellId,
    pub name: String,
    pub json: String,
}

impl CellDocument {
    pub fn new<D: StudyDocument>(
        system: usize,
        cell: CellId,
        document: &D,
    ) -> Result<Self, UnreadableDocument> {
        let json = document
            .check()
            .and_then(|()| serde_json::to_string(document).map_err(|error| error.to_string()));
        let name = D::NAME.to_owned();
        match json {
            Ok(json) => Ok(Self { system, cell, name, json }),
            Err(why) => Err(UnreadableDocument { name, system, cell, why }),
        }
    }

    fn read<D: StudyDocument>(&self) -> Result<D, UnreadableDocument> {
        let document = serde_json::from_str::<D>(&self.json).map_err(|error| error.to_string());
        let checked = document.and_then(|document| document.check().map(|()| document));
        checked.map_err(|why| {
            let (name, system, cell) = (self.name.clone(), self.system, self.cell);
            UnreadableDocument { name, system, cell, why }
        })
    }
}

/// The documents of a study, by cell and system. Unknown names are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StudyDocuments {
    list: Vec<CellDocument>,
    /// Indices by name, cell and system: a ledger may have many names.
    places: BTreeMap<(String, CellId, usize), usize>,
}

impl StudyDocuments {
    /// The documents of a type: system, cell, and document.
    pub fn read_all<D: StudyDocument>(
        &self,
    ) -> Result<Vec<(usize, CellId, D)>, UnreadableDocument> {
        let named = self.list.iter().filter(|document| document.name == D::NAME);
        named.map(|document| Ok((document.system, document.cell, document.read()?))).collect()
    }

    /// Takes out the documents of a type.
    pub fn take<D: StudyDocument>(
        &mut self,
    ) -> Result<Vec<(usize, CellId, D)>, UnreadableDocument> {
        let taken = self.read_all()?;
        let rest = std::mem::take(self).list.into_iter();
        *self = rest.filter(|document| document.name != D::NAME).collect();
        Ok(taken)
    }

    /// `None` if the system has no such document in this cell.
    pub fn get<D: StudyDocument>(
        &self,
        system: usize,
        cell: CellId,
    ) -> Result<Option<D>, UnreadableDocument> {
        let place = self.places.get(&(D::NAME.to_owned(), cell, system));
        place.map(|place| self.list[*place].read()).transpose()
    }

    /// Reads the documents of a type, as a check.
    pub fn check<D: StudyDocument>(&self) -> Result<(), UnreadableDocument> {
        self.read_all::<D>().map(|_| ())
    }
}

impl FromIterator<CellDocument> for StudyDocuments {
    fn from_iter<I: IntoIterator<Item = CellDocument>>(documents: I) -> Self {
        let list: Vec<CellDocument> = documents.into_iter().collect();
        let key = |document: &CellDocument| (document.name.clone(), document.cell, document.system);
        let places =
            list.iter().enumerate().map(|(place, document)| (key(document), place)).collect();
        Self { list, places }
    }
}

/// A document that is not what its name promises, or that could not be read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableDocument {
    name: String,
    system: usize,
    cell: CellId,
    why: String,
}

impl fmt::Display for UnreadableDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, system, cell, why } = self;
        write!(f, "document `{name}` of system {} in {}: {why}", system + 1, cell.test)
    }
}

impl std::error::Error for UnreadableDocument {}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::{Class, Definition, Group, PlanningFacts, Schema, Setup, StartFrom, Test, Unit};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Weight {
        kg: u32,
    }

    impl StudyDocument for Weight {
        const NAME: &'static str = "weight";

        fn check(&self) -> Result<(), String> {
            if self.kg <= 100 { Ok(()) } else { Err(format!("{} kg", self.kg)) }
        }
    }

    fn cell() -> CellId {
        let group = Group { rank: 0, word: "g".to_owned(), title: "g".to_owned() };
        let test = Test::intern(Definition {
            name: "scan".to_owned(),
            group,
            groups: Vec::new(),
            does: String::new(),
            class: Class::Read,
            start_from: StartFrom::Fresh,
            unit: Unit::ThousandRows,
            schema: Schema::Sbtest,
            roles: Vec::new(),
            planning: PlanningFacts::default(),
            digest: String::new(),
        });
        CellId { test, setup: Setup { clients: 1, tables: 1, rows: 1 } }
    }

    #[test]
    fn documents_are_read_by_their_names_and_checked() {
        let cell = cell();
        let document = CellDocument::new(1, cell, &Weight { kg: 7 }).unwrap();
        let other = CellDocument { name: "unknown".to_owned(), ..document.clone() };
        let documents: StudyDocuments = [other, document.clone()].into_iter().collect();
        assert_eq!(documents.read_all::<Weight>(), Ok(vec![(1, cell, Weight { kg: 7 })]));
        assert_eq!(documents.get::<Weight>(0, cell), Ok(None));
        assert_eq!(documents.get::<Weight>(1, cell), Ok(Some(Weight { kg: 7 })));
        let mut rest = documents;
        assert_eq!(rest.take::<Weight>().map(|taken| taken.len()), Ok(1));
        assert_eq!(rest.read_all::<Weight>(), Ok(Vec::new()));
        assert_eq!(rest.list.len(), 1);
        assert!(CellDocument::new(1, cell, &Weight { kg: 101 }).is_err());
        for (json, why) in [("{\"kg\":101}", "101 kg"), ("{}", "missing field")] {
            let wrong = CellDocument { json: json.to_owned(), ..document.clone() };
            let error = StudyDocuments::from_iter([wrong]).check::<Weight>().unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
