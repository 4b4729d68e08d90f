//! The plot: one bar per program and figure, in multiples of the floor. The colours follow the reader's light or dark scheme.

use std::fmt::{self, Write as _};

use crate::figures::{Key, Values};
use crate::program::Program;

/// The figures of the plot with their names.
const BARS: &[(Key, &str)] = &[
    (Key::TreeCpu, "1,111 agents: processor time"),
    (Key::WideCpu, "1,000 parallel hires: processor time"),
    (Key::Waiting, "memory per waiting hire"),
    (Key::Latency32, "50 ms model, 32 calls at once: time"),
    (Key::Latency1000, "50 ms model, 1,000 calls at once: time"),
];

const WIDTH: f64 = 780.0;
const LEFT: f64 = 290.0;
const RIGHT: f64 = 60.0;
const TOP: f64 = 60.0;
const BAR: f64 = 14.0;
const GAP: f64 = 12.0;

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.line{stroke:#24292f;stroke-width:1}\
.guildhall{fill:#0969da}.rig{fill:#bf8700}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.line{stroke:#e6edf3}.guildhall{fill:#58a6ff}.rig{fill:#d29922}}";

/// Draws the figures that were measured.
pub(crate) fn svg(values: &Values) -> String {
    let groups: Vec<(&str, Vec<(Program, f64)>)> = BARS
        .iter()
        .map(|(key, name)| {
            let times = |program| Some((program, values.times_floor(*key, program)?.median));
            (*name, [Program::Guildhall, Program::Rig].into_iter().filter_map(times).collect())
        })
        .filter(|(_, bars): &(&str, Vec<_>)| !bars.is_empty())
        .collect();
    let highest = groups.iter().flat_map(|(_, bars)| bars).map(|(_, times)| *times).fold(1.0, f64::max);
    let scale = (WIDTH - LEFT - RIGHT) / highest;
    let (mut body, mut y) = (String::new(), TOP);
    for (name, bars) in &groups {
        #[expect(clippy::cast_precision_loss, reason = "there are at most two bars")]
        let height = bars.len() as f64 * BAR;
        text(&mut body, LEFT - 10.0, y + height / 2.0 + 4.5, "end", name);
        for (program, times) in bars {
            let (name, width, height) = (program.name(), times * scale, BAR - 1.0);
            line(
                &mut body,
                format_args!(r#"<rect class="{name}" x="{LEFT}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#),
            );
            text(&mut body, LEFT + times * scale + 6.0, y + 11.0, "start", &format!("{times:.1}"));
            y += BAR;
        }
        y += GAP;
    }
    let floor = LEFT + scale;
    let height = y + 10.0;
    let legend = legend();
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-label="Multiples of the floor for guildhall and rig">
<style>{STYLE}</style>
{legend}<line class="line" x1="{floor:.1}" y1="{:.1}" x2="{floor:.1}" y2="{:.1}" stroke-dasharray="4 3"/>
{body}</svg>
"#,
        TOP - 8.0,
        y - GAP + 8.0,
    )
}

/// The title and the colours of the programs.
fn legend() -> String {
    let mut legend = String::new();
    let title = "Multiples of a bare HTTP client (dashed line): shorter is better";
    line(&mut legend, format_args!(r#"<text class="title" x="10" y="20">{title}</text>"#));
    for (program, x) in [(Program::Guildhall, LEFT), (Program::Rig, LEFT + 110.0)] {
        let name = program.name();
        line(&mut legend, format_args!(r#"<rect class="{name}" x="{x}" y="31" width="12" height="12"/>"#));
        text(&mut legend, x + 18.0, 41.5, "start", name);
    }
    legend
}

fn text(body: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    line(body, format_args!(r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{words}</text>"#));
}

fn line(to: &mut String, element: fmt::Arguments<'_>) {
    writeln!(to, "{element}").expect("writing to a string can't fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_ends_within_the_plot_and_the_floor_is_one() {
        let mut values = Values::default();
        for (program, value) in [(Program::Floor, 10.0), (Program::Guildhall, 25.0), (Program::Rig, 50.0)] {
            values.add(Key::TreeCpu, program, value);
        }
        let plot = svg(&values);
        let scale = (WIDTH - LEFT - RIGHT) / 5.0;
        assert!(plot.contains(&format!(r#"x1="{:.1}""#, LEFT + scale)), "{plot}");
        assert!(plot.contains(&format!(r#"class="rig" x="{LEFT}" y="74.0" width="{:.1}""#, 5.0 * scale)), "{plot}");
        assert_eq!(plot.matches("<rect").count(), 4, "two bars and the legend: {plot}");
    }
}
