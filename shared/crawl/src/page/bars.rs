//! Plots, as SVG without text: the numbers are beside them. The policy allows no `style` attribute, so classes have the colours.

/// The width of a bar in its own unit.
const WIDTH: f64 = 1000.0;

/// Returns a bar whose parts follow each other, of a whole.
pub(super) fn stacked(parts: &[(&str, u64)], whole: u64) -> String {
    let mut from = 0;
    let mut rects = String::new();
    for (class, part) in parts.iter().filter(|(_, part)| *part > 0) {
        rects.push_str(&rect(class, from, *part, whole));
        from += part;
    }
    svg(&rects)
}

/// Returns a bar with a part of a whole.
pub(super) fn bar(class: &str, part: u64, whole: u64) -> String {
    stacked(&[(class, part)], whole)
}

fn rect(class: &str, from: u64, part: u64, whole: u64) -> String {
    let scaled = |count: u64| count as f64 * WIDTH / whole.max(1) as f64;
    // So that one page of many can be seen, too.
    format!(
        "<rect class=\"{class}\" x=\"{:.1}\" width=\"{:.1}\" height=\"10\"/>",
        scaled(from),
        scaled(part).max(2.0)
    )
}

fn svg(rects: &str) -> String {
    format!(
        "<svg class=\"bar\" viewBox=\"0 0 {WIDTH} 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{rects}</svg>"
    )
}

/// The height of [`columns`] in its own unit.
const HEIGHT: f64 = 100.0;

/// A column of [`columns`].
pub(super) struct Column {
    pub(super) class: &'static str,
    /// What it says if it is pointed at. Not a text of others.
    pub(super) title: String,
    pub(super) value: u64,
}

/// Returns columns beside each other. Each has a width of 10, and a gap of 2 in it.
pub(super) fn columns(columns: &[Column]) -> String {
    let most = columns
        .iter()
        .map(|column| column.value)
        .max()
        .unwrap_or(0)
        .max(1);
    let rects: String = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.value > 0)
        .map(|(at, Column { class, title, value })| {
            let height = (*value as f64 * HEIGHT / most as f64).max(1.0);
            let y = HEIGHT - height;
            format!("<rect class=\"{class}\" x=\"{}\" y=\"{y:.1}\" width=\"8\" height=\"{height:.1}\"><title>{title}</title></rect>", at * 10 + 1)
        })
        .collect();
    let width = columns.len().max(1) * 10;
    format!(
        "<svg class=\"columns\" viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{rects}</svg>"
    )
}

/// Returns what the colours of a plot mean.
pub(super) fn legend(entries: &[(&str, &str)]) -> String {
    let entries: String = entries.iter().map(|(class, name)| format!("<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"10\" height=\"10\"/></svg>{name}</li>")).collect();
    format!("<ul class=\"legend\">{entries}</ul>\n")
}
