//! The documents that the peers serve, as `http-load record` wrote them.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use bytes::Bytes;

/// What goes wrong ends the program.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Freshness that every peer states, as reviewd does.
pub const CACHE_CONTROL: &str = "public, max-age=60, stale-while-revalidate=600";
/// When every document was last changed.
pub const LAST_MODIFIED: &str = "Fri, 20 Nov 2026 09:00:00 GMT";

/// One document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its media type.
    pub media_type: String,
    /// Its entity-tag, quotes included.
    pub tag: String,
    /// The body.
    pub body: Bytes,
    /// The body in gzip, if it is stored.
    pub gzip: Option<Bytes>,
}

impl Document {
    /// The body for a request with this Accept-Encoding, and whether it is the one in gzip.
    #[must_use]
    pub fn body(&self, accept_encoding: Option<&[u8]>) -> (&Bytes, bool) {
        let accepts =
            accept_encoding.is_some_and(|value| value.windows(4).any(|four| four == b"gzip"));
        match &self.gzip {
            Some(gzip) if accepts => (gzip, true),
            _ => (&self.body, false),
        }
    }
}

/// Documents by request target, query included.
pub type Documents = HashMap<String, Document>;

/// Reads the two arguments of every peer, the folder and the address to listen on.
pub fn arguments() -> Result<(Documents, SocketAddr)> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(address)) = (arguments.next(), arguments.next()) else {
        return Err("usage: PEER FOLDER ADDRESS:PORT".into());
    };
    let folder = PathBuf::from(folder);
    let index = fs::read_to_string(folder.join("index.tsv"))?;
    let mut documents = Documents::new();
    for (number, line) in index.lines().enumerate() {
        let [target, media_type, plain, gzip] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("index.tsv: not four columns: {line}").into());
        };
        let document = Document {
            media_type: media_type.to_owned(),
            tag: format!("\"{number:032x}\""),
            body: fs::read(folder.join(plain))?.into(),
            gzip: match gzip {
                "-" => None,
                file => Some(fs::read(folder.join(file))?.into()),
            },
        };
        documents.insert(target.to_owned(), document);
    }
    Ok((documents, address.parse()?))
}
