//! The documents that the peers serve, as http.sh recorded them.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// Any error ends the program.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Header fields by name.
pub type Fields = Vec<(String, String)>;

/// One document.
#[derive(Clone, Debug)]
pub struct Document {
    /// The status: 200, or that of a refusal.
    pub status: StatusCode,
    /// Its entity-tag, quotes included; empty if it has none.
    pub tag: String,
    /// The recorded header fields of reviewd's response, except date, length and coding.
    pub fields: Fields,
    /// The recorded header fields of its 304 response, with the same exceptions.
    pub not_modified: Fields,
    /// Both as maps, to be cloned.
    pub maps: [HeaderMap; 2],
    /// The body.
    pub body: Bytes,
    /// The body in gzip, if it is stored.
    pub gzip: Option<Bytes>,
}

impl Document {
    /// Returns the body for a request with this Accept-Encoding, and whether it is the gzip variant.
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
    for line in index.lines() {
        let [target, plain, gzip, status] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("index.tsv: not four columns: {line}").into());
        };
        let fields = read_fields(&folder.join(format!("{plain}.fields")))?;
        let not_modified = read_fields(&folder.join(format!("{plain}.304")))?;
        let tag = fields.iter().find(|(name, _)| name == "etag");
        let document = Document {
            status: status.parse()?,
            tag: tag.map(|(_, tag)| tag.clone()).unwrap_or_default(),
            maps: [map(&fields)?, map(&not_modified)?],
            fields,
            not_modified,
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

/// Reads header fields, one a line.
fn read_fields(path: &Path) -> Result<Fields> {
    let mut fields = Fields::new();
    for line in fs::read_to_string(path)?.lines() {
        if let Some((name, value)) = line.split_once(": ") {
            fields.push((name.to_owned(), value.to_owned()));
        }
    }
    Ok(fields)
}

/// Returns the fields as a map, to be cloned, with capacity for those that hyper adds.
fn map(fields: &Fields) -> Result<HeaderMap> {
    let mut map = HeaderMap::with_capacity(fields.len() + 3);
    for (name, value) in fields {
        let name = HeaderName::try_from(name.as_str())?;
        map.append(name, HeaderValue::from_str(value)?);
    }
    Ok(map)
}
