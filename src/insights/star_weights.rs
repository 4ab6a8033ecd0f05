//! The weight of stars. Written by `tests/fixtures/polarity/fit.py`, which says where the numbers come from.

/// Margin of praise over complaint from one to five stars, in units of 1/64.
pub(super) const TILT_BY_STARS: [i32; 5] = [-99, -50, -8, 50, 106];
/// Added to the neutral sum of an English mention, in the same order.
pub(super) const NEUTRAL_BY_STARS: [i32; 5] = [4, -41, -44, -38, -20];
/// Least margin of a complaint that is listed.
pub(super) const COMPLAINT_MARGIN_BY_STARS: [i32; 5] = [8, 16, 8, 16, 24];
/// Least margin of praise that is listed.
pub(super) const PRAISE_MARGIN_BY_STARS: [i32; 5] = [8, 8, 8, 8, 16];
/// With stars, the tenths of the text's evidence that the whole sentence gives; the mention gives the others.
pub(super) const WHOLE_TENTHS: i32 = 4;
/// Factor of the sums of a mention, in hundredths, with which they are log-odds.
pub(super) const SCALE_HUNDREDTHS: i32 = 171;
/// The part of the mean probability of an error about the mentions of an aspect that does not cancel out.
pub(super) const PART_OF_DOUBT: f64 = 0.50;
