//! Which column or key of a table holds which field: by its name, or as the operator says.

use super::record::Field;

/// What the operator said with `--map`: fields and the columns that hold them.
pub(crate) type Mapping = Vec<(Field, String)>;

/// Parses `rating=Stars,date=Posted on`.
///
/// # Errors
/// A line that names the fields.
pub(crate) fn parse_mapping(text: &str) -> Result<Mapping, String> {
    let mut mapping = Mapping::new();
    for pair in text.split(',') {
        let (name, column) = pair
            .split_once('=')
            .ok_or_else(|| format!("`{pair}` is not of the form field=column"))?;
        let Some(field) = Field::named(name.trim()) else {
            let names: Vec<&str> = Field::NAMES.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "`{}` is not a field: {}",
                name.trim(),
                names.join(", ")
            ));
        };
        if mapping.iter().any(|(known, _)| *known == field) {
            return Err(format!("{field} is given twice"));
        }
        mapping.push((field, column.trim().to_owned()));
    }
    Ok(mapping)
}

/// A name without case, blanks and punctuation, as names are compared.
pub(super) fn normal(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The names under which each field is known, the surest first; the exports of Trustpilot, Facebook and shop
/// systems are among them.
const KNOWN: [(Field, &[&str]); 14] = [
    (Field::Id, &["reviewid", "id", "externalid", "uuid"]),
    (
        Field::Author,
        &[
            "author",
            "authorname",
            "reviewer",
            "reviewername",
            "reviewusername",
            "username",
            "displayname",
            "customername",
            "customer",
            "consumer",
            "user",
            "name",
            "autor",
            "nombre",
            "nom",
            "kunde",
            "verfasser",
        ],
    ),
    (
        Field::Avatar,
        &[
            "authoravatarurl",
            "avatarurl",
            "avatar",
            "profilephotourl",
            "authorphotourl",
            "profilephoto",
        ],
    ),
    (
        Field::Rating,
        &[
            "rating",
            "starrating",
            "stars",
            "reviewstars",
            "reviewrating",
            "ratingvalue",
            "star",
            "score",
            "overallrating",
            "bewertung",
            "sterne",
            "note",
            "puntuación",
            "puntuacion",
            "calificación",
            "calificacion",
            "valoración",
            "valoracion",
        ],
    ),
    (Field::Best, &["bestrating", "maxrating", "ratingmax"]),
    (
        Field::Date,
        &[
            "date",
            "reviewdate",
            "datepublished",
            "reviewcreatedutc",
            "reviewcreated",
            "createtime",
            "createdat",
            "created",
            "creationdate",
            "publishedat",
            "publisheddate",
            "submittedat",
            "dateposted",
            "postedon",
            "posted",
            "timestamp",
            "time",
            "datum",
            "fecha",
        ],
    ),
    (
        Field::Text,
        &[
            "text",
            "reviewtext",
            "reviewcontent",
            "reviewbody",
            "review",
            "comment",
            "comments",
            "content",
            "body",
            "message",
            "feedback",
            "description",
            "testimonial",
            "kommentar",
            "texto",
            "comentario",
            "commentaire",
            "avis",
            "reseña",
        ],
    ),
    (
        Field::Title,
        &[
            "title",
            "reviewtitle",
            "headline",
            "subject",
            "titel",
            "titre",
            "título",
        ],
    ),
    (
        Field::Source,
        &[
            "source",
            "platform",
            "site",
            "provider",
            "reviewsite",
            "quelle",
        ],
    ),
    (
        Field::SourceUrl,
        &[
            "sourceurl",
            "reviewurl",
            "reviewlink",
            "permalink",
            "url",
            "link",
        ],
    ),
    (
        Field::Reply,
        &[
            "ownerreply",
            "ownerresponse",
            "companyresponse",
            "companyreply",
            "companyreplytext",
            "businessreply",
            "businessresponse",
            "reviewreply",
            "reply",
            "replytext",
            "response",
            "responsetext",
            "antwort",
            "respuesta",
            "réponse",
        ],
    ),
    (
        Field::ReplyDate,
        &[
            "ownerreplydate",
            "ownerresponsedate",
            "companyreplydateutc",
            "companyreplydate",
            "companyresponsedate",
            "businessreplydateutc",
            "businessreplydate",
            "replydate",
            "replytime",
            "responsedate",
            "repliedat",
        ],
    ),
    (
        Field::Verified,
        &[
            "verified",
            "isverified",
            "reviewverified",
            "verifiedpurchase",
            "verifiedcustomer",
        ],
    ),
    (
        Field::Updated,
        &[
            "updated",
            "updatedat",
            "updatetime",
            "reviewupdatedutc",
            "lastmodified",
            "datemodified",
        ],
    ),
];

/// The names of `field`, the surest first.
fn names(field: Field) -> &'static [&'static str] {
    let known = KNOWN.iter().find(|(known, _)| *known == field);
    known.map_or(&[], |(_, names)| names)
}

/// Which field each column holds.
#[derive(Debug)]
pub(super) struct Columns {
    /// Field and column, counted from 0.
    pub(super) used: Vec<(Field, usize)>,
    /// The columns that hold none.
    pub(super) unused: Vec<usize>,
}

impl Columns {
    /// Finds the columns of `header`: those of `mapping` by their exact names, the others by known ones.
    ///
    /// # Errors
    /// A line, where a column that was named is not there.
    pub(super) fn find<'h>(
        header: impl Iterator<Item = &'h str>,
        mapping: &Mapping,
    ) -> Result<Columns, String> {
        let header: Vec<&str> = header.collect();
        let plain: Vec<String> = header.iter().map(|name| normal(name)).collect();
        let mut used = Vec::new();
        for (field, column) in mapping {
            let exact = header.iter().position(|name| name.trim() == column);
            let at = exact.or_else(|| plain.iter().position(|name| *name == normal(column)));
            let at = at.ok_or_else(|| {
                let names: Vec<String> =
                    header.iter().map(|name| super::text::quote(name)).collect();
                format!(
                    "--map {field}={column}: there is no such column, but {}",
                    names.join(", ")
                )
            })?;
            used.push((*field, at));
        }
        for (_, field) in Field::NAMES {
            if used.iter().any(|(known, _)| *known == field) {
                continue;
            }
            let free = |at: &usize| !used.iter().any(|(_, taken)| taken == at);
            let found = names(field).iter().find_map(|name| {
                let at = plain.iter().position(|column| column == name)?;
                free(&at).then_some(at)
            });
            if let Some(at) = found {
                used.push((field, at));
            }
        }
        let unused = (0..header.len())
            .filter(|at| !used.iter().any(|(_, taken)| taken == at))
            .collect();
        Ok(Columns { used, unused })
    }

    /// Whether one of the columns holds `field`.
    pub(super) fn has(&self, field: Field) -> bool {
        self.used.iter().any(|(known, _)| *known == field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_the_names_of_many_exports() {
        let columns = |header: &str| Columns::find(header.split(','), &Vec::new()).unwrap();
        let found = columns(
            "Review Id,Review Username,Review Stars,Review Title,Review Content,Review Created (UTC),Company Reply Date (UTC),Domain Url",
        );
        assert!(
            [
                Field::Id,
                Field::Author,
                Field::Rating,
                Field::Title,
                Field::Text,
                Field::Date,
                Field::ReplyDate
            ]
            .iter()
            .all(|field| found.has(*field))
        );
        assert_eq!(found.unused, [7]);
        let found = columns("NAME,author_name,Überschrift,Sterne,DATUM,Kommentar");
        assert!(found.used.contains(&(Field::Author, 1)));
        assert!(found.used.contains(&(Field::Rating, 3)));
        assert!(found.used.contains(&(Field::Text, 5)));
    }

    #[test]
    fn a_mapping_wins_and_names_what_is_not_there() {
        let mapping = parse_mapping("rating=Points, text = What they said").unwrap();
        let columns = Columns::find("Rating,Points,what they said".split(','), &mapping).unwrap();
        assert_eq!(columns.used, [(Field::Rating, 1), (Field::Text, 2)]);
        let error = Columns::find("a,b".split(','), &mapping).unwrap_err();
        assert_eq!(
            error,
            "--map rating=Points: there is no such column, but \"a\", \"b\""
        );
        assert!(
            parse_mapping("stars=x")
                .unwrap_err()
                .starts_with("`stars` is not a field: id, author, ")
        );
        assert!(parse_mapping("rating").is_err());
        assert_eq!(
            parse_mapping("rating=a,rating=b").unwrap_err(),
            "rating is given twice"
        );
    }
}
