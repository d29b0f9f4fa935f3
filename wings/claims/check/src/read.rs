//! Parser of claim files.

use assay_plan::document::{FileFault, FileResult, FileTable, FileValue, listed, parse};

use crate::claim::{ClaimFile, ClaimPart, ClaimReference, PublishedClaim, SystemWords};
use crate::statement::{Quantity, Relation, Share, ShareUnit, Statement, Summary};
use crate::value::{ClaimSubject, RELATIONS, clients, quantity, relation, shared, systems, tests};

const MOST: usize = 1000;

const LONGEST: usize = 2000;

const TOP_KEYS: [&str; 6] = ["source", "systems", "than", "tests", "clients", "claim"];

const CLAIM_KEYS: [&str; 4] = ["text", "source", "reading", "part"];

const PART_KEYS: [&str; 8] =
    ["systems", "than", "tests", "clients", "quantity", "summary", "in", "within"];

fn homes() -> Vec<(&'static str, &'static [&'static str])> {
    vec![
        ("at the top of the file", &TOP_KEYS),
        ("in a `[[claim]]` table", &CLAIM_KEYS),
        ("in a `[[claim]]` or a `[[claim.part]]` table", &PART_KEYS),
        ("in a `[[claim]]` or a `[[claim.part]]` table", &RELATIONS),
    ]
}

pub(crate) fn claims(text: &str) -> FileResult<ClaimFile> {
    let document = parse(text)?;
    let file = FileTable::new(text, document.get_ref(), homes);
    file.refuse_unknown(&TOP_KEYS)?;
    let Some(value) = file.get("claim") else {
        return Err(FileFault::of_file("the file has no claims")
            .hint("`[[claim]]` begins one, with `text` and what it says"));
    };
    let tables = tables(&value, "claims, each written `[[claim]]`")?;
    let claims = tables.iter().map(|(value, table)| claim(value, table, &file));
    Ok(ClaimFile { claims: claims.collect::<Result<_, _>>()? })
}

fn tables<'t>(
    value: &FileValue<'t>,
    expected: &str,
) -> FileResult<Vec<(FileValue<'t>, FileTable<'t>)>> {
    let values = value.list(expected)?;
    if values.len() > MOST {
        return Err(value.fault(format!("there are at most {MOST} of them")));
    }
    values.into_iter().map(|it| it.table(expected).map(|table| (it, table))).collect()
}

fn claim(
    value: &FileValue<'_>,
    table: &FileTable<'_>,
    file: &FileTable<'_>,
) -> FileResult<PublishedClaim> {
    table.refuse_unknown(&[&CLAIM_KEYS[..], &PART_KEYS, &RELATIONS].concat())?;
    let lacks = |what: &str, hint: &str| {
        FileFault::at(value.span.clone(), format!("the claim lacks `{what}`")).hint(hint)
    };
    let Some(text) = table.get("text") else {
        return Err(lacks("text", "`text` is the statement as published"));
    };
    let Some(source) = table.get("source").or_else(|| file.get("source")) else {
        return Err(lacks("source", "`source` says where it was published, here or at the top"));
    };
    let parts = match table.get("part") {
        Some(parts) => {
            let tables = tables(&parts, "parts, each written `[[claim.part]]`")?;
            let part = |(value, it): &(FileValue<'_>, FileTable<'_>)| {
                it.refuse_unknown(&[&PART_KEYS[..], &RELATIONS].concat())?;
                part(value, &[it, table, file])
            };
            tables.iter().map(part).collect::<Result<_, _>>()?
        }
        None => vec![part(value, &[table, file])?],
    };
    let reading = table.get("reading").map(|it| words(&it)).transpose()?;
    Ok(PublishedClaim { text: words(&text)?, source: words(&source)?, reading, parts })
}

fn words(value: &FileValue<'_>) -> FileResult<String> {
    let text = value.text("a text")?.trim();
    match text.chars().count() {
        1..=LONGEST => Ok(text.to_owned()),
        _ => Err(value.fault(format!("`{}` must have 1 to {LONGEST} characters", value.key))),
    }
}

/// Reads a part, with missing keys from the following tables.
fn part(value: &FileValue<'_>, tables: &[&FileTable<'_>]) -> FileResult<ClaimPart> {
    let get = |key: &str| tables.iter().find_map(|table| table.get(key));
    let quantity = get("quantity").map_or(Ok(Quantity::Rqps), |value| quantity(&value))?;
    let summary = get("summary").map(|value| value.word(&Summary::ALL.map(Summary::word)));
    let summary = summary
        .transpose()?
        .and_then(|word| Summary::ALL.into_iter().find(|summary| summary.word() == word));
    let share = get("in").map(|value| shared(&value)).transpose()?;
    let (share, counted) = share.unwrap_or((Share::Every, ShareUnit::Tests));
    let (relation, extreme) = relation_of(value, tables, ClaimSubject { quantity, summary })?;
    let than = match tables.iter().find_map(|table| table.get("than")) {
        Some(it)
            if !quantity.is_ratio() && tables.first().is_some_and(|t| t.get("than").is_some()) =>
        {
            return Err(FileFault::at(
                it.key_span,
                format!("`{}` compares nothing", quantity.word()),
            )
            .hint("`rqps`, `cpu_ratio` and `relative FIGURE` compare a system with another one"));
        }
        Some(it) if it.value.as_str() == Some("previous") => ClaimReference::Previous,
        Some(it) => ClaimReference::Systems(systems(&it)?),
        None => ClaimReference::Base,
    };
    Ok(ClaimPart {
        systems: get("systems").map(|it| systems(&it)).transpose()?.unwrap_or_default(),
        than,
        tests: get("tests").map(|it| tests(&it)).transpose()?.unwrap_or_default(),
        clients: get("clients").map(|it| clients(&it)).transpose()?.unwrap_or_default(),
        extreme,
        statement: Statement { quantity, summary, relation, share, counted },
    })
}

fn relation_of(
    value: &FileValue<'_>,
    tables: &[&FileTable<'_>],
    subject: ClaimSubject,
) -> FileResult<(Relation, Option<SystemWords>)> {
    for table in tables {
        let found: Vec<FileValue<'_>> = RELATIONS.iter().filter_map(|key| table.get(key)).collect();
        match found.as_slice() {
            [] => {}
            [only] => {
                let relation = relation(only, table.get("within").as_ref(), subject)?;
                let is_extreme = !matches!(relation, Relation::In(_));
                let extreme = is_extreme.then(|| systems(only)).transpose()?;
                return Ok((relation, extreme.and_then(|it| it.into_iter().next())));
            }
            [first, second, ..] => {
                let message = format!("both `{}` and `{}` are claimed", first.key, second.key);
                return Err(FileFault::at(second.key_span.clone(), message)
                    .hint("write each as a `[[claim.part]]` of its own"));
            }
        }
    }
    let hint = format!("one of {} says it", listed(&RELATIONS));
    Err(FileFault::at(value.span.clone(), "nothing is claimed of the values").hint(hint))
}
