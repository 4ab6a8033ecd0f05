//! What the words of an English sentence say about a mention: a linear model over hashed features.
//!
//! `text_model.bin` is made by the example `train-polarity` from MAMS, TSA-MD and the UCI sentences (`LICENSES/`): the
//! number of features as four bytes, little end first; where each of 4,096 buckets ends (by the upper 12 bits of the
//! hash); the lower 16 bits of every hash; its weights for negative, neutral and positive. A feature that training
//! never saw is found by mistake about once in 5,000. All sums are whole numbers: the same text gives the same answer
//! on every machine.

/// Log-odds for negative, neutral and positive, in [`UNIT`]s.
pub type Weights = [i32; 3];

/// The weight of one step of the natural logarithm.
pub const UNIT: i32 = 64;

/// Returns the weights of the feature `hash`, if training kept it.
pub(super) fn find(hash: u32) -> Option<[i8; 3]> {
    let bucket = (hash >> 16) as usize & (BUCKETS - 1);
    let end_of = |bucket: usize| usize::from(short(ENDS + bucket * 2));
    let start = bucket.checked_sub(1).map_or(0, end_of);
    let low = (hash & 0xffff) as u16;
    let at = (start..end_of(bucket)).find(|at| short(KEYS + at * 2) == low)?;
    let weights = MODEL.get(KEYS + count() * 2 + at * 3..)?;
    let weight = |class: usize| weights.get(class).map_or(0, |byte| *byte as i8);
    Some([weight(0), weight(1), weight(2)])
}

/// Lays out features, sorted by hash and at most [`FEATURES_MAX`], as the model is stored.
#[must_use]
pub fn render(features: &[(u32, [i8; 3])]) -> Vec<u8> {
    let features = &features[..features.len().min(FEATURES_MAX)];
    let mut out = (features.len() as u32).to_le_bytes().to_vec();
    for bucket in 0..BUCKETS {
        let end = features.partition_point(|(hash, _)| (hash >> 16) as usize <= bucket);
        // At most FEATURES_MAX, which fits.
        out.extend_from_slice(&(end as u16).to_le_bytes());
    }
    for (hash, _) in features {
        out.extend_from_slice(&((hash & 0xffff) as u16).to_le_bytes());
    }
    for (_, weights) in features {
        out.extend(weights.iter().map(|weight| *weight as u8));
    }
    out
}

fn count() -> usize {
    match MODEL {
        [a, b, c, d, ..] => u32::from_le_bytes([*a, *b, *c, *d]) as usize,
        _ => 0,
    }
}

/// Two bytes of the model; 0 past its end.
fn short(at: usize) -> u16 {
    match MODEL.get(at..at + 2) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => 0,
    }
}

pub(super) static MODEL: &[u8] = include_bytes!("text_model.bin");
const BUCKETS: usize = 4096;
/// Where the ends of the buckets begin.
const ENDS: usize = 4;
/// Where the hashes begin.
const KEYS: usize = ENDS + BUCKETS * 2;
/// Most features of a model: at 5 bytes each it stays below 250 KiB.
pub const FEATURES_MAX: usize = 48_000;
