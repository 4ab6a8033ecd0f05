//! The progress of a long command on standard error: a bar on a terminal, a line for every tenth elsewhere.

use std::io::{self, IsTerminal, Write};

/// Progress on standard error.
pub(super) struct Bar {
    total: u64,
    noun: &'static str,
    shown: Option<u64>,
    is_terminal: bool,
    /// Whether lines are written where there is no terminal.
    has_lines: bool,
}

impl Bar {
    const WIDTH: usize = 40;

    /// Returns a bar over `total` of what `noun` names; it shows nothing where there is no terminal.
    pub(super) fn new(total: u64, noun: &'static str) -> Bar {
        Bar {
            total,
            noun,
            shown: None,
            is_terminal: io::stderr().is_terminal(),
            has_lines: false,
        }
    }

    /// Returns the same with a line for every tenth where there is no terminal.
    pub(super) fn with_lines(mut self) -> Bar {
        self.has_lines = true;
        self
    }

    /// Shows how much is done, if that is a percentage that was not shown yet.
    pub(super) fn show(&mut self, done: u64) {
        let Some(percent) = (done.min(self.total) * 100).checked_div(self.total) else {
            return;
        };
        let step = percent / if self.is_terminal { 1 } else { 10 };
        if self.shown == Some(step) {
            return;
        }
        let is_first = self.shown.replace(step).is_none();
        let (total, noun) = (self.total, self.noun);
        // A closed terminal is no reason to stop the work.
        if self.is_terminal {
            let filled = percent as usize * Bar::WIDTH / 100;
            let bar = "=".repeat(filled) + &" ".repeat(Bar::WIDTH - filled);
            let end = if percent == 100 { "\n" } else { "" };
            let _closed = write!(
                io::stderr(),
                "\r[{bar}] {percent:3} % of {total} {noun}{end}"
            );
        } else if self.has_lines && !is_first {
            let _closed = writeln!(io::stderr(), "{percent} % of {total} {noun}");
        }
    }
}
