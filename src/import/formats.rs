//! The formats of sources: what tells each apart, and under which names it holds what. Data, no code.
//!
//! Names of columns are written as they are compared: letters and digits alone, in lower case. Keys of JSON stand as
//! they are; `a.b` is the key `b` of the object `a`, `a/` what follows the last slash of the value. Of several names
//! the first that holds something counts; `a+b` is both, joined by a space.
//!
//! A format with fields of its own is read by those alone: a column that it does not name is left out, never guessed.
//! So e-mail and IP addresses, which many exports have, are in no list.

use super::record::Field::{
    self, Author, Avatar, Best, Date, Id, Language, Rating, Reply, ReplyDate, Source, SourceUrl,
    Status, Text, Title, Updated, Verified,
};

/// What wrote a source, and how it says what a review needs.
#[derive(Debug, PartialEq, Eq)]
pub struct SourceFormat {
    /// The format as `--from` takes it.
    pub flag: &'static str,
    /// The format as reports name it.
    pub title: &'static str,
    /// Where its reviews were left, unless the operator or the source says it.
    pub source: &'static str,
    /// How it is written.
    pub form: Form,
    /// Of a table the columns that it has, all of them (`a|b`: either); of JSON keys that it alone has.
    pub marks: &'static str,
    /// Keys that each element has.
    pub needs: &'static str,
    /// Where each field stands; empty where columns can have any of the names in `KNOWN`.
    pub fields: &'static [(Field, &'static str)],
    /// The values of the status of a review that is published; empty for those in `SHOWN`.
    pub published: &'static str,
    /// What the format calls some ratings, each with its stars.
    pub ratings: &'static [(&'static str, &'static str)],
    /// How it calls an author who does not show a name; empty where there is none.
    pub anonymous: &'static str,
}

/// How a source is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Rows, the first of which names the columns.
    Table,
    /// JSON objects, one a line or in lists.
    Json,
    /// JSON objects with known keys: one that is absent says that there is nothing.
    WholeJson,
    /// schema.org nodes, in a document of their own or in a saved page.
    Linked,
}

const CSV: SourceFormat = SourceFormat {
    flag: "csv",
    title: "CSV",
    source: "import",
    form: Form::Table,
    marks: "",
    needs: "",
    fields: &[],
    published: "",
    ratings: &[],
    anonymous: "",
};

const JSON: SourceFormat = SourceFormat {
    form: Form::WholeJson,
    ..CSV
};

/// All formats; the first whose marks are there is taken. A table without marks is CSV, other JSON is lines.
pub static FORMATS: [SourceFormat; 15] = [
    CSV,
    SourceFormat {
        flag: "google",
        title: "Google Business Profile",
        source: "google",
        marks: "starRating reviewReply locationReviews",
        needs: "starRating",
        fields: &[
            // The same review is there under each account that manages the place, so the account is no part of its id.
            (Id, "reviewId name/"),
            (Author, "reviewer.displayName"),
            (Avatar, "reviewer.profilePhotoUrl"),
            (Rating, "starRating"),
            (Text, "comment"),
            (Date, "createTime"),
            (Updated, "updateTime"),
            (Reply, "reviewReply.comment reviewReply"),
            (ReplyDate, "reviewReply.updateTime"),
        ],
        anonymous: ANONYMOUS[0],
        ..JSON
    },
    SourceFormat {
        flag: "jsonl",
        title: "JSON",
        form: Form::Json,
        ..CSV
    },
    SourceFormat {
        flag: "jsonld",
        title: "schema.org JSON-LD",
        form: Form::Linked,
        marks: "@context @type @graph",
        fields: &[
            (Author, "author creator"),
            (Avatar, "author.image creator.image"),
            (Rating, "reviewRating rating ratingValue"),
            (Date, "datePublished dateCreated uploadDate"),
            (Updated, "dateModified"),
            (Text, "reviewBody description text"),
            (Title, "headline name"),
            (Source, "publisher provider"),
            (SourceUrl, "url"),
        ],
        ..CSV
    },
    SourceFormat {
        flag: "reviewd",
        title: "reviewd",
        needs: "id rating",
        fields: &[
            (Id, "id"),
            (Author, "author"),
            (Avatar, "author_avatar_url"),
            (Rating, "rating"),
            (Date, "date"),
            (Text, "text"),
            (Source, "source"),
            (SourceUrl, "source_url"),
            (Reply, "owner_reply.text owner_reply"),
            (ReplyDate, "owner_reply.date"),
            (Verified, "verified"),
        ],
        ..JSON
    },
    SourceFormat {
        flag: "trustpilot",
        title: "Trustpilot CSV",
        source: "trustpilot",
        marks: "reviewstars reviewcreatedutc|reviewcreated",
        ..CSV
    },
    SourceFormat {
        flag: "facebook",
        title: "Facebook",
        source: "facebook",
        marks: "recommendation_type review_text",
        needs: "created_time",
        fields: &[
            (Id, "open_graph_story.id id"),
            (Author, "reviewer.name"),
            (Rating, "rating"),
            (Date, "created_time"),
            (Text, "review_text"),
        ],
        ratings: &[("positive", "5"), ("negative", "1")],
        anonymous: ANONYMOUS[1],
        ..JSON
    },
    SourceFormat {
        flag: "judgeme",
        title: "Judge.me CSV",
        source: "judge.me",
        marks: "curated reviewername",
        fields: &[
            (Id, "reviewid id"),
            (Author, "reviewername"),
            (Rating, "rating"),
            (Date, "reviewdate"),
            (Title, "title"),
            (Text, "body"),
            (Reply, "reply"),
            (ReplyDate, "replydate"),
            (Status, "curated"),
        ],
        published: "ok",
        ..CSV
    },
    SourceFormat {
        flag: "loox",
        title: "Loox CSV",
        source: "loox",
        marks: "status nickname review handle|productid|img",
        fields: &[
            (Id, "id"),
            (Author, "nickname fullname"),
            (Rating, "rating"),
            (Date, "date"),
            (Text, "review"),
            (Reply, "reply"),
            (Status, "status"),
            (Verified, "verifiedpurchase"),
        ],
        published: "active published",
        ..CSV
    },
    SourceFormat {
        flag: "okendo",
        title: "Okendo CSV",
        source: "okendo",
        marks: "datecreated reviewername status isverifiedbuyer|productname",
        fields: &[
            (Id, "reviewid"),
            (Author, "reviewername"),
            (Rating, "rating"),
            (Date, "datecreated"),
            (Title, "title"),
            (Text, "body"),
            (Reply, "reply"),
            (Status, "status"),
            (Verified, "isverifiedbuyer"),
        ],
        published: "approved published",
        ..CSV
    },
    SourceFormat {
        flag: "yotpo",
        title: "Yotpo CSV",
        source: "yotpo",
        marks: "reviewscore reviewcontent",
        fields: &[
            (Id, "reviewid"),
            (Author, "displayname reviewerdisplayname"),
            (Rating, "reviewscore"),
            (Date, "date reviewcreationdate"),
            (Title, "reviewtitle"),
            (Text, "reviewcontent"),
            (Reply, "commentcontent"),
            (ReplyDate, "commentdate"),
            (Status, "reviewstatus"),
            (Verified, "verifiedpurchase"),
        ],
        published: "published approved",
        ..CSV
    },
    SourceFormat {
        flag: "shopify",
        title: "Shopify Product Reviews CSV",
        source: "shopify",
        marks: "producthandle state author",
        fields: &[
            (Author, "author"),
            (Rating, "rating"),
            (Date, "createdat"),
            (Title, "title"),
            (Text, "body"),
            (Reply, "reply"),
            (ReplyDate, "repliedat"),
            (Status, "state"),
        ],
        published: "published",
        ..CSV
    },
    SourceFormat {
        flag: "stamped",
        title: "Stamped CSV",
        source: "stamped",
        marks: "published createdat body repliedat|productname",
        fields: &[
            (Id, "reviewid id"),
            (Author, "author"),
            (Rating, "rating"),
            (Date, "createdat"),
            (Title, "title"),
            (Text, "body"),
            (Reply, "reply"),
            (ReplyDate, "repliedat"),
            (Status, "published"),
        ],
        published: "true 1 yes",
        ..CSV
    },
    SourceFormat {
        flag: "reviewsio",
        title: "Reviews.io CSV",
        source: "reviews.io",
        marks: "datecreated comments reviewerfirstname|storereviewid",
        fields: &[
            (Id, "storereviewid productreviewid"),
            (Author, "reviewerfirstname+reviewerlastname"),
            (Rating, "rating"),
            (Date, "datecreated"),
            (Title, "title"),
            (Text, "comments"),
            (Reply, "reply"),
        ],
        ..CSV
    },
    SourceFormat {
        flag: "woocommerce",
        title: "WooCommerce comments",
        source: "woocommerce",
        marks: "commentid commentapproved",
        fields: &[
            (Id, "commentid"),
            (Author, "commentauthor"),
            (Rating, "rating"),
            (Date, "commentdate"),
            (Text, "commentcontent"),
            (Status, "commentapproved"),
            (Verified, "verified"),
        ],
        published: "1 approved approve",
        ..CSV
    },
];

/// The names under which each field is known in tables and JSON of any make, the surest first.
pub(super) const KNOWN: [(Field, &str); Field::NAMES.len()] = [
    (Id, "reviewid id externalid uuid"),
    (
        Author,
        "author authorname reviewer reviewername reviewusername username displayname customername customer consumer \
         user name autor nombre nom kunde kundenname verfasser",
    ),
    (
        Avatar,
        "authoravatarurl avatarurl avatar profilephotourl authorphotourl profilephoto",
    ),
    (
        Rating,
        "rating starrating stars reviewstars reviewrating ratingvalue star score overallrating sterne sternebewertung \
         bewertung note puntuación puntuacion calificación calificacion valoración valoracion",
    ),
    (Best, "bestrating maxrating ratingmax"),
    (
        Date,
        "date reviewdate datepublished reviewcreatedutc reviewcreated createtime createdat created creationdate \
         datecreated publishedat publisheddate submittedat dateposted postedon posted timestamp time datum \
         bewertungsdatum erstelltam fecha",
    ),
    (
        Text,
        "text reviewtext reviewcontent reviewbody review comment comments content body message feedback description \
         testimonial kommentar bewertungstext rezension texto comentario commentaire avis reseña bewertung note",
    ),
    (
        Title,
        "title reviewtitle headline subject titel überschrift betreff titre título",
    ),
    (Source, "source platform site provider reviewsite quelle"),
    (
        SourceUrl,
        "sourceurl reviewurl reviewlink permalink url link",
    ),
    (
        Reply,
        "ownerreply ownerresponse companyresponse companyreply companyreplytext businessreply businessresponse \
         reviewreply reply replytext response responsetext antwort respuesta réponse",
    ),
    (
        ReplyDate,
        "ownerreplydate ownerresponsedate companyreplydateutc companyreplydate companyresponsedate \
         businessreplydateutc businessreplydate replydate replytime responsedate repliedat",
    ),
    (
        Verified,
        "verified isverified reviewverified verifiedpurchase verifiedcustomer verifiedbuyer isverifiedbuyer",
    ),
    (
        Updated,
        "updated updatedat updatetime reviewupdatedutc lastmodified datemodified",
    ),
    (
        Status,
        "status reviewstatus curated published ispublished approved isapproved visibility visible moderation",
    ),
    (
        Language,
        "language lang locale reviewlanguage sprache langue idioma",
    ),
];

/// The values of a status by which a table of no known format publishes a review; any other hides it.
pub(super) const SHOWN: &str = "published publish approved approve accepted active enabled visible public shown live \
    online ok on yes y true 1 ja oui si sí veröffentlicht freigegeben genehmigt sichtbar aktiv publicado aprobado \
    visible publié approuvé";

/// How a review came in, where some tables name its source: no place where it was left.
pub(super) const CHANNELS: &str =
    "email mail web sms api widget form app qr qrcode import csv manual admin invitation organic";

/// The authors of reviews whose name is not shown.
pub(super) const ANONYMOUS: [&str; 3] = ["A Google user", "A Facebook user", "Anonymous"];
