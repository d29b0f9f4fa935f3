//! Renders the SVG of a chart as PNG: twice as large, on white, with a bundled font, so that all machines draw the
//! same.

use std::sync::Arc;

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

/// DejaVu Sans 2.37, which has the symbols of verdicts. Its licence is beside it.
const FONT: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");

/// Pixels per unit, so that text is sharp on dense screens too.
const SCALE: f32 = 2.0;

/// Maximum pixels per side.
const SIDE_MAX: u32 = 32_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum RasterError {
    #[error("the drawing cannot be read")]
    Svg(#[from] resvg::usvg::Error),
    /// Empty, or larger than viewers open.
    #[error("a picture of {0} × {1} pixels cannot be made")]
    Size(u32, u32),
    #[error("the picture cannot be encoded: {0}")]
    Png(String),
}

/// Renders drawings with one font.
pub(crate) struct Rasterizer {
    options: Options<'static>,
}

impl Default for Rasterizer {
    fn default() -> Self {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        let options = Options {
            font_family: "DejaVu Sans".to_owned(),
            fontdb: Arc::new(fonts),
            ..Options::default()
        };
        Self { options }
    }
}

impl Rasterizer {
    pub(crate) fn png(&self, svg: &str) -> Result<Vec<u8>, RasterError> {
        let tree = Tree::from_str(svg, &self.options)?;
        let size = tree.size().to_int_size();
        let [width, height] =
            [size.width(), size.height()].map(|side| (side as f32 * SCALE) as u32);
        let fits = width.max(height) <= SIDE_MAX;
        let pixmap = if fits { Pixmap::new(width, height) } else { None };
        let mut pixmap = pixmap.ok_or(RasterError::Size(width, height))?;
        pixmap.fill(Color::WHITE);
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
        pixmap.encode_png().map_err(|error| RasterError::Png(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drawing of 40 × 20.
    fn picture(marks: &str) -> Pixmap {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20\">{marks}</svg>"
        );
        Pixmap::decode_png(&Rasterizer::default().png(&svg).unwrap()).unwrap()
    }

    fn dark(picture: &Pixmap) -> usize {
        picture.pixels().iter().filter(|pixel| pixel.red() < 128).count()
    }

    #[test]
    fn a_picture_is_twice_as_large_and_white() {
        let empty = picture("");
        assert_eq!((empty.width(), empty.height()), (80, 40));
        assert!(empty.pixels().iter().all(|pixel| (pixel.red(), pixel.alpha()) == (255, 255)));
    }

    #[test]
    fn text_and_the_symbols_of_verdicts_are_drawn() {
        // A font without a glyph shows a box, the same for every symbol.
        let symbols = ["▲", "▼", "=", "≠", "?", "✗", "−", "×", "±", "…"];
        let drawn = symbols.map(|symbol| picture(&format!("<text x='2' y='16'>{symbol}</text>")));
        assert!(drawn.iter().all(|picture| dark(picture) > 10));
        for (number, one) in drawn.iter().enumerate() {
            assert!(drawn.iter().skip(number + 1).all(|other| one != other), "{}", symbols[number]);
        }
    }

    #[test]
    fn dots_without_length_are_drawn() {
        let marks = "<path d='M20 10h0' stroke='black' stroke-width='6' stroke-linecap='round'/>";
        assert!(dark(&picture(marks)) > 80);
    }

    #[test]
    fn what_is_no_drawing_is_an_error() {
        let huge = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9e5\" height=\"9\"/>";
        for svg in ["", "<svg", "text", huge] {
            assert!(Rasterizer::default().png(svg).is_err(), "{svg}");
        }
    }
}
