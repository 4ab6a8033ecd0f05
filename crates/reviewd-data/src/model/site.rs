//! How the owner wants the pages to look and speak: `site.json`.

/// Those whom the business serves, for the words of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clientele {
    Client,
    Patient,
    Guest,
    Student,
    #[default]
    Customer,
}

/// The look and the language of the pages; everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// By the trade.
    pub clientele: Clientele,
}
