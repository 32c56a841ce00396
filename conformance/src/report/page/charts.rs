//! Charts of a page, as SVG. What is ink becomes the page's own colour, so that a chart is read on light and dark ground alike; the
//! other colours are of middle brightness.

use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Mesh<'a, 'b> = MeshStyle<'a, 'b, RangedCoordf64, RangedCoordf64, SVGBackend<'a>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// What stands for the page's own colour until the chart is done.
const INK: RGBColor = RGBColor(1, 2, 3);
/// Right, wrong, and beside them.
const BLUE: RGBColor = RGBColor(74, 128, 214);
const RED: RGBColor = RGBColor(214, 72, 72);
const GREY: RGBColor = RGBColor(134, 142, 150);
const ORANGE: RGBColor = RGBColor(214, 138, 42);

const FONT: &str = "sans-serif";
/// Width of a chart in its own units.
const WIDTH: u32 = 760;

/// Width of the labels at a chart's left.
fn beside<'a>(labels: impl Iterator<Item = &'a str>) -> u32 {
    // No character of a sans-serif font of 13 units is wider than 7.5 on average, in words such as these.
    labels.map(|label| label.chars().count() as u32 * 15 / 2).max().unwrap_or(0) + 16
}

/// How a mark looks; shapes differ as well as colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// A filled circle.
    Plain,
    /// A cross.
    Wrong,
    /// A small triangle.
    Beside,
}

/// A row of a strip chart.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    pub(super) label: String,
    pub(super) marks: Vec<(f64, Look)>,
    pub(super) interval: Option<(f64, f64)>,
}

/// The axis of a strip chart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis<'a> {
    pub(super) title: &'a str,
    /// Whether it is logarithmic.
    pub(super) log: bool,
    /// Whether a linear one begins at zero.
    pub(super) zero: bool,
    /// A value that everything is compared with.
    pub(super) line: Option<f64>,
}

/// A line of a line chart.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) points: Vec<(f64, f64)>,
    /// Whether it is a bound, which is drawn in orange, or an error.
    pub(super) bound: bool,
}

/// A chart as SVG text: `height` units high, drawn by `draw`, and said to be what `name` says.
fn svg(name: &str, width: u32, height: u32, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String, String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
        draw(&area).and_then(|()| area.present()).map_err(|error| error.to_string())?;
    }
    let name = maud::html! { (name) }.into_string();
    let text = text.replace("#010203", "currentColor");
    // Never larger than it was drawn, so that words keep the page's size.
    let style = format!("width:100%;max-width:{width}px;height:auto");
    Ok(text.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{name}\" style=\"{style}\" "), 1))
}

/// A power of ten, or a number of few digits.
fn number(x: f64, log: bool) -> String {
    if !log {
        return format!("{x:.2}").trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    if (x - x.round()).abs() < 1e-6 { format!("1e{}", x.round()) } else { String::new() }
}

/// Marks on a row for each label.
pub(super) fn strips(name: &str, rows: &[Strip], axis: Axis<'_>) -> Result<String, String> {
    let at = |x: f64| if axis.log { x.max(1e-300).log10() } else { x };
    let ends = rows.iter().flat_map(|row| row.interval.into_iter().flat_map(|(low, high)| [low, high]));
    let marks = rows.iter().flat_map(|row| row.marks.iter().map(|mark| mark.0));
    let all = marks.chain(ends).chain(axis.line).map(at).filter(|x| x.is_finite());
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let (low, high) = match axis.log {
        _ if low > high => (0.0, 1.0),
        true => ((low - 0.2).floor(), (high + 0.2).ceil()),
        false if axis.zero => (low.min(0.0), high * 1.04 + f64::MIN_POSITIVE),
        // At least five hundredths on either side, so that noise does not look like change.
        false => (low - 0.05, high + 0.05),
    };
    let height = 22 * rows.len() as u32 + 64;
    let labels = beside(rows.iter().map(|row| row.label.as_str()));
    svg(name, WIDTH, height, |area| {
        let mut builder = ChartBuilder::on(area);
        builder.margin_top(8).margin_right(24).x_label_area_size(44).y_label_area_size(labels);
        let mut chart = builder.build_cartesian_2d(low..high, -0.6..rows.len() as f64 - 0.4)?;
        let format = |x: &f64| number(*x, axis.log);
        let mut mesh = chart.configure_mesh();
        mesh.disable_y_mesh()
            .disable_y_axis()
            .x_labels(if axis.log { (high - low) as usize + 1 } else { 9 })
            .x_label_formatter(&format)
            .x_desc(axis.title);
        in_ink(&mut mesh).draw()?;
        let last = rows.len() as f64 - 1.0;
        if let Some(x) = axis.line.map(at) {
            let ends = [(x, -0.6), (x, last + 0.6)];
            chart.draw_series([PathElement::new(ends, ORANGE.stroke_width(2))])?;
        }
        for (i, row) in rows.iter().enumerate() {
            let y = last - i as f64;
            let (_, down) = chart.backend_coord(&(low, y));
            let right = Pos::new(HPos::Right, VPos::Center);
            area.draw(&Text::new(
                row.label.clone(),
                (labels as i32 - 8, down),
                (FONT, 13).into_font().color(&INK).pos(right),
            ))?;
            chart.draw_series([PathElement::new([(low, y), (high, y)], INK.mix(0.08))])?;
            if let Some((from, to)) = row.interval {
                chart.draw_series([PathElement::new([(at(from), y), (at(to), y)], BLUE.stroke_width(3))])?;
            }
            for &(x, look) in &row.marks {
                let place = (at(x).clamp(low, high), y);
                match look {
                    Look::Plain => chart.draw_series([Circle::new(place, 4, BLUE.mix(0.75).filled())])?,
                    Look::Wrong => chart.draw_series([Cross::new(place, 5, RED.stroke_width(2))])?,
                    Look::Beside => chart.draw_series([TriangleMarker::new(place, 4, GREY.filled())])?,
                };
            }
        }
        Ok(())
    })
}

/// Axes and their words in ink, lines across the chart faint.
fn in_ink<'a, 'b, 'm>(mesh: &'m mut Mesh<'a, 'b>) -> &'m mut Mesh<'a, 'b> {
    mesh.axis_style(INK.mix(0.5))
        .bold_line_style(INK.mix(0.12))
        .light_line_style(INK.mix(0.0))
        .label_style((FONT, 12).into_font().color(&INK))
        .axis_desc_style((FONT, 13).into_font().color(&INK))
}

/// Lines over tokens, both axes logarithmic.
pub(super) fn lines(name: &str, lines: &[Line], title: &str) -> Result<String, String> {
    let points = || lines.iter().flat_map(|line| &line.points).filter(|(x, y)| *x > 0.0 && *y > 0.0 && y.is_finite());
    let range = |of: fn(&(f64, f64)) -> f64| {
        let all = points().map(|point| of(point).log10());
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        if low > high { (0.0, 1.0) } else { ((low - 0.1).floor(), (high + 0.1).ceil()) }
    };
    let ((left, right), (low, high)) = (range(|point| point.0), range(|point| point.1));
    svg(name, 460, 300, |area| {
        let mut builder = ChartBuilder::on(area);
        builder.margin_top(10).margin_right(20).x_label_area_size(42).y_label_area_size(56);
        let mut chart = builder.build_cartesian_2d(left.max(0.0)..right, low..high)?;
        let format = |x: &f64| number(*x, true);
        let mut mesh = chart.configure_mesh();
        mesh.x_labels((right - left) as usize + 1)
            .y_labels(((high - low) as usize + 1).min(10))
            .x_label_formatter(&format)
            .y_label_formatter(&format)
            .x_desc(title);
        in_ink(&mut mesh).draw()?;
        for line in lines {
            let style = if line.bound { ORANGE } else { BLUE }.stroke_width(2);
            let seen = line.points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0 && y.is_finite());
            chart.draw_series(LineSeries::new(seen.map(|(x, y)| (x.log10(), y.log10())), style))?;
        }
        Ok(())
    })
}

/// A cell of a heat map.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// From 0, as good as none, to 1.
    pub(super) heat: f64,
    /// What stands in it.
    pub(super) text: String,
}

/// A heat map: rows of cells, nothing where there is none.
pub(super) fn heat(name: &str, columns: &[String], rows: &[(String, Vec<Option<Cell>>)]) -> Result<String, String> {
    const SIDE: i32 = 26;
    const HIGH: i32 = 20;
    const ABOVE: i32 = 92;
    let labels = beside(rows.iter().map(|(row, _)| row.as_str()));
    let width = labels + 60 + columns.len() as u32 * SIDE as u32;
    let height = ABOVE as u32 + rows.len() as u32 * HIGH as u32 + 8;
    svg(name, width, height, |area| {
        let label = |size: i32| (FONT, size).into_font().color(&INK);
        let upward = FontTransform::Rotate270;
        for (i, column) in columns.iter().enumerate() {
            let place = (labels as i32 + i as i32 * SIDE + SIDE / 2, ABOVE - 6);
            let style = (FONT, 12).into_font().transform(upward.clone()).color(&INK);
            area.draw(&Text::new(column.clone(), place, style.pos(Pos::new(HPos::Left, VPos::Center))))?;
        }
        for (i, (row, cells)) in rows.iter().enumerate() {
            let top = ABOVE + i as i32 * HIGH;
            let right = Pos::new(HPos::Right, VPos::Center);
            let place = (labels as i32 - 8, top + HIGH / 2);
            area.draw(&Text::new(row.clone(), place, label(12).pos(right)))?;
            for (j, cell) in cells.iter().enumerate() {
                let left = labels as i32 + j as i32 * SIDE;
                let corners = [(left + 1, top + 1), (left + SIDE - 1, top + HIGH - 1)];
                let Some(cell) = cell else {
                    area.draw(&Rectangle::new(corners, INK.mix(0.05).filled()))?;
                    continue;
                };
                area.draw(&Rectangle::new(corners, BLUE.mix(0.2 + 0.7 * cell.heat.clamp(0.0, 1.0)).filled()))?;
                let center = Pos::new(HPos::Center, VPos::Center);
                let middle = (left + SIDE / 2, top + HIGH / 2);
                area.draw(&Text::new(cell.text.clone(), middle, label(11).pos(center)))?;
            }
        }
        Ok(())
    })
}
