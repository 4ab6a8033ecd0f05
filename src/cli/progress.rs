//! Shows on standard error how far long work is: a bar on a terminal, and a line every few seconds elsewhere, such as
//! in the log of a service manager.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::exit::tell;
use crate::clock;

/// Work that takes less time shows nothing.
const QUIET_TIME: Duration = Duration::from_millis(500);

/// Time between two lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// How often a bar is drawn, in a second.
const DRAWS_PER_S: u8 = 8;

/// Work with more steps reads the clock only at each step that [`STEPS_PER_LOOK`] divides: for millions of steps,
/// reading it each time could cost more than the steps.
const MANY_STEPS: u64 = 10_000;
const STEPS_PER_LOOK: u64 = 64;

/// The progress of one kind of work; threads may share it. Dropping it removes the bar.
#[derive(Debug)]
pub(super) struct WorkProgress {
    label: String,
    total: u64,
    done: AtomicU64,
    began: Instant,
    shown: Mutex<Shown>,
}

/// What is shown.
#[derive(Debug)]
struct Shown {
    is_terminal: bool,
    bar: Option<ProgressBar>,
    /// When the last line was written.
    line_at: Instant,
}

impl WorkProgress {
    /// Begins work of `total` steps; the label says what is done: "fetching pictures".
    pub(super) fn begin(label: impl Into<String>, total: u64) -> WorkProgress {
        let now = clock::instant();
        WorkProgress {
            label: label.into(),
            total,
            done: AtomicU64::new(0),
            began: now,
            shown: Mutex::new(Shown {
                is_terminal: io::stderr().is_terminal(),
                bar: None,
                line_at: now,
            }),
        }
    }

    /// Counts a step.
    pub(super) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if self.total > MANY_STEPS && !done.is_multiple_of(STEPS_PER_LOOK) {
            return;
        }
        let now = clock::instant();
        if now.duration_since(self.began) < QUIET_TIME {
            return;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.is_terminal {
            let bar = shown
                .bar
                .get_or_insert_with(|| bar(&self.label, self.total));
            bar.set_position(done);
        } else if now.duration_since(shown.line_at) >= LINE_INTERVAL {
            shown.line_at = now;
            tell(format_args!("{}: {done} of {}", self.label, self.total));
        }
    }
}

impl Drop for WorkProgress {
    fn drop(&mut self) {
        let shown = self.shown.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = shown.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn bar(label: &str, total: u64) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_S);
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let style = ProgressStyle::with_template("{wide_bar} {msg}: {pos} of {len}, {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.with_message(label.to_owned())
}
