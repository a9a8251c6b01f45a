//! The two text formats: OpenMetrics, which the library writes, and the classic one of Prometheus, made from it.
//!
//! They differ in the names of counters: a counter `x` has the sample `x_total`, and OpenMetrics describes it as `x`, the
//! classic format as `x_total`. OpenMetrics also has units and an end mark, which the classic format has not.

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4.
    Classic,
}

const OPEN_METRICS: &str = "application/openmetrics-text";

impl Format {
    /// The format that a caller prefers by its `Accept` header. Whoever does not ask for OpenMetrics gets the classic
    /// format, also if it can't be told what is asked for: everything reads it.
    pub fn preferred(accept: &str) -> Self {
        let (mut open, mut classic) = (0.0, 0.0);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let (mut quality, mut version) = (1.0, None);
            for (name, value) in parts.filter_map(|part| part.split_once('=')) {
                match name.trim().to_ascii_lowercase().as_str() {
                    "q" => quality = value.trim().parse::<f64>().unwrap_or(0.0),
                    "version" => version = Some(value.trim().trim_matches('"')),
                    _ => {}
                }
            }
            if kind.eq_ignore_ascii_case(OPEN_METRICS) && matches!(version, None | Some("1.0.0" | "0.0.1")) {
                open = quality.max(open);
            } else if ["text/plain", "text/*", "*/*"].iter().any(|it| kind.eq_ignore_ascii_case(it)) {
                classic = quality.max(classic);
            }
        }
        if open > classic { Self::OpenMetrics } else { Self::Classic }
    }

    /// Its content type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// A text of OpenMetrics in this format.
    pub(crate) fn of_open_metrics(self, text: String) -> String {
        match self {
            Self::OpenMetrics => text,
            Self::Classic => classic(&text),
        }
    }
}

/// Makes the classic format of OpenMetrics. The library writes the help of a metric right before its type.
fn classic(text: &str) -> String {
    let mut classic = String::with_capacity(text.len());
    let mut help: Option<&str> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = Some(rest);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let suffix = if kind == "counter" { "_total" } else { "" };
            let kind = if kind == "unknown" { "untyped" } else { kind };
            let text = help.take().and_then(|help| help.strip_prefix(name)).unwrap_or_default();
            classic.extend(["# HELP ", name, suffix, text, "\n"]);
            classic.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
        } else if !line.starts_with('#') {
            classic.extend([line, "\n"]);
        }
    }
    classic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_prefers_openmetrics_gets_it_and_everybody_else_the_classic_format() {
        let check = |accept, expected| assert_eq!(Format::preferred(accept), expected, "{accept}");
        check("", Format::Classic);
        check("*/*", Format::Classic);
        check("application/json", Format::Classic);
        check("text/plain;version=0.0.4", Format::Classic);
        check("application/openmetrics-text", Format::OpenMetrics);
        check("application/openmetrics-text;version=2.0.0", Format::Classic);
        check("application/openmetrics-text; q=0", Format::Classic);
        check("application/openmetrics-text;q=much", Format::Classic);
        check("text/plain;q=0.9, Application/OpenMetrics-Text; Version=\"1.0.0\"; Q=0.8", Format::Classic);
        // What Prometheus 2 and 3 send.
        check(
            "application/openmetrics-text;version=1.0.0;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,\
             text/plain;version=0.0.4;q=0.4,*/*;q=0.3",
            Format::OpenMetrics,
        );
        check(
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
             application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,\
             text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            Format::OpenMetrics,
        );
    }

    #[test]
    fn the_classic_format_describes_counters_by_the_name_of_their_sample() {
        let open = "# HELP a_seconds How long.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n\
                    a_seconds_total{x=\"# EOF\"} 1.5\n# HELP b Now.\n# TYPE b gauge\nb 1\n# EOF\n";
        let expected = "# HELP a_seconds_total How long.\n# TYPE a_seconds_total counter\n\
                        a_seconds_total{x=\"# EOF\"} 1.5\n# HELP b Now.\n# TYPE b gauge\nb 1\n";
        assert_eq!(classic(open), expected);
        assert_eq!(Format::OpenMetrics.of_open_metrics(open.to_owned()), open);
    }
}
