//! Sources that are read over the network: which requests each platform wants, and when its answer is complete.
//!
//! [`RemoteSource`] is an entry of `sources.json`. [`collect`] asks for one page after another by a [`RemoteClient`], which the caller
//! brings, and returns all pages, or an error and none of them: a source that fails or answers half changes nothing. The
//! pages are exports like any other: [`ImportSource`](crate::ImportSource) reads them, by the format that
//! [`RemoteKind::format`] names.
//!
//! What was documented by the platforms in November 2026 is in `platform`; none could be reached while this was written.

mod collect;
mod credentials;
mod message;
mod platform;
mod shopify;
mod spec;

pub use collect::{CollectLimits, Collected, RemoteClient, RemoteError, collect};
pub use credentials::CredentialsError;
pub use message::{RemoteBody, RemoteRequest, RemoteResponse, SourceValidators};
pub use platform::PageError;
pub use shopify::ShopifyError;
pub use spec::{
    RemoteKind, RemoteList, RemoteSource, RemoteVerification, SOURCES_MAX, SpecError,
    is_permitted_url,
};
