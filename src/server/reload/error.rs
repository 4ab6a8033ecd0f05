//! Errors of a reload, and how the log and `/readyz` report them.

use tracing::error;

use crate::dataset::Problem;
use crate::http::Reason;

use super::super::load::LoadError;
use super::REFUSED;

/// Why a reload was refused.
pub(super) enum ReloadError {
    /// The files cannot be used; the operator has to mend them.
    Load(LoadError),
    /// A panic, which is our own fault.
    Panic,
}

impl ReloadError {
    /// Returns one line, with the remedy where there is one.
    fn message(&self) -> String {
        match self {
            ReloadError::Load(LoadError::Data(problems)) => {
                let plural = if problems.total() == 1 { "" } else { "s" };
                format!(
                    "the changed dataset has {} problem{plural}",
                    problems.total()
                )
            }
            ReloadError::Load(error) => error.to_string(),
            ReloadError::Panic => {
                "building the changed dataset failed, which is an error in reviewd".to_owned()
            }
        }
    }

    /// Returns the problems of the files, at most as many as the decoder keeps.
    fn problems(&self) -> &[Problem] {
        match self {
            ReloadError::Load(LoadError::Data(problems)) => problems.kept(),
            ReloadError::Load(_) | ReloadError::Panic => &[],
        }
    }

    /// Logs each problem and the whole, and returns what `/readyz` tells of it.
    pub(super) fn report(&self) -> Reason {
        for problem in self.problems() {
            error!(%problem, "a data file is refused");
        }
        let message = self.message();
        error!("{message}; what was read before is still served");
        Reason {
            code: REFUSED,
            message,
            details: self.problems().iter().map(without_value).collect(),
            internal: None,
            blocking: false,
        }
    }
}

/// Returns one line without the value in question: `/readyz` is public, and a refused file may hold what was never to be
/// published. The log has it.
fn without_value(problem: &Problem) -> String {
    let problem = Problem {
        value: None,
        ..problem.clone()
    };
    problem.to_string()
}
