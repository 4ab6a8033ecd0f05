//! How far a long command is: a bar on a terminal, a line for every tenth elsewhere.

use std::io::{self, IsTerminal, Write};

/// Progress on standard error.
pub(super) struct Bar {
    total: u64,
    noun: &'static str,
    shown: Option<u64>,
    is_terminal: bool,
    /// Whether plain lines are written where there is no terminal.
    has_lines: bool,
}

impl Bar {
    const WIDTH: usize = 40;

    /// A bar over `total` of what `noun` names; nothing where there is no terminal.
    pub(super) fn new(total: u64, noun: &'static str) -> Bar {
        Bar {
            total,
            noun,
            shown: None,
            is_terminal: io::stderr().is_terminal(),
            has_lines: false,
        }
    }

    /// The same with a line for every tenth where there is no terminal.
    pub(super) fn with_lines(mut self) -> Bar {
        self.has_lines = true;
        self
    }

    /// Shows how much is done, where that is a percentage that was not shown yet.
    pub(super) fn show(&mut self, done: u64) {
        let Some(percent) = (done.min(self.total) * 100).checked_div(self.total) else {
            return;
        };
        let step = if self.is_terminal {
            percent
        } else {
            percent / 10
        };
        if self.shown == Some(step) {
            return;
        }
        let is_first = self.shown.replace(step).is_none();
        // A terminal that has gone is no reason to stop the work.
        if self.is_terminal {
            let filled = percent as usize * Bar::WIDTH / 100;
            let end = if percent == 100 { "\n" } else { "" };
            let _closed = write!(
                io::stderr(),
                "\r[{}{}] {percent:3} % of {} {}{end}",
                "=".repeat(filled),
                " ".repeat(Bar::WIDTH - filled),
                self.total,
                self.noun,
            );
        } else if self.has_lines && !is_first {
            let _closed = writeln!(io::stderr(), "{percent} % of {} {}", self.total, self.noun);
        }
    }
}
