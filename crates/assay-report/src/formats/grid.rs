//! Tables of pages.

use super::markup::{Markup, attribute, escaped, inline};
use crate::document::{Block, Caption, Column, Row, RowGroup, Table, TableCell};
use crate::words::capital;

type RenderBlocks = fn(&mut Markup, &[Block<'_>], usize);

/// On a small screen, the cells of a stack are below each other with their headings.
pub(super) fn table(to: &mut Markup, table: &Table, blocks: RenderBlocks) {
    let look = &table.look;
    let class = match (look.class.as_str(), &table.caption) {
        ("", Some(_)) => "shaded",
        ("", None) => "stack",
        (class, _) => class,
    };
    if !look.is_small {
        let scroll = format!("scroll {}", look.scroll);
        let (scroll, label) = (scroll.trim(), attribute("aria-label", &label(table)));
        to.line(format_args!("<div class=\"{scroll}\" tabindex=\"0\" role=\"region\"{label}>"));
    }
    let id = attribute("id", look.sorted);
    to.line(format_args!("<table class=\"{class}\"{id}>"));
    if let Some(caption) = &table.caption {
        to.line(format_args!("<caption><span>{}</span></caption>", self::caption(caption)));
    }
    headings(to, table);
    let is_stack = class.split(' ').any(|word| word == "stack");
    for group in &table.groups {
        self::group(to, table, group, is_stack, blocks);
    }
    to.line(format_args!("</table>"));
    if !look.is_small {
        to.line(format_args!("</div>"));
    }
}

fn label(table: &Table) -> String {
    let title = table.caption.as_ref().map(|it| it.title.clone()).unwrap_or_default();
    if !table.look.label.is_empty() {
        return table.look.label.to_owned();
    }
    if !title.is_empty() {
        return title;
    }
    let first = table.columns.iter().find(|it| !it.heading.is_empty());
    first.map(|it| capital(&it.heading)).unwrap_or_default()
}

fn caption(caption: &Caption) -> String {
    let title = escaped(&caption.title);
    let legend = caption.legend.iter().map(|(class, meaning)| {
        format!(" <span class=\"shade\"><i class=\"{class}\"></i>{meaning}</span>")
    });
    let (legend, note) = (legend.collect::<String>(), inline(&caption.note.as_str().into()));
    match (title.is_empty(), note.is_empty()) {
        (true, _) => format!("{note}{legend}"),
        (false, true) => format!("<strong>{title}</strong>{legend}"),
        (false, false) => format!("<strong>{title}</strong>: {note}{legend}"),
    }
}

fn headings(to: &mut Markup, table: &Table) {
    let columns: Vec<(usize, &Column)> = table.columns.iter().enumerate().collect();
    if columns.iter().all(|(_, column)| column.heading.is_empty() && column.scale.is_empty()) {
        return;
    }
    let is_deep = columns.iter().any(|(_, column)| column.above.is_some());
    let heading = |(number, column): &(usize, &Column)| {
        if table.look.is_small && column.heading.is_empty() {
            return "<td></td>".to_owned();
        }
        let text = match column.scale.as_str() {
            "" => escaped(&column.heading),
            scale => format!("<span class=\"label\">{}</span>{scale}", escaped(&column.heading)),
        };
        let sort = if table.look.sorted.is_empty() { String::new() } else { number.to_string() };
        let rows = if is_deep && column.above.is_none() { "2" } else { "" };
        format!(
            "<th scope=\"col\"{}{}{}{}>{text}</th>",
            class_of(column),
            attribute("rowspan", rows),
            attribute("data-sort", &sort),
            attribute("title", &column.title),
        )
    };
    let mut first = String::new();
    let mut second = String::new();
    for part in
        columns.chunk_by(|(_, one), (_, next)| one.above.is_some() && one.above == next.above)
    {
        let row: String = part.iter().map(heading).collect();
        match part.first().and_then(|(_, column)| column.above.as_ref()) {
            None => first += &row,
            Some((shared, class)) => {
                let (span, shared) = (part.len(), escaped(shared));
                first += &format!(
                    "<th scope=\"colgroup\" colspan=\"{span}\" class=\"{class}\">{shared}</th>"
                );
                second += &row;
            }
        }
    }
    let second = if second.is_empty() { second } else { format!("\n<tr>{second}</tr>") };
    to.line(format_args!("<thead><tr>{first}</tr>{second}</thead>"));
}

fn class_of(column: &Column) -> String {
    let number = if column.is_number { "n " } else { "" };
    attribute("class", format!("{number}{}", column.class).trim())
}

/// Rows with details have a separate body for them, and another for their heading.
fn group(to: &mut Markup, table: &Table, group: &RowGroup, is_stack: bool, blocks: RenderBlocks) {
    let begin = |to: &mut Markup, class: &str| {
        to.line(format_args!("<tbody{}>", attribute("class", class)));
    };
    let has_more = group.rows.iter().any(|row| !row.more.is_empty());
    match (has_more, table.look.is_small) {
        (true, _) => begin(to, "group"),
        (_, true) => {}
        _ => begin(to, group.class),
    }
    if !group.heading.is_empty() {
        let (span, heading) = (table.columns.len(), inline(&group.heading));
        to.line(format_args!(
            "<tr><th scope=\"rowgroup\" colspan=\"{span}\"><span>{heading}</span></th></tr>"
        ));
    }
    for row in &group.rows {
        if has_more {
            let data = row.data.iter().map(|(name, value)| attribute_of(name, value));
            let (id, data) = (attribute("id", &row.id), data.collect::<String>());
            to.line(format_args!("</tbody>\n<tbody class=\"test\"{id}{data}>"));
        }
        self::row(to, table, row, is_stack, blocks);
    }
    if !table.look.is_small {
        to.line(format_args!("</tbody>"));
    }
}

fn attribute_of(name: &str, value: &str) -> String {
    format!(" data-{name}=\"{}\"", escaped(value))
}

fn row(to: &mut Markup, table: &Table, row: &Row, is_stack: bool, blocks: RenderBlocks) {
    let columns = &table.columns;
    // A column of marks has no heading, and does not identify its row.
    let first = || columns.iter().position(|column| !column.heading.is_empty());
    let names = if table.look.is_small { 0 } else { first().unwrap_or(0) };
    let cells = row.cells.iter().zip(columns).enumerate();
    let opens = !row.more.is_empty();
    let cells = cells.map(|(at, (shown, column))| match at == names {
        true => name(shown, column, opens),
        false => cell(shown, column, is_stack),
    });
    let cells = cells.collect::<String>();
    if !opens {
        let (id, class) = (attribute("id", &row.id), attribute("class", row.class));
        to.line(format_args!("<tr{id}{class}>{cells}</tr>"));
        return;
    }
    to.line(format_args!("<tr>{cells}</tr>"));
    to.line(format_args!("<tr class=\"more\"><td colspan=\"{}\"><div>", columns.len()));
    blocks(to, &row.more, 3);
    to.line(format_args!("</div></td></tr>"));
}

fn name(cell: &TableCell, column: &Column, opens: bool) -> String {
    let text = inline(&cell.text);
    let text = if opens { format!("<details><summary>{text}</summary></details>") } else { text };
    let class = format!("{} {}", column.class, cell.class);
    let (class, title) = (attribute("class", class.trim()), attribute("title", &cell.title));
    format!("<th scope=\"row\"{class}{title}{}>{text}</th>", key(cell))
}

fn cell(cell: &TableCell, column: &Column, is_stack: bool) -> String {
    let heading = match (&column.above, column.scale.is_empty()) {
        (Some((shared, _)), false) => shared,
        (_, true) if is_stack => &column.heading,
        _ => "",
    };
    let heading = attribute("data-h", heading);
    let number = if column.is_number { "n" } else { "" };
    let classes = [number, column.class, &cell.class];
    let classes: Vec<&str> = classes.into_iter().filter(|class| !class.is_empty()).collect();
    let class = attribute("class", &classes.join(" "));
    let title = attribute("title", &cell.title);
    format!("<td{class}{title}{}{heading}>{}</td>", key(cell), inline(&cell.text))
}

fn key(cell: &TableCell) -> String {
    cell.key.as_ref().map(|key| attribute_of("v", key)).unwrap_or_default()
}
