//! Where in a file a value stands.

use std::fmt;

/// Where in a file a value stands; a chain of borrowed steps, rendered only when there is something to report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Place<'a> {
    /// The whole file.
    pub(super) const ROOT: Place<'static> = Place {
        parent: None,
        step: Step::Root,
    };

    /// The value of `key` in the object at this place.
    pub(super) fn key(&'a self, key: &'a str) -> Place<'a> {
        Place {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    /// The entry `index` of the array at this place, counted from 0.
    pub(super) fn index(&'a self, index: usize) -> Place<'a> {
        Place {
            parent: Some(self),
            step: Step::Index(index),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Index(index) => write!(f, "[{index}]"),
            // A key that is no plain word may hold anything, so it is shown like a value.
            Step::Key(key) if !is_plain(key) => write!(f, "[{}]", super::problem::quote(key)),
            Step::Key(key) => {
                if self
                    .parent
                    .is_some_and(|parent| !matches!(parent.step, Step::Root))
                {
                    f.write_str(".")?;
                }
                f.write_str(key)
            }
        }
    }
}

fn is_plain(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !key.is_empty() && key.len() <= super::problem::QUOTED_BYTES_MAX && key.bytes().all(plain)
}
