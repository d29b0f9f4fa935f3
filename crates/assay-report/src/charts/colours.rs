//! Colours of charts: those of files, and the classes of systems.

use assay_svg::Paper;

/// The colours of files are those of the page in light mode. The fonts with the widest letters come first, because room
/// for text is calculated with such letters.
const STYLE: &str = "text{font:12px 'DejaVu Sans',Verdana,Arial,sans-serif;fill:#1b1d21}\
    .small{font-size:10px;fill:#5c626b}.large{font-size:15px}.soft{fill:#5c626b}\
    .paper{fill:#fff}.band{fill:#e6e2da}.one{stroke:#8d9098}.grid{stroke:#dedbd5}.frame{fill:none;stroke:#dedbd5}\
    .change{fill:currentColor;opacity:.2}.range{stroke:currentColor;stroke-width:3;stroke-linecap:round}\
    .span{stroke:currentColor}.dot{fill:currentColor;stroke:#fff}\
    .hollow{fill:#fff;stroke:currentColor;stroke-width:1.8}\
    .arrow{fill:none;stroke:currentColor;stroke-width:2}.curve{fill:none;stroke:currentColor;stroke-width:1.6}\
    .thin{fill:none;stroke:currentColor;stroke-width:.7;opacity:.8}\
    .bars{fill:none;stroke:currentColor;stroke-width:1.4}\
    .points{fill:none;stroke:currentColor;stroke-width:5.5;stroke-linecap:round}.fill{fill:currentColor;stroke:none}\
    .pale1{fill-opacity:.45;stroke:currentColor}.pale2{fill-opacity:.1;stroke:currentColor}\
    .dash1{stroke-dasharray:6 3}.dash2{stroke-dasharray:2 3}\
    .slower{color:#a84300}.faster{color:#00609c}.same{color:#5c626b}.undecided{color:#6d5a86}\
    .failed,.uneven{color:#a3195b}text.verdict{fill:currentColor}\
    .line0{color:#1f77b4}.line1{color:#d9622b}.line2{color:#2a9d5c}.line3{color:#b34fc4}.line4{color:#a58a00}\
    .line5{color:#6b7280}.cell{fill:#f7f6f3}.cell.better{fill:#bcdcf2}.cell.worse{fill:#f6dd96}.mark{fill:#1b1d21}";

/// A standalone file; title and description are for those who cannot see it.
pub(crate) fn file(paper: Paper, height: f64, title: &str, description: &str) -> String {
    paper.file(height, STYLE, title, description)
}

pub(crate) fn line_class(system: usize) -> String {
    match system / 6 {
        0 => format!("line{system}"),
        dashes => format!("line{} dash{}", system % 6, dashes.min(2)),
    }
}

/// Classes of a system's bars: those of further systems are paler, with a border.
pub(crate) fn bar_class(system: usize) -> String {
    match system / 6 {
        0 => format!("fill line{system}"),
        pale => format!("fill line{} pale{}", system % 6, pale.min(2)),
    }
}
