//! What an import writes where it cannot know the business, and the check that none of it is published.

use super::problem::Problems;
use crate::model::Dataset;

/// The name of a business that is yet to be filled in.
pub(crate) const PLACEHOLDER_NAME: &str = "Fill in: the name of your business";

/// Its address.
pub(crate) const PLACEHOLDER_URL: &str = "https://fill-in.example/";

/// Refuses a business with what an import writes where the operator has not said it: it is checked, but never served.
///
/// # Errors
/// Each placeholder with its key and the remedy.
pub fn refuse_placeholders(dataset: &Dataset) -> Result<(), Problems> {
    let business = &dataset.business;
    let mut problems = Problems::default();
    for (key, value, placeholder) in [
        ("name", &business.name, PLACEHOLDER_NAME),
        ("url", &business.url, PLACEHOLDER_URL),
    ] {
        if value == placeholder {
            let message = format!(
                "is the placeholder of an import: write the {key} of the business there, or import again with --business-{key}"
            );
            problems.push("reviews.json", &format!("business.{key}"), message, None);
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems),
    }
}
